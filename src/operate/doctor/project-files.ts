// Project files: the sources, documents and Terraform files of a folder, for the doctor.
//   J1. Dependencies, builds and hidden folders are skipped, except for workflows.
//   J2. The number and the size of files are limited, so that a check takes seconds.

import { readdirSync, readFileSync, statSync } from "node:fs";
import { join, relative, sep } from "node:path";
import type { CodeFile } from "../../doctor/code/code-context.ts";
import type { TerraformSource } from "../../doctor/terraform/load-terraform.ts";

const SKIPPED = new Set(["node_modules", "dist", "build", "out", "coverage", "vendor"]);
const CODE = /(?<!\.d)\.[mc]?[jt]s$/;
const DOCUMENT = /\.(md|ya?ml)$|(^|\/)package\.json$/;
const FILES_MAX = 2_000;
const FILE_BYTES_MAX = 512 * 1_024;
const FOLDERS_DEEP_MAX = 12;

export interface ProjectFiles {
  readonly code: readonly CodeFile[];
  readonly documents: readonly CodeFile[];
  /** Whether files were left out because there are too many. */
  readonly truncated: boolean;
}

export function readProject(folder: string): ProjectFiles {
  const code: CodeFile[] = [];
  const documents: CodeFile[] = [];
  let truncated = false;

  function walk(inside: string, deep: number): void {
    for (const entry of entriesOf(inside)) {
      const path = join(inside, entry.name);
      if (entry.isDirectory()) {
        if (deep < FOLDERS_DEEP_MAX && !isSkipped(entry.name)) walk(path, deep + 1); // J1
        continue;
      }
      const file = shown(path);
      const list = CODE.test(file) ? code : DOCUMENT.test(file) ? documents : null;
      if (list === null || !entry.isFile()) continue;
      if (code.length + documents.length >= FILES_MAX) truncated = true;
      else if (statSync(path).size <= FILE_BYTES_MAX) list.push({ file, text: read(path) }); // J2
    }
  }

  walk(folder, 0);
  return { code, documents, truncated };
}

function isSkipped(name: string): boolean {
  return SKIPPED.has(name) || (name.startsWith(".") && name !== ".github");
}

function entriesOf(folder: string) {
  const entries = readdirSync(folder, { withFileTypes: true });
  return entries.toSorted((one, two) => (one.name < two.name ? -1 : 1));
}

function read(path: string): string {
  return readFileSync(path, "utf8");
}

/** A path as the user would write it: relative to the current folder, with slashes. */
function shown(path: string): string {
  const short = relative("", path);
  return (short.startsWith("..") ? path : short).split(sep).join("/");
}

/** The Terraform files of folders on disk. */
export const TERRAFORM_ON_DISK: TerraformSource = {
  filesIn(folder) {
    const stats = statSync(folder, { throwIfNoEntry: false });
    if (stats?.isDirectory() !== true) return null;
    return entriesOf(folder)
      .filter((entry) => entry.isFile() && entry.name.endsWith(".tf"))
      .map(({ name }) => ({ file: shown(join(folder, name)), text: read(join(folder, name)) }));
  },
  resolve: (folder, path) => join(folder, path),
};
