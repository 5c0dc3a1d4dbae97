// The version of the package, whose description lies beside both src and dist.

import { readFileSync } from "node:fs";

export function version(): string {
  const path = new URL("../../package.json", import.meta.url);
  return (JSON.parse(readFileSync(path, "utf8")) as { version: string }).version;
}
