// Replay refusals: why a replay does not run, and what to do about it.

import { TidegateError } from "../../core/errors.ts";
import type { Pipeline } from "../../ingest/spec/define-pipeline.ts";
import type { GoneVersion } from "../../replay/check-versions.ts";

const GONE_SHOWN = 3;

const CAUSES = ["gone", "masked", "unreadable"] as const;
const PHRASES = {
  gone: ["is gone", "are gone"],
  masked: [
    "was archived masked, because of govern, and cannot be read in that form",
    "were archived masked, because of govern, and cannot be read in that form",
  ],
  unreadable: ["cannot be read by the present code", "cannot be read by the present code"],
} as const;
const MASKED_FIX =
  'let decode, key and eventTime of the pipeline file accept "***" in masked fields';

/** What to do about object versions, or messages, that cannot be replayed. */
export function goneText(
  gone: readonly GoneVersion[],
  contents: Pipeline["source"]["contents"],
): string {
  const what = contents === "messages" ? "message" : "object version";
  const parts = CAUSES.flatMap((cause) => {
    const some = gone.filter((version) => (version.cause ?? "gone") === cause);
    if (some.length === 0) return [];
    const shown = some.slice(0, GONE_SHOWN).map(({ uri, versionId, reason }) => {
      return `${uri}${versionId === null ? "" : ` version ${versionId}`} ${reason}`;
    });
    const more = some.length > GONE_SHOWN ? ` and ${some.length - GONE_SHOWN} more` : "";
    const [one, many] = PHRASES[cause];
    const counted = some.length === 1 ? `1 ${what}` : `${some.length} ${what}s`;
    const phrase = some.length === 1 ? one : many;
    const listed = `${counted} of the window ${phrase}: ${shown.join("; ")}${more}`;
    return cause === "masked" ? [listed, MASKED_FIX] : [listed];
  });
  return `${parts.join("; ")}; skipGone replays the others, and keeps the live rows of these`;
}

/** Throws TG_REPLAY_REFUSED. */
export function refuseReplay(message: string): never {
  throw new TidegateError("TG_REPLAY_REFUSED", message);
}
