// Ensure: makes `npm start`, `npm test` and `npm run tidegate` work on a fresh clone. npm runs it
// before each of them. It writes to stderr, so that it never mixes with a command's output.
//   N1. It runs on the system's own Node (20 or later), so it is plain JavaScript and needs no
//       package. The commands that follow run on the Node pinned in devDependencies.
//   N2. node_modules contains a stamp of the lock and platform it was installed for. While the
//       stamp matches, nothing is started or downloaded.
//   N3. The stamp is written last, and `npm ci` removes it first: a broken install is never
//       trusted.

import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const windows = process.platform === "win32";
const stampFile = join(root, "node_modules", ".tidegate-stamp");
const pinnedNode = join(root, "node_modules", "node", "bin", windows ? "node.exe" : "node");

const stamp = stampOfLock();
if (readIfPresent(stampFile) !== stamp || !existsSync(pinnedNode)) install(); // N2

function install() {
  console.error("tidegate: installing dependencies from package-lock.json (npm ci) ...");
  const flags = ["--include=dev", "--no-audit", "--no-fund", "--loglevel=error"];
  const run = spawnSync("npm", ["ci", ...flags], {
    cwd: root,
    env: environmentWithoutOwnNode(),
    shell: windows,
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
  });
  if (run.error !== undefined) fail(`npm did not start: ${run.error.message}`);
  if (run.status !== 0) {
    process.stderr.write(`${run.stdout}${run.stderr}`);
    fail(
      "`npm ci` failed (see above). Check the network and the disk, then run the command again.",
    );
  }
  checkPinnedNode();
  writeFileSync(stampFile, stamp); // N3
}

/** The pinned Node comes from an install script, which an npm setting may have disabled. */
function checkPinnedNode() {
  const run = spawnSync(pinnedNode, ["--version"], { encoding: "utf8" });
  if (run.status === 0 && run.stdout.startsWith(`v${pinnedMajor()}.`)) return;
  const reason = run.error?.message ?? (run.stderr.trim() || run.stdout.trim());
  fail(
    `the pinned Node ${pinnedMajor()} cannot run: ${reason}\n` +
      "The install script of the npm package `node` sets it up. If npm is configured to ignore\n" +
      "scripts, allow them once: `npm_config_ignore_scripts=false npm test`.",
  );
}

function pinnedMajor() {
  const { devDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  return devDependencies.node.match(/\d+/)[0];
}

/** The install replaces node_modules/.bin, so it must not run on the Node in there. */
function environmentWithoutOwnNode() {
  const own = join(root, "node_modules", ".bin");
  const name = Object.keys(process.env).find((key) => key.toUpperCase() === "PATH") ?? "PATH";
  const folders = (process.env[name] ?? "").split(delimiter).filter((folder) => folder !== own);
  return { ...process.env, [name]: folders.join(delimiter) };
}

function stampOfLock() {
  const lock = readFileSync(join(root, "package-lock.json"));
  const hash = createHash("sha256").update(lock).digest("hex");
  return `${hash} ${process.platform}-${process.arch}\n`;
}

function readIfPresent(file) {
  return existsSync(file) ? readFileSync(file, "utf8") : undefined;
}

function fail(message) {
  console.error(`tidegate: ${message}`);
  process.exit(1);
}
