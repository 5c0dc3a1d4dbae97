import { globSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { defineConfig, defineProject, type Plugin } from "vitest/config";
import { HeavyFirst } from "./test/support/heavy-first.ts";
import { IN_TURN } from "./test/support/in-turn.ts";
import { TEST_MS_MAX, WAIT_MS_MAX } from "./test/support/patience.ts";

// Examples import the package by its name. In tests that resolves to its sources, without a build.
const conditions = ["tidegate-source", "node"];
// Pipeline files of tests are in temporary folders, from where the package's name leads nowhere.
const ownPackage: Plugin = {
  name: "own-package",
  enforce: "pre",
  resolveId(id, importer) {
    const isOurs = id === "tidegate" || id.startsWith("tidegate/");
    if (!isOurs || importer?.startsWith(import.meta.dirname)) return null;
    return this.resolve(id, join(import.meta.dirname, "src/index.ts"));
  },
};
const resolution = {
  plugins: [ownPackage],
  resolve: { conditions },
  ssr: { resolve: { conditions } },
};

const patience = {
  testTimeout: TEST_MS_MAX,
  hookTimeout: TEST_MS_MAX,
  expect: { poll: { timeout: WAIT_MS_MAX } },
};

/** Folders whose tests start, kill, freeze or measure processes: each file has its own worker. */
const APART = [
  "bench",
  "browser",
  "contracts",
  "crash",
  "integration",
  "pack",
  "planted",
  "power",
  "scripts",
];
const inTurn = new Set(IN_TURN.map((name) => `test/integration/${name}.test.ts`));
const apart = globSync(
  APART.map((folder) => `test/${folder}/**/*.test.ts`),
  { cwd: import.meta.dirname },
).filter((file) => !inTurn.has(file));

// Hundreds of short-lived processes load the same modules, so they share compiled code.
process.env.NODE_COMPILE_CACHE ??= join(tmpdir(), "node-compile-cache");

export default defineConfig({
  test: {
    // The long tests mostly wait for processes and leases, so a few more workers than cores keep
    // the cores busy.
    maxWorkers: availableParallelism() + 2,
    sequence: { sequencer: HeavyFirst },
    projects: [
      defineProject({
        ...resolution,
        test: {
          name: "apart",
          include: apart,
          pool: "forks",
          globalSetup: "test/support/stores/shared-servers.ts",
          ...patience,
        },
      }),
      defineProject({
        ...resolution,
        test: {
          name: "together",
          include: ["src/**/*.test.ts", "test/**/*.test.ts"],
          exclude: apart,
          pool: "forks",
          // A worker runs file after file: starting one per file costs more than most tests.
          isolate: false,
          restoreMocks: true, // Also after a test that failed before it restored them.
          ...patience,
        },
      }),
    ],
  },
});
