// Release notes: prints the changelog's section of one version (`node scripts/release-notes.ts 0.1.0`).

import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The section without its heading; throws if there is none, or if it is empty. */
export function notesOf(changelog: string, version: string): string {
  const [, ...sections] = changelog.split(/^## \[/m);
  const section = sections.find((each) => each.startsWith(`${version}]`));
  const notes = section?.slice(section.indexOf("\n")).trim() ?? "";
  if (notes === "") throw new Error(`CHANGELOG.md has no notes of ${version}`);
  return `${notes}\n`;
}

if (import.meta.main) {
  const [version = ""] = process.argv.slice(2);
  const path = join(import.meta.dirname, "../CHANGELOG.md");
  process.stdout.write(notesOf(readFileSync(path, "utf8"), version));
}
