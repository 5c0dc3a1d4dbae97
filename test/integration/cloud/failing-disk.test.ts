// A failing disk: no false success, no partial commit, and the store recovers when the disk does.

import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { TidegateError } from "../../../src/core/errors.ts";
import type { BrokerStore } from "../../../src/ports/broker/broker-store.ts";
import { createSqliteBrokerStore } from "../../../src/stores/sqlite/broker/broker-store.ts";
import { headOf, loadAll, message } from "../../contracts/broker-store.ts";

const FILL_COMMITS_MAX = 500;
const isRoot = process.getuid?.() === 0;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tidegate-disk-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Commits pairs of messages until a commit fails; returns the seqs of the successful commits. */
async function fill(store: BrokerStore): Promise<{ committed: number[]; failure: unknown }> {
  const committed: number[] = [];
  for (let seq = 1; seq < FILL_COMMITS_MAX * 2; seq += 2) {
    try {
      const body = "x".repeat(9_000);
      await store.commit([message(seq, { body }), message(seq + 1, { body })]);
      committed.push(seq, seq + 1);
    } catch (failure) {
      return { committed, failure };
    }
  }
  throw new Error("the disk never became full");
}

function expectFull(failure: unknown): void {
  expect(failure).toBeInstanceOf(TidegateError);
  expect((failure as TidegateError).code).toBe("TG_STORE_FULL");
  expect((failure as TidegateError).cause).toBeInstanceOf(Error);
}

function expectUnavailable(failure: unknown): void {
  expect(failure).toBeInstanceOf(TidegateError);
  expect((failure as TidegateError).code).toBe("TG_STORE_UNAVAILABLE");
  expect((failure as TidegateError).cause).toBeInstanceOf(Error);
}

async function rejectionOf(work: () => unknown): Promise<unknown> {
  try {
    await work();
  } catch (error) {
    return error;
  }
  throw new Error("expected a failure");
}

describe("a full disk", () => {
  test("fails the commit and all later ones, until load() returns everything committed", async () => {
    const store = createSqliteBrokerStore({ folder, pageCountMax: 80 });
    loadAll(store);
    const { committed, failure } = await fill(store);
    expectFull(failure);
    expectFull(await rejectionOf(() => store.commit([])));
    expectFull(await rejectionOf(() => store.read(1)));
    expect(loadAll(store).messages.map((head) => head.seq)).toEqual(committed);
    expect(store.read(committed[0] ?? 0)?.body).toHaveLength(9_000);
    await store.commit(committed.slice(0, 4).map((seq) => ({ kind: "delete-message", seq })));
    await store.commit([message(5_000, { body: "fits again" })]);
    await store.close();
  });

  test("fails the commit that waited behind the failed one, and stores neither", async () => {
    const store = createSqliteBrokerStore({ folder, pageCountMax: 80 });
    loadAll(store);
    await store.commit([message(1, { body: "committed" })]);
    const tooMuch = store.commit([message(2, { body: "x".repeat(900_000) })]);
    const behind = store.commit([
      message(3, { body: "small" }),
      { kind: "delete-message", seq: 1 },
    ]);
    const failures = await Promise.all([tooMuch, behind].map((each) => rejectionOf(() => each)));
    for (const failure of failures) expectFull(failure);
    expect(loadAll(store).messages.map((head) => head.seq)).toEqual([1]);
    expect(store.read(1)?.body).toBe("committed");
    await store.commit([message(4, { body: "continues" })]);
    await store.close();
    const again = createSqliteBrokerStore({ folder });
    expect(loadAll(again).messages.map((head) => head.seq)).toEqual([1, 4]);
    await again.close();
  });

  test("reuses freed pages for new messages without growing", async () => {
    const store = createSqliteBrokerStore({ folder, pageCountMax: 80 });
    loadAll(store);
    for (let seq = 1; seq < 400; seq += 1) {
      await store.commit([message(seq, { body: "x".repeat(9_000) })]);
      if (seq > 10) await store.commit([{ kind: "delete-message", seq: seq - 10 }]);
    }
    expect(loadAll(store).messages).toHaveLength(10);
    await store.close();
  });

  test("of a real, small file system takes deletes, and messages once it has grown", async (context) => {
    const mount = join(folder, "small");
    mkdirSync(mount);
    if (!tryMount(["-t", "tmpfs", "-o", "size=1m", "tmpfs", mount])) {
      context.skip("mounting a small file system needs root and permission to mount");
    }
    try {
      const store = createSqliteBrokerStore({ folder: mount, reserve: true });
      loadAll(store);
      const { committed, failure } = await fill(store);
      expectFull(failure);
      expect(store.space?.full).toBe(true);
      expect(loadAll(store).messages.map((head) => head.seq)).toEqual(committed);
      for (const seq of committed.slice(0, 6))
        await store.commit([{ kind: "delete-message", seq }]);
      execFileSync("mount", ["-o", "remount,size=8m", mount]);
      expect(await store.space?.regain()).toBe(true);
      expect(loadAll(store).messages.map((head) => head.seq)).toEqual(committed.slice(6));
      await store.commit([message(5_000)]);
      await store.close();
    } finally {
      execFileSync("umount", ["-l", mount]);
    }
  });
});

describe("a folder that is not writable", () => {
  test("is refused as unavailable, by mode", async (context) => {
    if (isRoot) {
      context.skip("file modes do not bind root");
    }
    chmodSync(folder, 0o555);
    expectUnavailable(await rejectionOf(() => createSqliteBrokerStore({ folder })));
    chmodSync(folder, 0o755);
  });

  test("is refused as unavailable, by mount", async (context) => {
    const mount = join(folder, "fixed");
    mkdirSync(mount);
    if (!tryMount(["-t", "tmpfs", "-o", "size=4m", "tmpfs", mount])) {
      context.skip("mounting a read-only file system needs root and permission to mount");
    }
    try {
      const store = createSqliteBrokerStore({ folder: mount });
      loadAll(store);
      await store.commit([message(1)]);
      await store.close();
      execFileSync("mount", ["-o", "remount,ro", mount]);
      expectUnavailable(await rejectionOf(() => createSqliteBrokerStore({ folder: mount })));
      execFileSync("mount", ["-o", "remount,rw", mount]);
      const again = createSqliteBrokerStore({ folder: mount });
      expect(loadAll(again).messages).toEqual([headOf(message(1))]);
      await again.close();
    } finally {
      execFileSync("umount", [mount]);
    }
  });

  test("is refused as unavailable where no folder can be created, at any depth", async (context) => {
    if (process.platform !== "linux") context.skip("needs Linux's /proc");
    for (const path of ["/proc/none", "/proc/none/of/these"]) {
      expectUnavailable(await rejectionOf(() => createSqliteBrokerStore({ folder: path })));
    }
  });

  test("is refused as unavailable if it is a file", async () => {
    const path = join(folder, "file");
    writeFileSync(path, "");
    expectUnavailable(await rejectionOf(() => createSqliteBrokerStore({ folder: path })));
  });
});

describe("a folder in use", () => {
  test("is refused with the pid of the process that uses it, and is free after close()", async () => {
    const first = createSqliteBrokerStore({ folder });
    loadAll(first);
    const refused = await rejectionOf(() => createSqliteBrokerStore({ folder }));
    expect((refused as TidegateError).code).toBe("TG_STORE_LOCKED");
    expect((refused as TidegateError).message).toBe(
      `data folder ${folder} is in use by another process (pid ${process.pid})`,
    );
    await first.commit([message(1)]);
    await first.close();
    const second = createSqliteBrokerStore({ folder });
    expect(loadAll(second).messages).toHaveLength(1);
    await second.close();
  });
});

function tryMount(args: string[]): boolean {
  try {
    execFileSync("mount", args, { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
