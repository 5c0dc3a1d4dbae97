// Compaction: a file shrinks to its live data, and nothing of that is lost.

import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { epochMs } from "../../../src/core/units.ts";
import { asRecordKey } from "../../../src/ledger/record-state.ts";
import { systemPorts } from "../../../src/platform/index.ts";
import { createSqliteBrokerStore } from "../../../src/stores/sqlite/broker/broker-store.ts";
import { compactBrokerFolder } from "../../../src/stores/sqlite/broker/compact-folder.ts";
import { compactSqliteFile } from "../../../src/stores/sqlite/compact-file.ts";
import { createSqliteLedger } from "../../../src/stores/sqlite/ledger/ledger.ts";
import { loadAll, message } from "../../contracts/broker-store.ts";
import { endOf, startCommand } from "../../support/command-process.ts";
import { mountSmallDisk, NO_SMALL_DISK } from "../../support/small-disk.ts";
import { ANY_INPUT } from "../../support/stores/any-input.ts";

const MESSAGES = 300;
const REMAINING = 10;
const BODY = "x".repeat(9_000);
const SCOPE = { pipeline: "compact", generation: 0 };

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tidegate-compact-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Fills a store with messages and an object, and deletes most of the messages. */
async function fillAndDelete(data: string): Promise<void> {
  const store = createSqliteBrokerStore({ folder: data });
  loadAll(store);
  for (let first = 1; first <= MESSAGES; first += 50) {
    await store.commit(Array.from({ length: 50 }, (_, at) => message(first + at, { body: BODY })));
  }
  await store.commit([{ kind: "put-blob", blob: "b".repeat(32) }]);
  for (let seq = 1; seq <= MESSAGES - REMAINING; seq += 1) {
    await store.commit([{ kind: "delete-message", seq }]);
  }
  await store.close();
}

async function expectRemaining(data: string): Promise<void> {
  const store = createSqliteBrokerStore({ folder: data });
  const { messages } = loadAll(store);
  expect(messages).toHaveLength(REMAINING);
  for (const { seq } of messages) expect(store.read(seq)?.body).toBe(BODY);
  expect(store.objects.hasBlob("b".repeat(32))).toBe(true);
  await store.commit([message(5_000, { body: "continues" })]);
  await store.close();
}

describe("the data folder of a broker", () => {
  test("shrinks to its live data, which stays the same", async () => {
    await fillAndDelete(folder);
    const report = compactBrokerFolder(folder, () => undefined);
    expect(report.beforeBytes).toBeGreaterThan(MESSAGES * BODY.length);
    expect(report.afterBytes).toBeLessThan(report.beforeBytes / 5);
    await expectRemaining(folder);
  });

  test("is refused and unchanged while a broker runs on it", async () => {
    await fillAndDelete(folder);
    const store = createSqliteBrokerStore({ folder });
    loadAll(store);
    const sizeBytes = statSync(join(folder, "broker.sqlite")).size;
    const compacting = () => compactBrokerFolder(folder, () => undefined);
    expect(compacting).toThrow(`data folder ${folder} is in use by another process`);
    await store.commit([]);
    rmSync(join(folder, "broker.lock")); // The data file decides, not the lock file.
    expect(compacting).toThrow("in use by another process");
    expect(statSync(join(folder, "broker.sqlite")).size).toBe(sizeBytes);
    await store.close();
    await expectRemaining(folder);
  });

  test("is refused and unchanged on a disk without space for the copy", async (context) => {
    const disk = mountSmallDisk(join(folder, "disk"), 8);
    if (disk === null) return context.skip(NO_SMALL_DISK);
    try {
      const data = join(disk.path, "data");
      await fillAndDelete(data);
      const freeBytes = 8 * 1_024 * 1_024 - statSync(join(data, "broker.sqlite")).size;
      writeFileSync(join(disk.path, "foreign"), Buffer.alloc(freeBytes - 150_000));
      const compacting = () => compactBrokerFolder(data, () => undefined);
      expect(compacting).toThrow(/needs 0\.\d MB of free disk space, and 0\.\d MB are free$/);
      rmSync(join(disk.path, "foreign"));
      await expectRemaining(data);
    } finally {
      disk.unmount();
    }
  });

  test("loses the unfinished copy of a crash at the next start", async () => {
    await fillAndDelete(folder);
    const draft = join(folder, "broker.sqlite.compact");
    writeFileSync(draft, "half a copy");
    await expectRemaining(folder);
    expect(statSync(draft, { throwIfNoEntry: false })).toBe(undefined);
  });
});

describe("a ledger in SQLite", () => {
  async function fillLedger(path: string) {
    const ledger = createSqliteLedger(systemPorts, { path });
    const at = epochMs(systemPorts.clock.now());
    for (let first = 0; first < MESSAGES; first += 50) {
      const commits = Array.from({ length: 50 }, (_, index) => {
        const key = asRecordKey(`k${first + index}`);
        return {
          key,
          owner: "w",
          input: ANY_INPUT,
          receivedAt: at,
          startedAt: at,
          digest: "d",
          effects: BODY,
        };
      });
      await ledger.commitDirect(SCOPE, commits);
    }
    return ledger;
  }

  test("keeps its records, and is refused while it is open elsewhere", async () => {
    const path = join(folder, "ledger.db");
    const ledger = await fillLedger(path);
    expect(() => compactSqliteFile(path, () => undefined)).toThrow("is in use by another process");
    await ledger.close();
    const report = compactSqliteFile(path, () => undefined);
    expect(report.afterBytes).toBeLessThanOrEqual(report.beforeBytes);
    const again = createSqliteLedger(systemPorts, { path, create: false });
    const view = await again.show(SCOPE, asRecordKey("k7"));
    expect(view?.record).toMatchObject({ kind: "committed", effects: BODY });
    expect((await again.stats())[0]?.committed).toBe(MESSAGES);
    await again.close();
  });
});

describe("tidegate compact", () => {
  test("compacts a folder and prints its sizes; refuses a folder without data", async () => {
    await fillAndDelete(folder);
    const { code, out, err } = await endOf(startCommand(["compact", "--data", folder, "--json"]));
    expect([code, err]).toEqual([0, expect.stringContaining("compacting ")]);
    const { files } = JSON.parse(out) as { files: { beforeBytes: number; afterBytes: number }[] };
    expect(files[0]?.afterBytes).toBeLessThan((files[0]?.beforeBytes ?? 0) / 5);
    await expectRemaining(folder);
    const none = await endOf(startCommand(["compact", "--data", join(folder, "none")]));
    expect([none.code, none.err]).toEqual([2, expect.stringContaining("contains no data")]);
  });
});
