// Package version: the version in package.json, which is next to both src and dist. The CommonJS
// build is in dist/cjs, with a package.json of its own that has no version.

import { existsSync, readFileSync } from "node:fs";

const LOCATIONS = ["../../package.json", "../../../package.json"];

export function packageVersion(): string {
  for (const location of LOCATIONS) {
    const path = new URL(location, import.meta.url);
    if (!existsSync(path)) continue;
    const { name, version } = JSON.parse(readFileSync(path, "utf8")) as Record<string, string>;
    if (name === "tidegate" && version !== undefined) return version;
  }
  throw new Error("the package has no package.json");
}
