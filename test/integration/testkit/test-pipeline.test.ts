import { gzipSync } from "node:zlib";
import { GetObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { expect, test } from "vitest";
import { z } from "zod";
import orders from "../../../examples/orders.ts";
import { startTestPipeline } from "../../../src/api/testkit.ts";
import { PermanentError, pipeline, RetryLater, tables } from "../../../src/index.ts";

test("objects become rows of tables(), each once", async () => {
  await using t = await startTestPipeline(orders);
  await t.put("orders/1.csv", "id,amount\n7,9.50\n8,1\n");
  await t.put("orders/1.csv", "id,amount\n7,9.50\n8,2\n");
  await t.put("orders/2.csv.gz", gzipSync("id,amount\n9,3\n"));
  await t.put("elsewhere/3.csv", "id,amount\n10,3\n");
  await t.idle();
  expect(t.rows("orders")).toEqual([
    { id: "7", amount: 9.5 },
    { id: "8", amount: 2 },
    { id: "9", amount: 3 },
  ]);
  expect(t.snapshot()).toMatchObject({ committed: 3, deadLettered: 0 });
  await t.remove("orders/1.csv");
  await t.idle();
  expect(t.rows("orders")).toHaveLength(3); // A removal is ignored by default.
  expect(() => t.rows("order")).toThrow('unknown table "order"; the pipeline has orders');
});

test("a file that fails for good is dead-lettered, and redriven after the fix", async () => {
  let broken = true;
  const picky = pipeline({
    name: "picky",
    source: { bucket: "shop" },
    format: "csv",
    sink: tables({ item: { columns: { id: "text", sold: "boolean" }, key: ["id"] } }),
    async handler(file, { upsert }) {
      if (broken) throw new PermanentError("not today", { class: "mood" });
      for await (const { id = "" } of file.rows()) upsert("item", { id, sold: true });
    },
  });
  await using t = await startTestPipeline(picky);
  await t.put("a.csv", "id\n1\n");
  await t.idle();
  expect(await t.deadLetters()).toMatchObject([{ class: "mood", object: "s3://shop/a.csv" }]);
  expect(await t.deadLetters({ class: "other" })).toEqual([]);
  broken = false;
  expect(await t.redrive()).toMatchObject({ sent: 1, committed: 1 });
  expect(t.rows("item")).toEqual([{ id: "1", sold: true }]);
  expect(await t.deadLetters()).toEqual([]);
});

test("retries of hours take no real time, and their delays are kept in virtual time", async () => {
  const triedAt: number[] = [];
  const later = pipeline({
    name: "later",
    source: { queue: "events" },
    handler(event, { emit, attempt }) {
      triedAt.push(t.cloud.clock.now());
      if (attempt < 3) throw new RetryLater(3_600_000);
      emit(event.payload);
    },
    sink() {
      throw new Error("a test pipeline does not call the sink function");
    },
  });
  await using t = await startTestPipeline(later);
  await t.send({ payload: { id: 1 } });
  await t.idle();
  expect(t.effects()).toEqual([{ id: 1 }]);
  expect(triedAt.slice(1).map((at, n) => Math.round((at - (triedAt[n] ?? 0)) / 60_000))).toEqual([
    60, 60,
  ]);
});

test("equal payloads are duplicates; another dedupeKey makes another event", async () => {
  let runs = 0;
  const counted = pipeline({
    name: "counted",
    source: { queue: "counted.fifo" },
    handler() {
      runs += 1;
    },
  });
  await using t = await startTestPipeline(counted);
  await t.send({ payload: { id: 1 } });
  await t.advance(600_000); // The deduplication window of the queue is over.
  await t.send({ payload: { id: 1 } });
  await t.send({ payload: { id: 1 }, dedupeKey: "again", group: "other" });
  await t.idle();
  expect(runs).toBe(2);
  expect(t.snapshot()).toMatchObject({ committed: 2, duplicates: 1 });
});

test("a handler that never returns is aborted at its deadline, and time moves on", async () => {
  const stuck = pipeline({
    name: "stuck",
    source: { queue: "stuck" },
    timeoutMs: 60_000,
    retry: { attempts: 2 },
    handler: (_event, { signal }) =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
  });
  await using t = await startTestPipeline(stuck);
  await t.send({ payload: {} });
  await t.idle();
  expect(await t.deadLetters()).toHaveLength(1);
});

test("a short deadline does not pass while a handler does real work", async () => {
  const slow = pipeline({
    name: "slow",
    source: { queue: "slow" },
    timeoutMs: 5,
    retry: { attempts: 1 },
    handler: () => new Promise<void>((resolve) => setTimeout(resolve, 100)),
  });
  await using t = await startTestPipeline(slow);
  await t.send({ payload: {} });
  await t.idle();
  expect(t.snapshot()).toMatchObject({ committed: 1, deadLettered: 0 });
});

test("a FIFO group that halts behind a dead letter counts as idle", async () => {
  const handled: unknown[] = [];
  const halting = pipeline({
    name: "halting",
    source: { queue: "halting.fifo" },
    handler({ payload }) {
      handled.push(payload.id);
      if (payload.id === 1) throw new PermanentError("no");
    },
  });
  await using t = await startTestPipeline(halting);
  for (const id of [1, 2]) await t.send({ payload: { id } });
  await t.send({ payload: { id: 3 }, group: "other" });
  await t.idle();
  expect(handled.toSorted()).toEqual([1, 3]);
  expect(await t.deadLetters()).toHaveLength(1);
});

test("AWS clients reach the cloud of a test pipeline", async () => {
  await using t = await startTestPipeline(orders);
  await t.put("orders/1.csv", "id,amount\n");
  const credentials = { accessKeyId: "any", secretAccessKey: "any" };
  const { endpoint } = t.cloud;
  const s3 = new S3Client({ endpoint, region: "us-east-1", credentials, forcePathStyle: true });
  const { Body } = await s3.send(new GetObjectCommand({ Bucket: "shop", Key: "orders/1.csv" }));
  expect(await Body?.transformToString()).toBe("id,amount\n");
  s3.destroy();
});

test("an input that the pipeline does not accept is rejected with the fix", async () => {
  const events = pipeline({ name: "events", source: { queue: "events" }, handler: () => {} });
  await using t = await startTestPipeline(events);
  await expect(t.put("a.csv", "")).rejects.toThrow('"events" has no bucket; feed it with send()');
  await expect(t.send({ payload: {}, source: "no" })).rejects.toThrow("breaks the contract");
  expect(() => t.rows("any")).toThrow("the pipeline's sink is not tables()");
  expect(t.effects()).toEqual([]);
});

test("a row that breaks the schema is reported with its line in the file", async () => {
  const strict = pipeline({
    name: "strict",
    source: { bucket: "shop" },
    schema: z.object({ id: z.string().regex(/^\d+$/), amount: z.coerce.number() }),
    csv: { delimiter: ";", encoding: "windows-1252", skipLines: 1, decimalComma: ["amount"] },
    sink: tables({ item: { columns: { id: "text", amount: "real" }, key: ["id"] } }),
    async handler(file, { upsert }) {
      for await (const row of file.rows()) upsert("item", row);
    },
  });
  await using t = await startTestPipeline(strict);
  await t.put("good.csv", 'Report\r\nid;amount\r\n1;"1.234,5"\r\n');
  await t.put("bad.csv", 'Report\r\nid;amount\r\n1;"1,5"\r\n\r\nx;2\r\n');
  await t.idle();
  expect(t.rows("item")).toEqual([{ id: "1", amount: 1234.5 }]);
  const [letter] = await t.deadLetters();
  expect(letter?.message).toContain("line 5 breaks the schema: id: ");
});
