// Build console: bundles the web page of the console into dist/console/app, with everything it
// needs: no page element comes from another server.
//   W1. All paths start with the base path under which the console is served.
//   W2. Nothing is inlined: the content security policy of the console forbids inline scripts,
//       inline styles and data URLs.
//   W3. The licenses of the bundled libraries are next to them.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "vite";

const root = join(import.meta.dirname, "..");

/** Where the server of the console finds the page. */
export const CONSOLE_OUT = join(root, "dist/console/app");

/** Libraries that the page contains. */
const BUNDLED = ["preact", "uplot"];

/** Writes the page to `outDir`. */
export async function buildConsole(outDir = CONSOLE_OUT): Promise<void> {
  await build({
    configFile: false,
    root: join(root, "src/console/app"),
    base: "/_tidegate/console/", // W1
    logLevel: "warn",
    oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
    build: {
      outDir,
      emptyOutDir: true,
      target: "es2022",
      assetsInlineLimit: 0, // W2
      modulePreload: { polyfill: false },
      cssCodeSplit: false,
      reportCompressedSize: false,
    },
  });
  const licenses = BUNDLED.map((name) => {
    const text = readFileSync(join(root, "node_modules", name, "LICENSE"), "utf8");
    return `${name}\n\n${text.trim()}\n`;
  });
  writeFileSync(join(outDir, "licenses.txt"), licenses.join("\n---\n\n")); // W3
}

if (import.meta.main) await buildConsole();
