// Data file: the file on disk behind the path of a database.

import { existsSync, lstatSync, realpathSync } from "node:fs";
import { TidegateError } from "../../../core/errors.ts";

/** Follows a link. A broken link means a missing disk, not an empty folder to start in. */
export function fileBehind(path: string): string {
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return path;
  if (existsSync(path)) return realpathSync(path);
  const message = `data file ${path} is a broken link`;
  throw new TidegateError("TG_STORE_UNAVAILABLE", message);
}
