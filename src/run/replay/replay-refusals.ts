// Replay refusals: what open-replays.ts says, and how it looks at processes.

import { TidegateError } from "../../core/errors.ts";
import type { Pipeline } from "../../ingest/spec/define-pipeline.ts";
import type { GoneVersion } from "../../replay/check-versions.ts";

const GONE_SHOWN = 3;

/** What to do about object versions, or messages, that are gone. */
export function goneText(
  gone: readonly GoneVersion[],
  contents: Pipeline["source"]["contents"],
): string {
  const what = contents === "messages" ? "messages" : "object versions";
  const shown = gone.slice(0, GONE_SHOWN).map(({ uri, versionId, reason }) => {
    return `${uri}${versionId === null ? "" : ` version ${versionId}`} ${reason}`;
  });
  const more = gone.length > GONE_SHOWN ? ` and ${gone.length - GONE_SHOWN} more` : "";
  return (
    `${gone.length} ${what} of the window are gone: ${shown.join("; ")}${more}; ` +
    "--skip-gone replays the others, and keeps the live rows of these"
  );
}

/** Throws TG_REPLAY_REFUSED. */
export function refuseReplay(message: string): never {
  throw new TidegateError("TG_REPLAY_REFUSED", message);
}

/** Whether a process of this machine is alive. */
export function isProcessRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as { readonly code?: string }).code === "EPERM"; // Alive, and another user's.
  }
}
