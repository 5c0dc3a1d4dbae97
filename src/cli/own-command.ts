// Own command: how this very command is called again, for texts that tell what to type next.
//   O1. What is told works where the reader is: from the package, from the repository's own folder,
//       and from any other folder while the command runs from its sources.

import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const REPOSITORY = fileURLToPath(new URL("../..", import.meta.url));

/** The repository whose sources are running; null when it is the package. */
export const sourceFolder: string | null = import.meta.url.endsWith(".ts")
  ? REPOSITORY.replace(/[/\\]$/, "")
  : null;

/** What to type before a command's name, in that folder (O1). */
export function ownCommand(
  folder: string,
  repository: string | null = sourceFolder,
  node: string = process.execPath,
): string {
  if (repository === null) return "npx tidegate";
  if (relative(repository, folder) === "") return "npm run -s tidegate --";
  // The machine's own Node may be too old for the sources; the one that the clone brings is not.
  const runner = node.startsWith(repository) ? shellQuoted(node) : "node";
  return `${runner} ${shellQuoted(join(repository, "src/cli/main.ts"))}`;
}

/** A path as one word of a shell. */
export function shellQuoted(path: string): string {
  return /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
}
