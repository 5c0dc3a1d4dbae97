// Power loss on a real ext4: the device is full for a moment, has space again, accepts more writes,
// and then loses its power. The blocks that it could not write before must not be trusted since.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { isFullSize } from "../support/full-size.ts";
import { requirePart } from "../support/requires.ts";
import { brokenPromises, type StoreKind } from "./promises.ts";
import { mountThinDisk, type ThinDisk } from "./thin-disk.ts";

const KINDS: readonly StoreKind[] = ["broker", "ledger", "outbox"];
/** Each renewal takes new blocks, which the backing never gets back: more rounds would fill it. */
const ROUNDS = isFullSize ? 2 : 1;
/** Promises before the device is full, and after it has space again. */
const PROMISES_BEFORE = 40;
const PROMISES_AFTER = 120;
const WORKER = join(import.meta.dirname, "worker.ts");
/** More operations than a round needs: the worker is killed. */
const ENDLESS = 1_000_000;

requirePart("ext4");
let folder: string;
let disk: ThinDisk | null;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tidegate-ext4-"));
  disk = null;
});
afterEach(() => {
  disk?.unmount();
  rmSync(folder, { recursive: true, force: true });
});

test.each(KINDS.flatMap((kind) => Array.from({ length: ROUNDS }, (_, round) => ({ kind, round }))))(
  "$kind, round $round: a full device and a power cut lose nothing that was acknowledged",
  async ({ kind, round }) => {
    const root = join(folder, "run");
    const thin = mountThinDisk(folder, join(root, "data"));
    disk = thin;
    const worker = spawn(process.execPath, [WORKER, kind, root, "1", String(ENDLESS)], {
      stdio: ["ignore", "ignore", "inherit"],
    });
    const gone = once(worker, "exit");
    const reached = (word: RegExp, count: number) =>
      eventually(() => {
        expect(worker.exitCode).toBe(null);
        expect(countOf(root, word)).toBeGreaterThan(count);
      });
    try {
      for (let time = 0; time <= round; time += 1) {
        await reached(PROMISED, countOf(root, PROMISED) + PROMISES_BEFORE);
        const failures = countOf(root, FAILED);
        thin.fill();
        await reached(FAILED, failures);
        thin.free();
        await reached(PROMISED, countOf(root, PROMISED) + PROMISES_AFTER);
      }
    } finally {
      worker.kill("SIGKILL");
      await gone;
    }
    const lines = linesOf(root);
    const after = join(folder, "after");
    thin.mountAfterCut(after);
    expect(await brokenPromises(kind, after, lines)).toEqual([]);
  },
);

const FAILED = /^failed/;
const PROMISED = /^(put|record|sent) /;

function countOf(root: string, word: RegExp): number {
  return linesOf(root).filter((line) => word.test(line)).length;
}

function linesOf(root: string): readonly string[] {
  try {
    return readFileSync(join(root, "promises"), "utf8").split("\n").slice(0, -1);
  } catch {
    return [];
  }
}
