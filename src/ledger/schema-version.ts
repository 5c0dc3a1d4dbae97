// Schema version: which releases may use a store, and the steps that bring it to this one's schema.
//   V1. A store has a version, and says from which schema on a release may read and write it. A
//       store without these limits is from before they were stored: only its own version fits.
//   V2. Steps are numbered and only go forward. Each one is stored with its number in one
//       transaction, so an upgrade that is interrupted continues with the next step.
//   V3. A step that an older writer would break raises `writersFrom`. From then on the writes of
//       running older processes fail, and nothing of them is stored.
//   V4. Whatever is refused is left unchanged.

import { assert } from "../core/assert.ts";
import { TidegateError } from "../core/errors.ts";

export interface SchemaLimits {
  /** The first schema whose releases may read the store. */
  readonly readersFrom: number;
  /** The first schema whose releases may write it. */
  readonly writersFrom: number;
}

/** What a store has. */
export interface StoredSchema extends SchemaLimits {
  readonly version: number;
}

/** What this release has. */
export interface SupportedSchema {
  readonly part: "ledger" | "outbox";
  readonly version: number;
  /** The oldest schema that this release reads and upgrades. */
  readonly oldest: number;
}

/** One step from the schema before it. */
export interface SchemaStep extends SchemaLimits {
  readonly to: number;
  readonly sql: string;
}

/** A store that an upgrade has changed, or would change. */
export interface SchemaUpgrade {
  readonly part: "ledger" | "outbox";
  readonly from: number;
  readonly to: number;
  /** The statements, for SQL stores. */
  readonly sql: readonly string[];
}

/** Outdated: this release reads it, and has to upgrade it before it writes. */
export type SchemaState = "missing" | "usable" | "outdated";

/** Throws if this release may not use the store, not even after an upgrade (V1, V4). */
export function judgeSchema(
  stored: StoredSchema | null,
  supported: SupportedSchema,
  use: "read" | "write",
): SchemaState {
  if (stored === null) return "missing";
  const { version, readersFrom, writersFrom } = stored;
  if (version < supported.oldest) throw tooOld(supported, version);
  if (version < supported.version) return "outdated";
  const from = version === supported.version ? version : use === "read" ? readersFrom : writersFrom;
  if (from > supported.version) throw newerSchema(supported, version);
  return "usable";
}

/** The steps that a store of this version still needs, in order (V2). */
export function pendingSteps<S extends { readonly to: number }>(
  steps: readonly S[],
  from: number,
): readonly S[] {
  const pending = steps.filter(({ to }) => to > from);
  assert(
    pending.every(({ to }, at) => to === from + at + 1),
    `steps lead from schema ${from} without a gap`,
  );
  return pending;
}

/** Also for a running process, when a newer release has upgraded the store since (V3). */
export function newerSchema(
  { part, version: supported }: Pick<SupportedSchema, "part" | "version">,
  version: number,
): TidegateError {
  const message =
    `the ${part} has schema ${version}, and this release uses schema ${supported}; ` +
    "use the newer release that wrote it";
  return new TidegateError("TG_STORE_NEWER", message);
}

/** A server's store is upgraded by a command, not by the first process that meets it. */
export function outdatedSchema(
  { part, version: supported }: SupportedSchema,
  version: number,
): TidegateError {
  const message =
    `the ${part} has schema ${version}, and this release uses schema ${supported}; ` +
    "run `tidegate ledger migrate` with its URL";
  return new TidegateError("TG_STORE_OLDER", message);
}

function tooOld({ part, version: supported, oldest }: SupportedSchema, version: number) {
  const message =
    `the ${part} has schema ${version}, and this release uses schema ${supported} and ` +
    `upgrades from schema ${oldest} on; keep the former store and start a new one`;
  return new TidegateError("TG_STORE_OLDER", message);
}
