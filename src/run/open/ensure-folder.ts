// Own folder: one that a setting or an argument names, made if it is missing. What stands in the
// way is the user's to mend, and is told in a sentence.

import { reasonOf, TidegateError } from "../../core/errors.ts";
import { makeFolder } from "../../stores/sqlite/broker/make-folder.ts";

/** Makes a folder; fails with TG_CONFIG_INVALID. `what` begins the sentence, as in "the ledger's". */
export function ensureFolder(what: string, folder: string): void {
  try {
    makeFolder(folder);
  } catch (cause) {
    const message = `${what} folder ${folder} cannot be made: ${reasonOf(cause)}`;
    throw new TidegateError("TG_CONFIG_INVALID", message, { cause });
  }
}
