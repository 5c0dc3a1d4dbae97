// CommonJS build: the same modules again for require(), in dist/cjs.
//   C1. One file per module, at the same relative path, because threads are started by the path of
//       their entry file.
//   C2. Nothing in dist/cjs loads an ES module: Jest in its default mode cannot. So packages that
//       have only ES modules are copied in, each with its license.
//   C3. Types are those of the ES modules.
//   A process that loads the package both ways has two copies of it; docs/guides/commonjs.md says so.

import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { rolldown } from "rolldown";

/** Packages without a CommonJS build (C2). */
const COPIED = ["hyparquet"];
const THREADS = [
  "stores/sqlite/broker/disk-thread-entry.js",
  "run/audit/reader-thread-entry.js",
  "run/console/ledger-thread-entry.js",
  "run/leases/lease-thread-entry.js",
];

interface Entry {
  readonly require?: { readonly types: string; readonly default: string };
  readonly default: string;
}

/** Builds dist/cjs from the ES modules in dist. */
export async function buildCommonJs(root: string): Promise<void> {
  const dist = join(root, "dist");
  const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const entries = Object.values<Entry>(exports).filter((entry) => entry.require !== undefined);
  const files = [...entries.map((entry) => relative(dist, join(root, entry.default))), ...THREADS];
  const bundle = await rolldown({
    input: Object.fromEntries(files.map((file) => [file.replace(/\.js$/, ""), join(dist, file)])),
    platform: "node",
    external: (id) => isPackage(id) && !COPIED.some((name) => id.split("/")[0] === name),
  });
  await bundle.write({
    dir: join(dist, "cjs"),
    format: "cjs",
    preserveModules: true, // C1
    preserveModulesRoot: dist,
    entryFileNames: ({ name }) => `${name.replace(/^(\.\.\/)?node_modules\//, "vendor/")}.js`,
    exports: "named",
  });
  await bundle.close();
  writeFileSync(join(dist, "cjs/package.json"), `{ "type": "commonjs" }\n`);
  for (const name of COPIED) copyLicense(root, name); // C2
  for (const entry of entries) writeTypes(root, entry); // C3
}

function isPackage(id: string): boolean {
  return !id.startsWith(".") && !id.startsWith("/") && !/^[A-Za-z]:[\\/]/.test(id);
}

function copyLicense(root: string, name: string): void {
  const target = join(root, "dist/cjs/vendor", name);
  if (!existsSync(target)) throw new Error(`${name} is not part of the CommonJS build any more`);
  copyFileSync(join(root, "node_modules", name, "LICENSE"), join(target, "LICENSE"));
}

function writeTypes(root: string, { require: paths, default: module }: Entry): void {
  if (paths === undefined) return;
  const file = join(root, paths.types);
  mkdirSync(dirname(file), { recursive: true });
  const target = relative(dirname(file), join(root, module)).split(sep).join("/");
  writeFileSync(file, `export * from "${target}";\n`);
}
