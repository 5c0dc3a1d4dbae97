// A handler that blocks the event loop of `tidegate dev`, and the embedded cloud with it.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { pipeline } from "../../../src/ingest/spec/define-pipeline.ts";
import { startDev } from "../../../src/run/dev/start-dev.ts";

const VISIBILITY_MS = 3_000;

/** Blocks the thread, like a long calculation. */
function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

test.each([
  ["returns at once", 0],
  ["reads and waits afterwards", 2],
])(
  "a handler that blocks dev past its lease, and %s, is committed by its first run (R3)",
  async (_title, waits) => {
    const data = mkdtempSync(join(tmpdir(), "tidegate-dev-blocked-"));
    const handled: string[] = [];
    const applied: unknown[] = [];
    const spec = pipeline({
      name: "blocked",
      source: { bucket: "files" },
      visibilityMs: VISIBILITY_MS,
      concurrency: 1,
      sink: (effects) => {
        for (const effect of effects) applied.push(effect);
      },
      async handler({ object }, { emit }) {
        handled.push(object.key);
        if (object.key === "a") {
          block(1.5 * VISIBILITY_MS);
          for (let wait = 0; wait < waits; wait += 1) await setTimeout(VISIBILITY_MS / 2);
        }
        emit({ key: object.key });
      },
    });
    const running = await startDev(spec, { data, port: 0, metricsPort: 0 }, { onLogLine() {} });
    onTestFinished(async () => {
      await running.stop();
      rmSync(data, { recursive: true, force: true });
    });
    for (const key of ["a", "b", "c"]) await running.put(key, key);
    await running.idle();
    expect(running.snapshot()).toMatchObject({
      committed: 3,
      deadLettered: 0,
      inFlight: 0,
      lost: 0,
    });
    expect(applied).toHaveLength(3);
    expect(handled.toSorted()).toEqual(["a", "b", "c"]);
  },
);
