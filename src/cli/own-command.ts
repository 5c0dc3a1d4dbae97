// Own command: how to call this command again, for texts that suggest what to type next.
//   O1. The text works in the reader's folder: with the package, in the repository's folder, and in
//       any other folder while the command runs from its sources.

import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const REPOSITORY = fileURLToPath(new URL("../..", import.meta.url));

/** The repository whose sources are running; null if the package is running. */
export const sourceFolder: string | null = import.meta.url.endsWith(".ts")
  ? REPOSITORY.replace(/[/\\]$/, "")
  : null;

/** The words before a command's name, in that folder (O1). */
export function ownCommand(
  folder: string,
  repository: string | null = sourceFolder,
  node: string = process.execPath,
): string {
  if (repository === null) return "npx tidegate";
  if (relative(repository, folder) === "") return "npm run -s tidegate --";
  // The installed Node may be too old for the sources; the one in the clone is not.
  const runner = node.startsWith(repository) ? shellQuoted(node) : "node";
  return `${runner} ${shellQuoted(join(repository, "src/cli/main.ts"))}`;
}

/** A path, quoted for a shell. */
export function shellQuoted(path: string): string {
  return /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
}
