// Page files: the built page of the console.
//   P1. A package contains the built page in dist/console/app. A clone builds it at the first
//       request into node_modules/.cache, in its own process, and again when its sources are newer.
//   P2. Only files of the built folder are served: names with other characters than letters,
//       digits, dots, dashes and slashes do not exist.

import { spawn } from "node:child_process";
import { existsSync, globSync, statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { PageFile, PageFiles } from "./api/console-http.ts";

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".json": "application/json",
  ".txt": "text/plain; charset=utf-8",
};
/** From src/console and dist/console. */
const ROOT = "../../";
const SAFE_NAME = /^(?:[\w-][\w.-]*\/)*[\w-][\w.-]*$/;
const STDERR_CHARS_MAX = 400;

type Folder = { readonly path: string } | { readonly missing: string };

export function createPageFiles(): PageFiles {
  let opening: Promise<Folder> | null = null;
  const files = new Map<string, PageFile>();
  return {
    async read(name) {
      const type = TYPES[extname(name)];
      if (type === undefined || !SAFE_NAME.test(name)) return null; // P2
      opening ??= openFolder();
      const folder = await opening;
      if ("missing" in folder) {
        opening = null; // The next request tries again.
        return folder;
      }
      const stored = files.get(name);
      if (stored !== undefined) return stored;
      try {
        const file = { type, body: await readFile(join(folder.path, name), "utf8") };
        files.set(name, file);
        return file;
      } catch {
        return null;
      }
    },
  };
}

async function openFolder(): Promise<Folder> {
  const root = fileURLToPath(new URL(ROOT, import.meta.url));
  const script = join(root, "scripts", "build-console.ts");
  const isClone = existsSync(script) && existsSync(join(root, "node_modules", "vite"));
  if (!isClone) {
    const path = join(root, "dist", "console", "app");
    if (existsSync(join(path, "index.html"))) return { path };
    return { missing: "the page of the console is not built; run npm install and npm run build" };
  }
  const path = join(root, "node_modules", ".cache", "tidegate-console");
  return isCurrent(root, path) ? { path } : build(script, path); // P1
}

function isCurrent(root: string, built: string): boolean {
  const index = join(built, "index.html");
  if (!existsSync(index)) return false;
  const builtAt = statSync(index).mtimeMs;
  const sources = globSync("src/console/app/**/*.*", { cwd: root });
  return sources.every((file) => statSync(join(root, file)).mtimeMs <= builtAt);
}

function build(script: string, path: string): Promise<Folder> {
  const code = `const { buildConsole } = await import(${JSON.stringify(pathToFileURL(script).href)});
    await buildConsole(${JSON.stringify(path)});`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", code], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  let stderr = "";
  child.stderr.on("data", (chunk) => {
    stderr = `${stderr}${chunk}`.slice(-STDERR_CHARS_MAX);
  });
  return new Promise((resolve) => {
    child.on("error", (error) =>
      resolve({ missing: `the page cannot be built: ${error.message}` }),
    );
    child.on("close", (status) => {
      const reason = stderr.trim().split("\n").at(-1) ?? "";
      resolve(status === 0 ? { path } : { missing: `the page cannot be built: ${reason}` });
    });
  });
}
