// A ledger and an outbox whose file is in doubt: they let go of it, say why, and open it again.

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { epochMs } from "../../../src/core/units.ts";
import { asRecordKey } from "../../../src/ledger/record-state.ts";
import { systemPorts } from "../../../src/platform/index.ts";
import type { Ledger } from "../../../src/ports/ledger.ts";
import { FoldMark } from "../../../src/stores/sqlite/fold-mark.ts";
import { createSqliteLedger } from "../../../src/stores/sqlite/ledger/ledger.ts";
import { createSqliteOutbox } from "../../../src/stores/sqlite/ledger/outbox.ts";
import { ANY_INPUT } from "../../support/stores/any-input.ts";
import { useTemporaryFolder } from "../../support/temporary-folder.ts";

const folder = useTemporaryFolder("healing");
const SCOPE = { pipeline: "p", generation: 0 };
const RETRY_MS = 1_000;
/** Until a store looks for the mark of another process again. */
const LOOK_MS = 100;
/** Until an idle store looks for it. */
const IDLE_LOOK_MS = 2_000;

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());

async function commit(ledger: Ledger, key: string, effects = ""): Promise<string | undefined> {
  const at = epochMs(systemPorts.clock.now());
  const record = { key: asRecordKey(key), owner: "w", input: ANY_INPUT, digest: "d", effects };
  const [result] = await ledger.commitDirect(SCOPE, [{ ...record, receivedAt: at, startedAt: at }]);
  return result?.kind;
}

const hasKey = (ledger: Ledger, key: string) => ledger.hasRecords(SCOPE, [asRecordKey(key)]);

test("a ledger in doubt waits for the other processes that have it open, and heals", async () => {
  const path = join(folder, "shared.db");
  const first = createSqliteLedger(systemPorts, { path });
  const second = createSqliteLedger(systemPorts, { path });
  const reader = createSqliteLedger(systemPorts, { path, readOnly: true });
  expect(await commit(first, "a")).toBe("committed");
  expect(await hasKey(reader, "a")).toEqual([true]);
  const inode = statSync(path).ino;
  const mark = new FoldMark(path);
  mark.begin();
  mark.fail();
  vi.advanceTimersByTime(LOOK_MS);
  await expect(commit(first, "b")).rejects.toMatchObject({
    code: "TG_LEDGER_UNAVAILABLE",
    message: expect.stringContaining("as soon as no other process has it open"),
  });
  expect(await hasKey(reader, "a")).toEqual([true]);
  expect(await commit(second, "c")).toBe("committed"); // It let go of the file and renewed it.
  expect(statSync(path).ino).not.toBe(inode);
  expect([mark.exists, mark.isFailed]).toEqual([false, false]);
  await expect(commit(first, "b")).rejects.toMatchObject({ code: "TG_LEDGER_UNAVAILABLE" });
  vi.advanceTimersByTime(RETRY_MS);
  expect(await commit(first, "b")).toBe("committed");
  expect(await hasKey(reader, "b")).toEqual([true]);
  await Promise.all([first.close(), second.close(), reader.close()]);
  await expect(commit(first, "d")).rejects.toMatchObject({ code: "TG_CLOSED" });
});

test("an idle process lets go of a file in doubt, so that another one can renew it", async () => {
  vi.useRealTimers();
  vi.useFakeTimers({ toFake: ["performance", "setInterval", "clearInterval"] });
  const path = join(folder, "idle.db");
  const idle = createSqliteLedger(systemPorts, { path });
  const reader = createSqliteLedger(systemPorts, { path, readOnly: true });
  const working = createSqliteLedger(systemPorts, { path });
  expect(await commit(idle, "a")).toBe("committed");
  expect(await hasKey(reader, "a")).toEqual([true]);
  const inode = statSync(path).ino;
  const mark = new FoldMark(path);
  mark.begin();
  mark.fail();
  vi.advanceTimersByTime(IDLE_LOOK_MS);
  expect(await commit(working, "b")).toBe("committed");
  expect(statSync(path).ino).not.toBe(inode);
  expect(await hasKey(reader, "b")).toEqual([true]);
  await Promise.all([idle.close(), reader.close(), working.close()]);
});

test("an outbox in doubt heals with its next call", async () => {
  const path = join(folder, "outbox.db");
  const outbox = createSqliteOutbox(systemPorts, { path });
  const inode = statSync(path).ino;
  const mark = new FoldMark(path);
  mark.begin();
  mark.fail();
  vi.advanceTimersByTime(LOOK_MS);
  expect(await outbox.stats("t")).toMatchObject({ pending: 0 });
  expect(statSync(path).ino).not.toBe(inode);
  await outbox.close();
});

test("without space for a new file, a ledger refuses writes, says so, and is read", async (context) => {
  const mount = join(folder, "small");
  mkdirSync(mount);
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=2m", "tmpfs", mount], { stdio: "pipe" });
  } catch {
    context.skip("mounting a small file system needs root and permission to mount");
  }
  try {
    const path = join(mount, "ledger.db");
    const ledger = createSqliteLedger(systemPorts, { path, checkpointPages: 16 });
    for (let at = 0; at < 75; at += 1) await commit(ledger, `k${at}`, "x".repeat(16_000));
    const mark = new FoldMark(path);
    mark.begin();
    mark.fail();
    vi.advanceTimersByTime(LOOK_MS);
    const refused = {
      code: "TG_LEDGER_UNAVAILABLE",
      message: expect.stringMatching(
        /needs [12]\.\d MB of disk space for a new file, and 0\.\d MB are free/,
      ),
    };
    await expect(commit(ledger, "b")).rejects.toMatchObject(refused);
    const reader = createSqliteLedger(systemPorts, { path, readOnly: true });
    expect(await hasKey(reader, "k74")).toEqual([true]);
    await reader.close();
    execFileSync("mount", ["-o", "remount,size=8m", mount]);
    vi.advanceTimersByTime(RETRY_MS);
    expect(await commit(ledger, "b")).toBe("committed");
    expect(existsSync(`${path}.new`)).toBe(false);
    await ledger.close();
  } finally {
    execFileSync("umount", ["-l", mount]);
  }
});
