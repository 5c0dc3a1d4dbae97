// A handler that blocks the event loop of `tidegate dev`, and the embedded cloud with it.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { pipeline } from "../../../src/ingest/spec/define-pipeline.ts";
import { startDev } from "../../../src/run/dev/start-dev.ts";

const VISIBILITY_MS = 3_000;

/** Blocks the thread, like a long calculation. */
function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

test("a handler that blocks dev past its lease is run again and committed once (R3)", {
  timeout: 60_000,
}, async () => {
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
    handler({ object }, { emit }) {
      handled.push(object.key);
      if (handled.length === 1) block(1.5 * VISIBILITY_MS);
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
  expect(running.snapshot()).toMatchObject({ committed: 3, deadLettered: 0, inFlight: 0 });
  expect(running.snapshot().lost).toBeGreaterThanOrEqual(1);
  expect(applied).toHaveLength(3);
  expect(new Set(handled)).toEqual(new Set(["a", "b", "c"]));
  expect(handled.length).toBeGreaterThan(3);
});
