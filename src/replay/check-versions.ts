// Check versions: finds the object versions of a plan that are gone, before anything runs.
//   V1. A version whose bytes are gone does not matter if a later event of the same object is part
//       of the replay: its rows would be replaced anyway. It is skipped.
//   V2. Any other missing version is reported.
//   V3. An archived message is read whole. One that is gone or altered is reported like a version.

import type { DecodingPipeline } from "../ingest/stages/decode.ts";
import type { ObjectSource } from "../ports/object-source.ts";
import { checkArchived } from "./archived-messages.ts";
import { type ReplayInput, replayedObject } from "./replay-input.ts";

const CHECKS_AT_ONCE = 16;

export interface GoneVersion {
  readonly key: string;
  readonly uri: string;
  readonly versionId: string | null;
  readonly reason: string;
}

export interface CheckedVersions {
  readonly present: readonly ReplayInput[];
  /** V1 */
  readonly superseded: readonly GoneVersion[];
  /** V2 */
  readonly gone: readonly GoneVersion[];
}

const REASONS = {
  missing: "does not exist any more",
  replaced: "was overwritten, and its version was not kept",
} as const;

export async function checkVersions(
  objects: ObjectSource,
  pipeline: DecodingPipeline,
  inputs: readonly ReplayInput[],
  signal: AbortSignal,
): Promise<CheckedVersions> {
  const newest = new Map(inputs.map((input) => [replayedObject(input), input.key]));
  const reasons = new Map<string, string>();
  const identities = new Map<string, string>();
  let next = 0;
  const check = async (): Promise<void> => {
    for (let at = next++; at < inputs.length; at = next++) {
      const input = inputs[at];
      if (input === undefined || input.kind === "removed") continue;
      if (input.kind === "message") {
        const checked = await checkArchived(objects, pipeline, input, signal); // V3
        if ("reason" in checked) reasons.set(input.key, checked.reason);
        else identities.set(input.key, checked.identity);
        continue;
      }
      const opened = await objects.open(input.object, signal);
      if (opened.kind === "opened") continue;
      const reason = opened.kind === "forbidden" ? opened.reason : REASONS[opened.kind];
      reasons.set(input.key, reason);
    }
  };
  await Promise.all(Array.from({ length: CHECKS_AT_ONCE }, check));
  const named = (input: ReplayInput): GoneVersion => {
    const { versionId } = input.object;
    return {
      key: input.key,
      uri: replayedObject(input),
      versionId,
      reason: reasons.get(input.key) ?? "",
    };
  };
  const missing = inputs.filter(({ key }) => reasons.has(key));
  const isNewest = (input: ReplayInput) => newest.get(replayedObject(input)) === input.key;
  return {
    present: inputs
      .filter(({ key }) => !reasons.has(key))
      .map((input) => ({ ...input, identity: identities.get(input.key) ?? input.identity })),
    superseded: missing.filter((input) => !isNewest(input)).map(named),
    gone: missing.filter(isNewest).map(named),
  };
}
