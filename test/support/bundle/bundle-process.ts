// Bundle process: a source file and all that it imports, in fewer files of JavaScript. Node starts
// it with about half the processor time, and tests start hundreds of such processes.
//   B1. Modules find files beside their source: `import.meta` names the source. Only the modules in
//       OWN_LOCATION get their true location, which starts threads and recognizes our own frames.
//   B2. A process has one copy of each module: the package's entry points are part of the bundle,
//       and a pipeline file that imports "tidegate" gets those.
//   B3. The folder's name is the hash of its contents, so runs at the same time share it or use
//       different ones, and Node finds the code that it compiled in an earlier run.
//   B4. Packages are not bundled, except readers of many small files. Node finds the others because
//       the folder is inside node_modules.
//   B5. A module is loaded in the same cases as from sources, so that a command does not load
//       drivers that it does not use: files are split where imports are dynamic.

import { createHash } from "node:crypto";
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { type Plugin, rolldown } from "rolldown";

const root = join(import.meta.dirname, "../../..");
const BUNDLES = join(root, "node_modules/.cache/tidegate-bundles");
const START = "start.js";
/** A bundle that no run has used for this time is deleted. */
const UNUSED_MS = 86_400_000;
/** Started as threads or processes of their own, by their path beside the code that starts them. */
const THREADS = globSync("src/**/*-{thread,watcher}-entry.ts", { cwd: root });
const BUNDLED = /^(csv-parse|hyparquet)(\/|$)/;
const OWN_LOCATION = /-entry\.\$\{import\.meta\.url|callerInUserCode/;

/** B1; `main` is the file that the process starts with. */
const sourceLocation = (main: string): Plugin => ({
  name: "source-location",
  transform(code, id) {
    if (!code.includes("import.meta.") || OWN_LOCATION.test(code)) return null;
    return code
      .replaceAll("import.meta.url", JSON.stringify(pathToFileURL(id).href))
      .replaceAll("import.meta.dirname", JSON.stringify(dirname(id)))
      .replaceAll("import.meta.main", String(id === main));
  },
});

/** Bundles a file, given by its path from the root, and returns the file to start in its place. */
export async function bundleProcess(file: string): Promise<string> {
  const entries = [...new Set([file, ...packageEntries(), ...THREADS])];
  const bundle = await rolldown({
    input: Object.fromEntries(entries.map((entry) => [nameOf(entry), join(root, entry)])),
    platform: "node",
    external: (id) => !/^[./]/.test(id) && !BUNDLED.test(id), // B4
    onLog: () => {}, // Imports that are static in one place and dynamic in another.
    plugins: [sourceLocation(join(root, file))],
  });
  const { output } = await bundle.generate({
    format: "esm",
    entryFileNames: "[name].js",
    chunkFileNames: "chunk-[name]-[hash].js",
  });
  await bundle.close();
  const files = new Map([[START, startCode(file, entries)]]);
  for (const each of output) if (each.type === "chunk") files.set(each.fileName, each.code);
  return join(store(files), START);
}

/** The sources behind package.json's exports. */
function packageEntries(): string[] {
  const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  return Object.values<Record<string, string>>(exports).flatMap((entry) => {
    const source = entry["tidegate-source"];
    return source === undefined ? [] : [source.replace("./", "")];
  });
}

function nameOf(entry: string): string {
  if (THREADS.includes(entry)) return basename(entry, ".ts"); // B1
  return entry.replace(/\.ts$/, "").replaceAll("/", "_");
}

/** B2 */
function startCode(file: string, entries: readonly string[]): string {
  const urls = entries.map((entry) => [
    pathToFileURL(join(root, entry)).href,
    `./${nameOf(entry)}.js`,
  ]);
  return `import { registerHooks } from "node:module";
const bundled = new Map(${JSON.stringify(urls)});
registerHooks({
  resolve(specifier, context, next) {
    const resolved = next(specifier, context);
    const path = bundled.get(resolved.url);
    if (path === undefined) return resolved;
    return { ...resolved, url: new URL(path, import.meta.url).href, format: "module" };
  },
});
await import("./${nameOf(file)}.js");
`;
}

/** Writes the files, unless an earlier run has written the same (B3). */
function store(files: ReadonlyMap<string, string>): string {
  const hash = createHash("sha256")
    .update(JSON.stringify([...files]))
    .digest("hex");
  const folder = join(BUNDLES, hash.slice(0, 32));
  mkdirSync(BUNDLES, { recursive: true });
  if (!existsSync(folder)) {
    const written = mkdtempSync(join(BUNDLES, "new-"));
    for (const [name, code] of files) writeFileSync(join(written, name), code);
    try {
      renameSync(written, folder);
    } catch (error) {
      rmSync(written, { recursive: true });
      if (!existsSync(folder)) throw error; // Another run was faster.
    }
  }
  const now = Date.now();
  utimesSync(folder, now / 1_000, now / 1_000);
  for (const name of readdirSync(BUNDLES)) {
    const other = join(BUNDLES, name);
    const { mtimeMs } = statSync(other, { throwIfNoEntry: false }) ?? { mtimeMs: now };
    if (now - mtimeMs > UNUSED_MS) rmSync(other, { recursive: true, force: true });
  }
  return folder;
}
