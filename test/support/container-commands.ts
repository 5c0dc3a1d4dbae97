// Container commands: every command with which a page or a file that users copy starts Tidegate in
// a container or under a supervisor.

import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

export interface ContainerCommand {
  /** The file it stands in. */
  readonly where: string;
  /** Empty for the shell form, which starts a shell as process 1. */
  readonly words: readonly string[];
}

const root = join(import.meta.dirname, "../..");
const FILES = [
  "README.md",
  "docs/**/*.md",
  "examples/**/{*.md,Dockerfile*,*.y*ml,*.service}",
  "infra/**/{*.tf,*.y*ml,*.service}",
  "src/{run,infra}/**/*.ts",
];
const START =
  /^\s*(?:CMD|ENTRYPOINT|ExecStart=|command:|entryPoint:?|command\s*=)\s*(.*tidegate.*)$/gm;

export function containerCommands(): readonly ContainerCommand[] {
  const commands = new Map<string, ContainerCommand>();
  for (const where of globSync(FILES, { cwd: root }).toSorted()) {
    for (const [, text = ""] of readFileSync(join(root, where), "utf8").matchAll(START)) {
      const words = /^\[.*\]$/.test(text) ? (JSON.parse(text) as string[]) : [];
      if (!commands.has(text)) commands.set(text, { where, words });
    }
  }
  return [...commands.values()];
}
