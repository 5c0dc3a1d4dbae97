// Schema version: the refusal of a store that another version of Tidegate has written.

import { TidegateError } from "../core/errors.ts";

/** `existing` is the version of the store, `supported` that of this release; they differ. */
export function otherVersion(
  part: "ledger" | "outbox",
  existing: number,
  supported: number,
): TidegateError {
  const what = `the ${part} has schema ${existing}, and this release uses schema ${supported}`;
  return existing > supported
    ? new TidegateError("TG_STORE_NEWER", `${what}; use the newer release that wrote it`)
    : new TidegateError("TG_STORE_OLDER", `${what}; keep the former store and start a new one`);
}
