// Operations on objects that run in one batch: each sees what those before it did, listings too.

import { expect, test } from "vitest";
import { EngineBench } from "../../../test/support/broker/engine-bench.ts";
import type { Result } from "../../core/result.ts";
import type { S3Fault } from "../model/s3/s3-fault.ts";
import type { Origin, S3Value } from "../model/s3/s3-operations.ts";
import type { Broker } from "./broker.ts";

const ORIGIN: Origin = {
  requestId: "R",
  hostId: "H",
  sourceIp: "127.0.0.1",
  url: "http://localhost",
  principalId: "AWS:X",
  ownerId: "A",
  eventVersion: "2.6",
  eventBridgeQueue: null,
};
const DETAIL = JSON.stringify({ headers: {}, metadata: {}, checksum: null, tags: {} });

function put(broker: Broker, key: string, blob: string, ifAbsent = false) {
  return broker.submit("putObject", {
    bucket: "bucket",
    key,
    event: "Put",
    pieces: [{ blob, sizeBytes: 1 }],
    etag: blob,
    storageClass: "STANDARD",
    detail: DETAIL,
    conditions: { ifMatch: null, ifAbsent },
    origin: ORIGIN,
  });
}

function list(broker: Broker) {
  const input = { bucket: "bucket", prefix: "", delimiter: "", after: "", limit: 100 };
  return broker.submit("listObjects", input);
}

/** The value of a result; throws if the operation was refused. */
async function successOf<T>(answer: Promise<unknown>): Promise<T> {
  const result = (await answer) as Result<T, S3Fault>;
  if (!result.ok) throw new Error(JSON.stringify(result.fault));
  return result.value;
}

async function open() {
  const bench = await EngineBench.open();
  const tags = null;
  await bench.broker.submit("createBucket", { bucket: "bucket", region: "us-east-1", tags });
  return bench;
}

test("puts of one key in one batch replace each other, and each drops the one before", async () => {
  const { broker, store } = await open();
  const before = store.commits.length;
  const puts = ["a", "b", "c"].map((blob) => put(broker, "k", blob));
  const dropped = [];
  for (const each of puts) dropped.push((await successOf<S3Value<"putObject">>(each)).dropped);
  expect(store.commits.length - before).toBe(1);
  expect(dropped).toEqual([[], ["a"], ["b"]]);
  const { entries } = await successOf<S3Value<"listObjects">>(list(broker));
  expect(entries.map(({ etag }) => etag)).toEqual(["c"]);
  await broker.close();
});

test("of several puts in one batch that require a new key, only the first succeeds", async () => {
  const { broker } = await open();
  const outcomes = await Promise.all(["a", "b", "c"].map((blob) => put(broker, "k", blob, true)));
  const accepted = outcomes.map((outcome) => outcome.ok);
  expect(accepted).toEqual([true, false, false]);
  await broker.close();
});

test("a listing that arrives with puts sees those before it, and none after", async () => {
  const { broker } = await open();
  const first = put(broker, "a", "1");
  const listing = list(broker);
  const second = put(broker, "b", "2");
  await Promise.all([first, second]);
  const { entries } = await successOf<S3Value<"listObjects">>(listing);
  expect(entries.map(({ key }) => key)).toEqual(["a"]);
  await broker.close();
});

test("an object put and deleted in one batch is gone for later operations", async () => {
  const { broker } = await open();
  const entry = { key: "k", version: null, ifMatch: null };
  void put(broker, "k", "1");
  const gone = broker.submit("deleteObjects", {
    bucket: "bucket",
    entries: [entry],
    origin: ORIGIN,
  });
  const object = await broker.submit("findObject", { bucket: "bucket", key: "k", version: null });
  expect((await successOf<S3Value<"deleteObjects">>(gone)).dropped).toEqual(["1"]);
  expect(object.ok).toBe(false);
  await broker.close();
});
