// Write infra: puts Terraform files into a folder.
//   W1. A file that was edited by hand is never overwritten silently: nothing is written, and the
//       caller gets the names. `overwrite` replaces them, and reports which.
//   W2. A manifest with a checksum of every written file tells edited files from generated ones. A
//       file that it does not list was written by somebody else.
//   W3. Files that a plan no longer needs are removed if they are unchanged; other files in the
//       folder are not touched.

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { reasonOf, refuseConfig, TidegateError } from "../../core/errors.ts";
import type { InfraFiles } from "../../infra/root-files.ts";

export const INFRA_MANIFEST = "tidegate-infra.json";

interface Manifest {
  readonly files: Readonly<Record<string, string>>;
}

export interface WrittenInfra {
  /** Paths below the folder, by what became of them. */
  readonly written: readonly string[];
  readonly unchanged: readonly string[];
  readonly removed: readonly string[];
  /** Edited by hand: replaced with `overwrite`, otherwise the reason why nothing was written. */
  readonly edited: readonly string[];
  readonly refused: boolean;
}

/** Writes all files, or none if some were edited by hand (W1). */
export function writeInfra(folder: string, files: InfraFiles, overwrite: boolean): WrittenInfra {
  const manifest = readManifest(folder);
  const current = (path: string) => readIfThere(join(folder, path));
  const isEdited = (path: string, text: string | null) =>
    text !== null && manifest.files[path] !== checksum(text); // W2
  const changes = [...files].filter(([path, text]) => current(path) !== text);
  const edited = changes.map(([path]) => path).filter((path) => isEdited(path, current(path)));
  const obsolete = Object.keys(manifest.files).filter((path) => !files.has(path));
  const removed = obsolete.filter((path) => {
    const text = current(path);
    return text !== null && !isEdited(path, text); // W3
  });
  const written = changes.map(([path]) => path);
  const unchanged = [...files.keys()].filter((path) => !written.includes(path));
  if (edited.length > 0 && !overwrite) {
    return { written: [], unchanged: [...files.keys()], removed: [], edited, refused: true };
  }
  for (const [path, text] of changes) writeText(join(folder, path), text);
  for (const path of removed) rmSync(join(folder, path));
  const sums = Object.fromEntries([...files].map(([path, text]) => [path, checksum(text)]));
  writeText(join(folder, INFRA_MANIFEST), `${JSON.stringify({ files: sums }, null, 2)}\n`);
  return { written, unchanged, removed, edited, refused: false };
}

function readManifest(folder: string): Manifest {
  const path = join(folder, INFRA_MANIFEST);
  const text = readIfThere(path);
  if (text === null) return { files: {} };
  try {
    const { files } = JSON.parse(text) as Partial<Manifest>;
    if (typeof files === "object" && files !== null) return { files };
  } catch {
    // Reported below.
  }
  refuseConfig(`${path} is not a manifest of \`tidegate infra\`; restore it, or delete it`);
}

function readIfThere(path: string): string | null {
  return existsSync(path) ? readFileSync(path, "utf8") : null;
}

function writeText(path: string, text: string): void {
  try {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  } catch (cause) {
    const message = `cannot write ${path}: ${reasonOf(cause)}`;
    throw new TidegateError("TG_CONFIG_INVALID", message, { cause });
  }
}

function checksum(text: string): string {
  return `sha256:${createHash("sha256").update(text).digest("hex")}`;
}
