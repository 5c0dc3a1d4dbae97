// What a replay refuses, one sentence each, and that nothing is lost by it.

import { closeSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { epochMs } from "../../../src/core/units.ts";
import { SILENT } from "../../../src/ingest/telemetry/silent-telemetry.ts";
import type { ObjectSource } from "../../../src/ports/objects/object-source.ts";
import { openAwsObjects } from "../../../src/run/open/aws-environment.ts";
import { ARCHIVE, messagesPipeline, startMessageWorld } from "../../support/message-world.ts";
import { ordersPipeline, startReplayWorld } from "../../support/replay-world.ts";
import { mountSmallDisk, NO_SMALL_DISK } from "../../support/small-disk.ts";
import { useTemporaryFolder } from "../../support/temporary-folder.ts";

const folder = useTemporaryFolder("bad-replays");
const DISK_MB = 32;
const PAGE = Buffer.alloc(4_096);

/** Writes a file until nothing more fits. */
function fillDisk(path: string): void {
  const file = openSync(path, "w");
  try {
    for (;;) writeSync(file, PAGE);
  } catch (error) {
    expect(error).toMatchObject({ code: "ENOSPC" });
  } finally {
    closeSync(file);
  }
}

test("a window, run or sink that cannot be replayed: refused with one sentence", async () => {
  await using world = await startReplayWorld(folder, "refused");
  await world.put("in/a.csv", { a1: 1 });
  await using replays = await world.replays(ordersPipeline(1));
  const { to } = world.request();
  const at = (ms: number) => epochMs(to + ms);
  const start = (more: object) => replays.start(world.request(more));

  await expect(start({ from: at(1), to })).rejects.toThrow(
    /^the start .* is after the end .*; swap them$/,
  );
  await expect(start({ from: to, to })).rejects.toThrow(
    /^the window .* is empty; its end is exclusive$/,
  );
  await expect(start({ to: at(86_400_000) })).rejects.toThrow(
    /^the end .* is in the future; choose/,
  );
  const early = { from: epochMs(0), to: epochMs(1_000) };
  await expect(start(early)).rejects.toThrow(/^no record to replay in the window/);
  await expect(start({ bucket: "orders", prefix: "out/" })).rejects.toThrow(/^no record to replay/);

  for (const call of ["show", "promote", "drop", "cancel", "resume"] as const) {
    await expect(replays[call]("none")).rejects.toThrow(/^unknown run "none" of orders; list them/);
  }
  await using functions = await world.replays(ordersPipeline(1, { sink: () => undefined }));
  await expect(functions.start(world.request())).rejects.toThrow(
    /^a sink function has no shadow; use/,
  );
  await using none = await world.replays({ ...ordersPipeline(1), sink: null });
  await expect(none.start(world.request())).rejects.toThrow(
    /^a pipeline without a sink has no shadow/,
  );
  expect(await replays.list()).toEqual([]);
});

test("an object version that is gone: reported before anything runs", async () => {
  await using world = await startReplayWorld(folder, "gone");
  await world.put("in/a.csv", { a1: 1 });
  await world.put("in/b.csv", { b1: 1 });
  const { endpoint } = world.dev;
  const present = await openAwsObjects({ endpoint, cloud: null });
  const objects: ObjectSource = {
    open: async (pin, signal) =>
      pin.key === "in/a.csv" ? { kind: "missing" } : await present.open(pin, signal),
  };
  await using replays = await world.replays(ordersPipeline(1), { objects });
  const request = world.request();
  expect((await replays.plan(request)).gone).toMatchObject([{ uri: "s3://orders/in/a.csv" }]);
  await expect(replays.start(request)).rejects.toThrow(
    /^1 object version of the window is gone: s3:\/\/orders\/in\/a.csv .*does not exist any more; skipGone/,
  );
  expect(await replays.list()).toEqual([]);
  const status = await replays.start(request, { skipGone: true });
  expect(status).toMatchObject({ state: "ready", outcome: { committed: 1 } });
  await replays.promote(status.entry.run);
  expect(world.rows()).toEqual(["a1=2", "b1=1"]);
});

test("a version that may not be read: refused with the right that is missing, not skipped", async () => {
  await using world = await startReplayWorld(folder, "forbidden");
  await world.put("in/a.csv", { a1: 1 });
  await world.put("in/b.csv", { b1: 1 });
  const reason = "AccessDenied: not authorized";
  const objects: ObjectSource = { open: async () => ({ kind: "forbidden", reason }) };
  await using replays = await world.replays(ordersPipeline(1), { objects });
  await expect(replays.start(world.request(), { skipGone: true })).rejects.toThrow(
    /^s3:\/\/orders\/in\/a.csv may not be read \(AccessDenied: not authorized\), so it may exist; allow s3:GetObjectVersion on it, and s3:ListBucket on orders, without which/,
  );
  expect(await replays.list()).toEqual([]);
});

test("two replays at once, a drop while it runs, or other code: refused", async () => {
  await using world = await startReplayWorld(folder, "twice");
  // Two events of one object are never in one batch, so the cancel comes between them.
  await world.put("in/a.csv", { a1: 1 });
  await world.put("in/a.csv", { a1: 2 });
  const started = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  let handled = 0;
  const slow = ordersPipeline(1, {
    async handler() {
      handled += 1;
      started.resolve();
      await release.promise;
    },
  });
  await using replays = await world.replays(slow);
  const request = world.request();
  const first = replays.start(request, { concurrency: 1 });
  await started.promise;
  await using others = await world.replays(slow);
  await expect(others.start(request)).rejects.toThrow(/is running; wait for it, or cancel it with/);
  const [running] = await others.list();
  const run = running?.entry.run ?? "";
  expect(running?.state).toBe("running");
  await expect(others.drop(run)).rejects.toThrow(/is running; cancel it first/);
  await expect(others.promote(run)).rejects.toThrow(/is not complete; run it to its end/);
  await others.cancel(run);
  release.resolve();
  const status = await first;
  expect(status).toMatchObject({ state: "cancelled", outcome: { how: "cancelled", committed: 1 } });
  expect(handled).toBe(1);
  await using changed = await world.replays(ordersPipeline(3));
  await expect(changed.resume(run)).rejects.toThrow(/began with other code/);
  const resumed = await others.resume(run);
  expect(resumed).toMatchObject({ state: "ready", outcome: { committed: 2 } });
  expect(handled).toBe(2);
});

test("a record that fails: named, and its replay is not promoted", async () => {
  await using world = await startReplayWorld(folder, "failed");
  await world.put("in/a.csv", { a1: 1 });
  const broken = ordersPipeline(1, {
    retry: { attempts: 1 },
    handler() {
      throw new Error("no luck");
    },
  });
  await using replays = await world.replays(broken);
  const status = await replays.start(world.request());
  expect(status).toMatchObject({
    state: "failed",
    outcome: { failed: 1, failures: [{ uri: "s3://orders/in/a.csv", reason: "no luck" }] },
  });
  await expect(replays.promote(status.entry.run)).rejects.toThrow(/is not complete/);
  expect(world.dev.snapshot().deadLettered ?? 0).toBe(0);
  expect(world.rows()).toEqual(["a1=2"]);
});

test("a handler's own statements: refused by a shadow, run with --into live", async () => {
  await using world = await startReplayWorld(folder, "sql");
  await world.put("in/a.csv", { a1: 1 });
  const own = ordersPipeline(1, {
    retry: { attempts: 1 },
    handler(_: unknown, { sql }: { sql(text: string): void }) {
      sql("DELETE FROM orders");
    },
  });
  await using replays = await world.replays(own);
  const status = await replays.start(world.request());
  expect(status.outcome?.failures[0]?.reason).toMatch(/sql\(\) names live tables/);
  expect(world.rows()).toEqual(["a1=2"]);
  const live = await replays.start(world.request({ into: "live" }));
  expect(live.state).toBe("complete");
  await expect(replays.diff(live.entry.run, 1)).rejects.toThrow(/wrote to the live tables/);
});

test("a full disk while a replay runs: its records are retried until there is space", async ({
  skip,
}) => {
  const disk = mountSmallDisk(join(folder, "disk"), DISK_MB);
  if (disk === null) skip(NO_SMALL_DISK);
  const path = disk?.path ?? "";
  const filler = join(path, "filler");
  try {
    await using world = await startReplayWorld(path, "data");
    await world.put("in/a.csv", { a1: 1 });
    const present = await openAwsObjects({ endpoint: world.dev.endpoint, cloud: null });
    const signal = new AbortController().signal;
    const opened = await present.open(
      { bucket: "orders", key: "in/a.csv", versionId: null, etag: null },
      signal,
    );
    await world.dev.stop();
    let attempts = 0;
    const large = ordersPipeline(1, {
      async handler(_: unknown, { upsert }: { upsert(table: string, row: object): void }) {
        attempts += 1;
        if (attempts === 1) fillDisk(filler);
        for (let row = 0; row < 2_000; row += 1) {
          upsert("orders", { id: `${row}-${"x".repeat(2_000)}`, amount: row });
        }
      },
    });
    const objects: ObjectSource = { open: async () => opened };
    const warnings: string[] = [];
    const log: typeof SILENT.log = (level, message, fields) => {
      if (level !== "warn") return;
      warnings.push(`${message} ${JSON.stringify(fields)}`);
      rmSync(filler, { force: true }); // Once the replay has met the full disk.
    };
    await using replays = await world.replays(large, { objects, telemetry: { ...SILENT, log } });
    const status = await replays.start(world.request());
    expect(status).toMatchObject({ state: "ready", outcome: { committed: 1, failed: 0 } });
    expect(attempts).toBeGreaterThan(1);
    expect(warnings[0]).toMatch(/full/);
    expect(world.rows()).toEqual(["a1=2"]);
    expect(await replays.diff(status.entry.run, 0)).toMatchObject([{ added: 2_000, removed: 1 }]);
  } finally {
    disk?.unmount();
  }
});

test("messages that were not archived: counted, with the setting that keeps them", async () => {
  await using world = await startMessageWorld(
    join(folder, "off"),
    messagesPipeline(2, { archive: undefined }),
  );
  for (const id of ["a", "b"]) await world.send({ id, amount: 1 });
  await using replays = await world.replays(messagesPipeline(1, { archive: undefined }));
  await expect(replays.start(world.request())).rejects.toThrow(
    /^no record to replay in the window .*; left out: 2 messages whose bodies were not kept; archive: \{ bucket \} in the pipeline file keeps them from now on$/,
  );
});

test("an archived message that is gone or altered: reported before anything runs", async () => {
  await using world = await startMessageWorld(join(folder, "altered"), messagesPipeline(2));
  for (const id of ["a", "b", "c"]) await world.send({ id, amount: 1 });
  const [first = "", second = ""] = await world.archived();
  await world.s3.deleteObject({ Bucket: ARCHIVE, Key: first });
  await world.s3.putObject({ Bucket: ARCHIVE, Key: second, Body: "{}" });
  await using replays = await world.replays(messagesPipeline(1));
  const request = world.request();
  const { gone } = await replays.plan(request);
  expect(gone.map(({ reason }) => reason).sort()).toEqual([
    "does not exist any more",
    "was changed: its bytes have another hash",
  ]);
  await expect(replays.start(request)).rejects.toThrow(/^2 messages of the window are gone/);
  expect(await replays.list()).toEqual([]);
  const { state, entry } = await replays.start(request, { skipGone: true });
  expect([state, entry.inputs]).toEqual(["ready", 1]);
  const objects: ObjectSource = { open: async () => ({ kind: "forbidden", reason: "denied" }) };
  await using denied = await world.replays(messagesPipeline(3), { objects });
  await expect(denied.start(world.request(), { skipGone: true })).rejects.toThrow(
    /^s3:\/\/kept\/.* may not be read \(denied\), so it may exist; allow s3:GetObject on it/,
  );
});

test("an archived message that its mask made unreadable: reported as masked, not as gone, before anything runs", async () => {
  interface Card {
    readonly id: string;
    readonly amount: number;
    readonly at: string;
  }
  const eventTimes = (at: (text: string) => string) => ({
    govern: (event: { body?: Card }) => (event.body?.id === "a" ? "mask" : "allow"),
    mask: ["at"],
    source: {
      queue: "orders",
      key: (order: object) => (order as Card).id,
      eventTime: (order: object) => at((order as Card).at),
    },
  });
  const live = messagesPipeline(
    2,
    eventTimes((text) => text),
  );
  await using world = await startMessageWorld(join(folder, "masked"), live);
  const at = "2026-01-01T00:00:00Z";
  for (const id of ["a", "b"]) await world.send({ id, amount: 1, at });
  await using replays = await world.replays(live);
  const request = world.request();
  const { gone } = await replays.plan(request);
  expect(gone).toMatchObject([{ cause: "masked" }]);
  await expect(replays.start(request)).rejects.toThrow(
    /^1 message of the window was archived masked, because of govern, .*: s3:\/\/kept\/.* cannot be read by the present code: .*; let decode, key and eventTime of the pipeline file accept "\*\*\*" in masked fields; skipGone replays the others/,
  );
  expect(await replays.list()).toEqual([]);
  const { state, entry } = await replays.start(request, { skipGone: true });
  expect([state, entry.inputs]).toEqual(["ready", 1]);
  const accepting = eventTimes((text) => (text === "***" ? at : text));
  await using fixed = await world.replays(messagesPipeline(2, accepting));
  expect((await fixed.plan(world.request())).gone).toEqual([]);
});
