// Servers for a crash run: Tidegate, and the stand-in that tests the crash run itself.

import { fileURLToPath } from "node:url";
import { bundled } from "../bundle/bundled.ts";

const main = await bundled("src/cli/main.ts");
const file = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

export const SERVER_ARGS = {
  tidegate: () => (folder: string) => [main, "up", "--port", "0", "--data", folder],
  "stand-in": (flaw: string) => (folder: string) => [file("./stand-in.ts"), folder, flaw],
} as const satisfies Record<string, (flaw: string) => (folder: string) => string[]>;

export type ServerKind = keyof typeof SERVER_ARGS;
