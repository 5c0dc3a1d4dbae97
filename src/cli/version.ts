// The version in package.json, which is next to both src and dist.

import { readFileSync } from "node:fs";

export function version(): string {
  const path = new URL("../../package.json", import.meta.url);
  return (JSON.parse(readFileSync(path, "utf8")) as { version: string }).version;
}
