// Servers for a crash run: Tidegate, and the stand-in that tests the crash run itself.

import { fileURLToPath } from "node:url";

const file = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

export const SERVER_ARGS = {
  tidegate: () => (folder: string) => [
    file("../../../src/cli/main.ts"),
    "up",
    "--port",
    "0",
    "--data",
    folder,
  ],
  "stand-in": (flaw: string) => (folder: string) => [file("./stand-in.ts"), folder, flaw],
} as const satisfies Record<string, (flaw: string) => (folder: string) => string[]>;

export type ServerKind = keyof typeof SERVER_ARGS;
