// Build: compiles src/ to dist/, the content of the npm package (`npm run build`, and before
// `npm pack`).
//   B1. dist is emptied first: a file that was removed from src is not in the package.
//   B2. Afterwards everything that package.json refers to exists, and the command is executable.
//   B3. The compiler rewrites the extensions of imports, but not of paths in strings. A worker
//       started by "./x.ts" would be missing from the package, so such a path fails the build.
//   B4. It writes no source maps: the compiler only removes types, so its output reads like the
//       source, comments included. With the sources inside, maps were half of the package.

import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, globSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { buildConsole } from "./build-console.ts";
import { writeSbom } from "./sbom.ts";

const root = join(import.meta.dirname, "..");
const dist = join(root, "dist");

rmSync(dist, { recursive: true, force: true }); // B1
const tsc = join(root, "node_modules", ".bin", "tsc");
const { status } = spawnSync(tsc, ["-p", "tsconfig.build.json"], { cwd: root, stdio: "inherit" });
if (status !== 0) fail("the compiler found errors (see above)");
checkPaths();
await buildConsole();
writeSbom(root);
checkTargets();
console.log("build: dist/ is ready");

function checkPaths(): void {
  for (const file of globSync("**/*.js", { cwd: dist })) {
    const path = /["'`](\.{1,2}\/[^"'`\s]*\.ts)["'`]/.exec(read(join(dist, file)))?.[1];
    if (path !== undefined) fail(`dist/${file} refers to ${path}, which is not in the package`); // B3
  }
}

function checkTargets(): void {
  const { bin, exports } = JSON.parse(read(join(root, "package.json")));
  const targets = JSON.stringify([bin, exports]).match(/\.\/dist\/[^"]+/g) ?? [];
  for (const target of targets) {
    if (!existsSync(join(root, target)))
      fail(`package.json refers to ${target}, which was not built`);
  }
  for (const command of Object.values<string>(bin)) {
    const file = join(root, command);
    if (!read(file).startsWith("#!/usr/bin/env node\n")) fail(`${command} has no #! line`);
    chmodSync(file, 0o755); // B2
  }
}

function read(file: string): string {
  return readFileSync(file, "utf8");
}

function fail(message: string): never {
  console.error(`build: ${message}`);
  process.exit(1);
}
