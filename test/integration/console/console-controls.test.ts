// The console's controls on a pipeline that runs: pause, retry, replays, and windows of records.
// What they do is what the command line and the ledger say.

import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type RunningDev, startDev } from "../../../src/api/run.ts";
import { summaryOf } from "../../../src/audit/audit-sources.ts";
import { minutes } from "../../../src/core/units.ts";
import { openOperator } from "../../../src/operate/open-operator.ts";
import { consoleClient } from "../../support/console-api-client.ts";
import { eventually } from "../../support/eventually.ts";
import { audit, openReplays } from "../../support/operated.ts";
import { now, ordersPipeline } from "../../support/replay-world.ts";
import { useTemporaryFolder } from "../../support/temporary-folder.ts";

const data = join(useTemporaryFolder("console-controls"), "data");
const ledger = `sqlite:${join(data, "ledger.db")}`;
let broken = false;
let dev: RunningDev;
let api: ReturnType<typeof consoleClient>;

beforeAll(async () => {
  const options = { onLogLine: () => {}, console: { allowActions: true } };
  const usual = ordersPipeline(2);
  const slow = {
    ...usual,
    retry: { ...usual.retry, baseMs: minutes(30), capMs: minutes(30) },
    handler: async (...given: Parameters<typeof usual.handler>) => {
      if (broken) throw new Error("the sink is down");
      await usual.handler(...given);
    },
  };
  dev = await startDev(slow, { data, port: 0, metricsPort: 0 }, options);
  api = consoleClient(dev.endpoint);
  for (const [key, amount] of [
    ["in/a.csv", 1],
    ["in/b.csv", 2],
  ] as const) {
    await dev.put(key, `id,amount\n${key},${amount}\n`);
  }
  await eventually(() => expect(dev.snapshot().committed).toBe(2));
});

afterAll(async () => {
  await dev?.stop();
});

test("a pause from the console is the pause that the command line and the pipeline see", async () => {
  const paused = await api.post("/pipeline/pause", { reason: "sink migration" });
  expect(paused.status).toBe(200);
  await using operator = openOperator({ pipeline: "orders", ledger });
  expect((await operator.control.status())[0]?.paused).toMatchObject({ reason: "sink migration" });
  await eventually(async () => {
    expect(dev.snapshot().paused).not.toBeNull();
    const { body } = await api.call("/flow");
    expect(body.paused).toEqual((await operator.control.status())[0]?.paused);
    expect(body.problems.map(({ id }: { id: string }) => id)).toContain("paused");
  });
  const state = await api.call("/pipeline");
  expect(state.body.processes).toHaveLength(1);
  expect((await api.post("/pipeline/resume", {})).body.paused).toBeNull();
  await eventually(() => expect(dev.snapshot().paused).toBeNull());
  expect((await operator.control.status())[0]?.paused).toBeNull();
});

test("orders with unknown fields or without their confirmation change nothing", async () => {
  expect((await api.post("/pipeline/pause", { because: "x" })).status).toBe(400);
  expect((await api.post("/pipeline/pause", { reason: "x".repeat(501) })).status).toBe(400);
  expect((await api.post("/records/k1:none/retry", {})).status).toBe(404);
  expect((await api.call("/replays/none")).status).toBe(404);
  expect((await api.call("/replays/none/diff")).status).toBe(404);
  expect((await api.post("/replays/none/promote", { confirm: "none" })).status).toBe(404);
  expect((await api.post("/replays/none/drop", { confirm: "other" })).status).toBe(409);
  expect(dev.snapshot().paused).toBeNull();
});

test("a window of event time ends before its end, and its pages neither skip nor repeat", async () => {
  const all = (await api.call("/records")).body.records;
  const [newest, oldest] = all;
  const until = (await api.call(`/records?until=${newest.eventTime}`)).body.records;
  expect(until.every(({ eventTime }: typeof newest) => eventTime < newest.eventTime)).toBe(true);
  const from = `since=${oldest.eventTime}&until=${newest.eventTime + 1}&limit=1`;
  const first = (await api.call(`/records?${from}`)).body;
  await dev.put("in/later.csv", "id,amount\nlater,3\n");
  await eventually(() => expect(dev.snapshot().committed).toBe(3));
  const second = (await api.call(`/records?${from}&cursor=${first.next}`)).body;
  const keys = [...first.records, ...second.records].map(({ key }: typeof newest) => key);
  expect(keys).toEqual([newest.key, oldest.key]);
});

test("a replay is listed, compared, promoted once and dropped, as by the command line", async () => {
  const fixed = ordersPipeline(1);
  const request = { from: 0, to: now(), bucket: null, prefix: null, into: "shadow" } as never;
  await using replays = await openReplays(fixed, { ledger, endpoint: dev.endpoint });
  const { entry } = await replays.start(request);
  const [listed] = (await api.call("/replays")).body.replays;
  expect(listed).toMatchObject({ run: entry.run, state: "ready", inputs: 3 });
  const diff = (await api.call(`/replays/${entry.run}/diff`)).body;
  const [table] = await replays.diff(entry.run, 10);
  expect(diff.tables[0]).toMatchObject({ table: "orders", changed: table?.changed });
  expect(diff.tables[0].samples[0]).toMatchObject({ live: { amount: expect.any(String) } });
  const promote = `/replays/${entry.run}/promote`;
  expect((await api.post(promote, { confirm: "another" })).status).toBe(409);
  expect((await replays.show(entry.run)).state).toBe("ready");
  const promoted = { appliedObjects: 3, keptObjects: 0, messages: 0 };
  expect((await api.post(promote, { confirm: entry.run })).body).toEqual(promoted);
  expect((await replays.show(entry.run)).state).toBe("promoted");
  expect((await api.post(`/replays/${entry.run}/drop`, { confirm: entry.run })).status).toBe(200);
  expect((await api.call("/replays")).body.replays).toEqual([]);
});

test("an audit is listed and shown as the command line stored it, and an unknown one is not", async () => {
  expect((await api.call("/audits")).body).toEqual({ audits: [], next: null });
  const statements = [
    await audit(ordersPipeline(2), { ledger, endpoint: dev.endpoint }, { graceMs: 0 }),
    await audit(ordersPipeline(2), { ledger, endpoint: dev.endpoint }, { graceMs: 0 }),
  ];
  const [newest, oldest] = statements.map(summaryOf).toReversed();
  const first = (await api.call("/audits?limit=1")).body;
  expect(first.audits).toEqual([newest]);
  const second = (await api.call(`/audits?limit=1&cursor=${first.next}`)).body;
  expect(second).toEqual({ audits: [oldest], next: null });
  expect((await api.call(`/audits/${newest?.id}`)).body).toEqual(newest);
  expect((await api.call("/audits/none")).status).toBe(404);
});

test("a record that waits for its backoff is tried at once; a committed one is left alone", async () => {
  broken = true;
  await dev.put("in/waits.csv", "id,amount\nwaits,5\n");
  const retry = ({ key }: { key: string }) =>
    api.post(`/records/${encodeURIComponent(key)}/retry`, {});
  const waiting = await eventually(async () => {
    const [record] = (await api.call("/records?outcome=retrying")).body.records;
    expect(record?.name).toBe("s3://orders/in/waits.csv");
    return record;
  });
  broken = false;
  expect((await retry(waiting)).body).toMatchObject({
    outcome: "retried",
    queue: expect.any(String),
  });
  await eventually(() => expect(dev.snapshot().committed).toBe(4));
  expect((await retry(waiting)).body).toMatchObject({ outcome: "committed", queue: null });
});
