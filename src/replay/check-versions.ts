// Check versions: finds the object versions of a plan that are gone, before anything runs.
//   V1. A version whose bytes are gone does not matter if a later event of the same object is part
//       of the replay: its rows would be replaced anyway. It is skipped.
//   V2. Any other missing version is reported.
//   V3. An archived message is read whole. One that is gone or altered is reported like a version,
//       and so is one that the present code cannot read, with its cause.
//   V4. A version that may not be read may exist, so it is not gone. The first one is refused: with
//       a missing right, a replay without the gone versions would skip all of them.

import { TidegateError } from "../core/errors.ts";
import type { DecodingPipeline } from "../ingest/stages/decode.ts";
import type { ObjectSource } from "../ports/objects/object-source.ts";
import { type AbsenceCause, checkArchived } from "./archived-messages.ts";
import { type ReplayInput, replayedObject } from "./replay-input.ts";

const CHECKS_AT_ONCE = 16;

export interface GoneVersion {
  readonly key: string;
  readonly uri: string;
  readonly versionId: string | null;
  readonly reason: string;
  /** Absent in replays that were registered by an earlier version, which means "gone". */
  readonly cause?: AbsenceCause;
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

/** The refusal of a version that may not be read (V4). */
export function forbiddenVersion(input: ReplayInput, reason: string): TidegateError {
  const { bucket, versionId } = input.object;
  const right = versionId === null ? "s3:GetObject" : "s3:GetObjectVersion";
  const message =
    `${replayedObject(input)} may not be read (${reason}), so it may exist; allow ${right} on it, ` +
    `and s3:ListBucket on ${bucket}, without which S3 denies access to missing objects, too`;
  return new TidegateError("TG_REPLAY_REFUSED", message);
}

export async function checkVersions(
  objects: ObjectSource,
  pipeline: DecodingPipeline,
  inputs: readonly ReplayInput[],
  signal: AbortSignal,
): Promise<CheckedVersions> {
  const newest = new Map(inputs.map((input) => [replayedObject(input), input.key]));
  const reasons = new Map<string, Pick<GoneVersion, "reason" | "cause">>();
  const identities = new Map<string, string>();
  let next = 0;
  let refusal: TidegateError | null = null;
  const check = async (): Promise<void> => {
    for (let at = next++; at < inputs.length && refusal === null; at = next++) {
      const input = inputs[at];
      if (input === undefined || input.kind === "removed") continue;
      if (input.kind === "message") {
        const checked = await checkArchived(objects, pipeline, input, signal); // V3
        if ("forbidden" in checked)
          refusal ??= forbiddenVersion(input, checked.forbidden); // V4
        else if ("reason" in checked) reasons.set(input.key, checked);
        else identities.set(input.key, checked.identity);
        continue;
      }
      const { size: expectedBytes } = input.object;
      const opened = await objects.open({ ...input.object, expectedBytes }, signal);
      if (opened.kind === "opened") continue;
      if (opened.kind === "forbidden")
        refusal ??= forbiddenVersion(input, opened.reason); // V4
      else reasons.set(input.key, { cause: "gone", reason: REASONS[opened.kind] });
    }
  };
  await Promise.all(Array.from({ length: CHECKS_AT_ONCE }, check));
  if (refusal !== null) throw refusal;
  const named = (input: ReplayInput): GoneVersion => {
    const { versionId } = input.object;
    return {
      key: input.key,
      uri: replayedObject(input),
      versionId,
      ...(reasons.get(input.key) ?? { reason: "" }),
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
