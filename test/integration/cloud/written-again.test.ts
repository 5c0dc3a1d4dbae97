// A file whose sync has failed is never written to again: what a process did to the disk, call by
// call, for each sync of a run that may fail.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { DiskEvent } from "../../power/disk-model.ts";
import { brokenAfterRun, buildRecorder, recordRun } from "../../power/power-run.ts";
import { sampleOf } from "../../support/full-size.ts";
import { requirePart } from "../../support/requires.ts";

const OPERATIONS = 60;
const SYNCS = 75;

const { cc } = requirePart("cc");
let folder: string;
let library: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "tidegate-written-"));
  if (!cc.endsWith("-is-missing")) library = buildRecorder(cc, folder);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/**
 * Writes to a file after its sync failed. Before the first promise, SQLite itself rolls back a
 * transaction in a new file; after it, there are none. Folders are written by the file system.
 */
function writtenAgain(events: readonly DiskEvent[]): string[] {
  const failed = new Map<number, string>();
  const again: string[] = [];
  const files = new Set<number>();
  let isPromised = false;
  let promises = -1;
  for (const { kind, inode, path } of events) {
    if (kind === "C") {
      files.add(inode);
      failed.delete(inode); // A new file may get the number of one that is gone.
      if (path.endsWith("/promises")) promises = inode;
    }
    if (kind === "W" && inode === promises) isPromised = true;
    const name = failed.get(inode);
    if (kind === "F" && files.has(inode)) failed.set(inode, path);
    else if (isPromised && name !== undefined && (kind === "W" || kind === "S")) {
      again.push(`${kind} ${name}`);
    }
  }
  return again;
}

const FAILURES = ["broker", "ledger"].flatMap((kind) =>
  Array.from({ length: SYNCS }, (_, at) => [kind as "broker" | "ledger", at + 1] as const),
);

test.each(sampleOf(10, FAILURES))(
  "the %s never writes to a file again whose sync failed (sync %i), and keeps what it promised",
  async (kind, at) => {
    const run = { kind, folder: join(folder, "run"), library, operations: OPERATIONS };
    const recording = recordRun({ ...run, fail: `sync:${at}` });
    expect(writtenAgain(recording.events)).toEqual([]);
    expect(await brokenAfterRun(recording)).toEqual([]);
  },
);

/** Blobs that get their name before a sync of their bytes has succeeded. */
function namedUnsynced(events: readonly DiskEvent[]): string[] {
  const synced = new Set<string>();
  const early: string[] = [];
  for (const { kind, path } of events) {
    if (kind === "S") synced.add(path);
    if (kind !== "R" || !path.includes("/blobs/new/")) continue;
    const [from = ""] = path.split("\t");
    if (!synced.has(from)) early.push(from);
  }
  return early;
}

const BLOB_SYNCS = Array.from({ length: SYNCS }, (_, at) => at + 1);

test.each(sampleOf(5, BLOB_SYNCS))(
  "a blob has its name only once its bytes are synced, whatever fails (sync %i)",
  (at) => {
    const run = { folder: join(folder, "run"), library, operations: OPERATIONS };
    const { events } = recordRun({ ...run, kind: "blobs", fail: `sync:${at}` });
    expect(events.filter(({ kind }) => kind === "R").length).toBeGreaterThan(0);
    expect(namedUnsynced(events)).toEqual([]);
    expect(writtenAgain(events)).toEqual([]);
  },
);
