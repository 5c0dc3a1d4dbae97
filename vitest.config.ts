import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { defineConfig, defineProject } from "vitest/config";
import { HeavyFirst } from "./test/support/heavy-first.ts";

// Examples import the package by its name; in tests that means its sources, as no build is there.
const conditions = ["tidegate-source", "node"];
const resolution = { resolve: { conditions }, ssr: { resolve: { conditions } } };

/** Much longer than any test takes alone: others may need the machine at the same time. */
const timeouts = { testTimeout: 120_000, hookTimeout: 120_000 };

/** Folders whose tests start, kill, freeze or measure processes: each file has its own. */
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
const apart = APART.map((folder) => `test/${folder}/**/*.test.ts`);

// Hundreds of short-lived processes load the same modules: they find them compiled.
process.env.NODE_COMPILE_CACHE ??= join(tmpdir(), "node-compile-cache");

export default defineConfig({
  test: {
    // The long tests wait for processes and leases more than they work, so a few more workers than
    // there are cores keep these busy.
    maxWorkers: availableParallelism() + 2,
    sequence: { sequencer: HeavyFirst },
    projects: [
      defineProject({
        ...resolution,
        test: { name: "apart", include: apart, pool: "forks", ...timeouts },
      }),
      defineProject({
        ...resolution,
        test: {
          name: "together",
          include: ["src/**/*.test.ts", "test/**/*.test.ts"],
          exclude: apart,
          pool: "forks",
          // A worker takes file after file: to start one for each costs more than most tests.
          isolate: false,
          restoreMocks: true, // Of a test that failed before it could, too.
          ...timeouts,
        },
      }),
    ],
  },
});
