// File names: a file is named after the one thing inside, in kebab-case. A name that would fit any
// content invites any content.

import type { TextFile, Violation } from "./source-file.ts";

const VAGUE = new Set(
  "common helper helpers lib manager managers misc shared stuff type types util utils".split(" "),
);
const KEBAB = /^[a-z0-9]+(-[a-z0-9]+)*(\.[a-z0-9]+)*$/;
/** Type tests may be in a folder called `types`. */
const TYPE_TESTS = "test/types/";
const CHECKED = /^(src|test|bench|scripts|examples)\//;

export function checkFileName({ path }: TextFile): Violation[] {
  if (!CHECKED.test(path) || path.endsWith("/README.md")) return [];
  return path
    .replace(TYPE_TESTS, "test/")
    .split("/")
    .flatMap((name) => [
      ...(KEBAB.test(name) ? [] : [`"${name}" is not in kebab-case`]),
      ...(isVague(name) ? [`"${name}" does not say what is inside`] : []),
    ])
    .map((message) => ({ path, line: 1, message }));
}

/** The last word decides: a `type-table` is a table, but `queue-utils` is anything. */
function isVague(name: string): boolean {
  const stem = name.split(".")[0] ?? "";
  return VAGUE.has(stem.split("-").at(-1) ?? "");
}
