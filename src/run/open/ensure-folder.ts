// Ensure folder: creates a folder that a setting or an argument names.

import { reasonOf, TidegateError } from "../../core/errors.ts";
import { makeFolder } from "../../stores/sqlite/broker/make-folder.ts";

/** Throws TG_CONFIG_INVALID if the folder cannot be created; `purpose` names it in the error. */
export function ensureFolder(purpose: string, folder: string): void {
  try {
    makeFolder(folder);
  } catch (cause) {
    const message = `cannot create the ${purpose} folder ${folder}: ${reasonOf(cause)}`;
    throw new TidegateError("TG_CONFIG_INVALID", message, { cause });
  }
}
