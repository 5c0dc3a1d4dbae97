// What a replay refuses, one sentence each, and that nothing is lost by it.

import { expect, test } from "vitest";
import { epochMs } from "../../../src/core/units.ts";
import type { ObjectSource } from "../../../src/ports/object-source.ts";
import { openAwsObjects } from "../../../src/run/open/aws-environment.ts";
import { ordersPipeline, startReplayWorld } from "../../support/replay-world.ts";
import { useTemporaryFolder } from "../../support/temporary-folder.ts";

const folder = useTemporaryFolder("bad-replays");

test("a window, run or sink that cannot be replayed: refused with one sentence", async () => {
  await using world = await startReplayWorld(folder, "refused");
  await world.put("in/a.csv", { a1: 1 });
  await using replays = await world.replays(ordersPipeline(1));
  const { to } = world.request();
  const at = (ms: number) => epochMs(to + ms);
  const start = (more: object) => replays.start(world.request(more));

  await expect(start({ from: at(1), to })).rejects.toThrow(
    /^--from .* is after --to .*; swap them$/,
  );
  await expect(start({ from: to, to })).rejects.toThrow(
    /^the window .* is empty; --to is exclusive$/,
  );
  await expect(start({ to: at(86_400_000) })).rejects.toThrow(/^--to .* is in the future; choose/);
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
  const present = await openAwsObjects({ endpoint });
  const objects: ObjectSource = {
    open: async (pin, signal) =>
      pin.key === "in/a.csv" ? { kind: "missing" } : await present.open(pin, signal),
  };
  await using replays = await world.replays(ordersPipeline(1), { objects });
  const request = world.request();
  expect((await replays.plan(request)).gone).toMatchObject([{ uri: "s3://orders/in/a.csv" }]);
  await expect(replays.start(request)).rejects.toThrow(
    /^1 object versions of the window are gone: s3:\/\/orders\/in\/a.csv .*does not exist any more; --skip-gone/,
  );
  expect(await replays.list()).toEqual([]);
  const status = await replays.start(request, { skipGone: true });
  expect(status).toMatchObject({ state: "ready", outcome: { committed: 1 } });
  await replays.promote(status.entry.run);
  expect(world.rows()).toEqual(["a1=2", "b1=1"]);
});

test("two replays at once, a drop while it runs, or other code: refused", async () => {
  await using world = await startReplayWorld(folder, "twice");
  await world.put("in/a.csv", { a1: 1 });
  await world.put("in/b.csv", { b1: 1 });
  const started = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const slow = ordersPipeline(1, {
    async handler() {
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
  expect(["cancelled", "ready"]).toContain(status.state);
  if (status.state === "ready") return; // The last batch had begun.
  await using changed = await world.replays(ordersPipeline(3));
  await expect(changed.resume(run)).rejects.toThrow(/began with other code/);
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
