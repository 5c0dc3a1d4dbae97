import { expect, test } from "vitest";
import { createBrokerQueue } from "../../../src/cloud/broker-queue.ts";
import { startCloud } from "../../../src/cloud/start-cloud.ts";
import { seconds } from "../../../src/core/units.ts";
import { pipeline } from "../../../src/ingest/spec/define-pipeline.ts";
import { devNames, devSetup } from "../../../src/run/dev/dev-setup.ts";

const handler = () => {};

test("names are derived from the pipeline's name and are valid queue names", () => {
  const named = pipeline({ name: "a.b", source: { bucket: "files", prefix: "in/" }, handler });
  expect(devNames(named)).toEqual({
    bucket: "files",
    topic: "a-b-objects",
    queue: "a-b-events",
    deadLetterQueue: "a-b-dead-letters",
    lateQueue: null,
  });
  const long = pipeline({ name: "x".repeat(128), source: { bucket: "files" }, handler });
  expect(devNames(long).deadLetterQueue.length).toBeLessThanOrEqual(80);
});

test("a queue that the pipeline names keeps its name, and its dead-letter queue has its type", () => {
  const url = "https://sqs.eu-west-1.amazonaws.com/123456789012/orders.fifo";
  const fifo = pipeline({ name: "orders", source: { queue: url }, handler });
  expect(devNames(fifo)).toEqual({
    bucket: null,
    topic: null,
    queue: "orders.fifo",
    deadLetterQueue: "orders-dead-letters.fifo",
    lateQueue: null,
  });
});

test("a bucket that notifies a FIFO queue is rejected", () => {
  const wrong = pipeline({ name: "p", source: { bucket: "b", queue: "q.fifo" }, handler });
  expect(() => devSetup(wrong)).toThrow("S3 cannot notify a FIFO queue");
});

test("maxReceiveCount is far above the attempts, and higher where a FIFO group halts", () => {
  const receives = (spec: { queue: string; attempts?: number; onPoison?: "halt" | "skip" }) => {
    const { queue, attempts = 7, onPoison = "halt" } = spec;
    const made = pipeline({ name: "p", source: { queue }, retry: { attempts }, onPoison, handler });
    return devSetup(made).queues?.at(-1)?.deadLetter?.maxReceiveCount;
  };
  expect(receives({ queue: "q" })).toBe(25);
  expect(receives({ queue: "q", attempts: 40 })).toBe(80);
  expect(receives({ queue: "q.fifo" })).toBe(1_000);
  expect(receives({ queue: "q.fifo", onPoison: "skip" })).toBe(25);
});

test("the embedded cloud accepts the setup, and a put arrives in the queue", async () => {
  const made = pipeline({ name: "p", source: { bucket: "files", prefix: "in/" }, handler });
  await using cloud = await startCloud({ memory: true, setup: devSetup(made) });
  for (const key of ["in/a.csv", "out/b.csv"]) {
    const reply = await fetch(`${cloud.endpoint}/files/${key}`, { method: "PUT", body: "x" });
    expect(reply.status).toBe(200);
  }
  const queue = createBrokerQueue(cloud.broker, { queue: "p-events" });
  const request = { max: 10, waitMs: seconds(0), visibilityMs: seconds(30) };
  const received = await queue.receive(request, new AbortController().signal);
  const bodies = received.map(({ body }) => body);
  expect(bodies.filter((body) => body.includes("in/a.csv"))).toHaveLength(1);
  expect(bodies.filter((body) => body.includes("out/b.csv"))).toHaveLength(0);
});
