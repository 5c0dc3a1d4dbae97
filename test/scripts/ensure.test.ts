// The step before `npm start` and `npm test`, run in a separate folder with a fake npm that only
// records its calls.

import { spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";

const script = join(import.meta.dirname, "../../scripts/ensure.mjs");
let root = "";

/** Installs a fake npm that records its arguments and then runs `lines`. */
function fakeNpm(...lines: string[]): void {
  const text = ["#!/bin/sh", 'echo "$@" >> calls', ...lines].join("\n");
  writeFileSync(join(root, "bin", "npm"), text, { mode: 0o755 });
}

const INSTALLS_NODE_24 = [
  "rm -rf node_modules && mkdir -p node_modules/node/bin",
  `printf '#!/bin/sh\\necho v24.0.0\\n' > node_modules/node/bin/node`,
  "chmod +x node_modules/node/bin/node",
];

function ensure() {
  const env = {
    ...process.env,
    PATH: [join(root, "bin"), dirname(process.execPath), "/usr/bin", "/bin"].join(delimiter),
  };
  const file = join(root, "scripts", "ensure.mjs");
  return spawnSync(process.execPath, [file], { encoding: "utf8", env });
}

function calls(): string[] {
  const file = join(root, "calls");
  return existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
}

beforeEach(() => {
  root = join(mkdtempSync(join(tmpdir(), "tidegate-ensure-")), "a folder with spaces");
  mkdirSync(join(root, "bin"), { recursive: true });
  cpSync(script, join(root, "scripts", "ensure.mjs"));
  writeFileSync(join(root, "package.json"), `{ "devDependencies": { "node": "^24.1.0" } }`);
  writeFileSync(join(root, "package-lock.json"), "{}");
});

afterEach(() => rmSync(dirname(root), { recursive: true, force: true }));

test("a fresh clone is installed once, with one line of output, and then never again", () => {
  fakeNpm(...INSTALLS_NODE_24, "echo added 1 package");
  const first = ensure();
  expect(first.stdout).toBe("");
  expect(first.stderr).toMatch(/^tidegate: installing dependencies .*\n$/);
  expect(ensure()).toMatchObject({ status: 0, stdout: "", stderr: "" });
  expect(calls()).toHaveLength(1);
  expect(calls()[0]).toMatch(/^ci --include=dev /);
});

test("a changed lock and a missing Node each cause a new install", () => {
  fakeNpm(...INSTALLS_NODE_24);
  ensure();
  writeFileSync(join(root, "package-lock.json"), `{ "changed": true }`);
  expect(ensure().status).toBe(0);
  expect(calls()).toHaveLength(2);
  rmSync(join(root, "node_modules", "node"), { recursive: true });
  expect(ensure().status).toBe(0);
  expect(calls()).toHaveLength(3);
});

test("a failing npm ci prints its output, ends the command, and is retried next time", () => {
  fakeNpm("echo from stdout", "echo npm error EUSAGE >&2", "exit 1");
  const { status, stderr } = ensure();
  expect(status).toBe(1);
  expect(stderr).toMatch(/from stdout\nnpm error EUSAGE\ntidegate: `npm ci` failed/);
  ensure();
  expect(calls()).toHaveLength(2);
});

test("a pinned Node that cannot run is reported, with a fix", () => {
  fakeNpm("mkdir -p node_modules");
  const { status, stderr } = ensure();
  expect(status).toBe(1);
  expect(stderr).toMatch(/the pinned Node 24 cannot run: .*ENOENT/);
  expect(stderr).toContain("npm_config_ignore_scripts=false npm test");
});

test("a pinned Node of another version is rejected", () => {
  fakeNpm(...INSTALLS_NODE_24, "sed -i s/v24/v20/ node_modules/node/bin/node");
  expect(ensure().stderr).toContain("the pinned Node 24 cannot run: v20.0.0");
});
