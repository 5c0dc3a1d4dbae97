// The contract of queues: what a consumer relies on, on every queue. queue.<adapter>.test.ts binds
// it to the embedded queue, in process and through the AWS SDK over HTTP. Time is virtual, so that
// visibility timeouts pass without waiting.

import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { SendEntry } from "../../src/broker/model/operations.ts";
import { startCloud, type VirtualCloud } from "../../src/cloud/start-cloud.ts";
import { durationMs, hours, minutes, seconds } from "../../src/core/units.ts";
import type { OutgoingMessage } from "../../src/ports/queue.ts";
import type { Delivery, Queue } from "../../src/ports/queue-receiver.ts";

export interface QueueBinding {
  readonly name: string;
  /** The queue with that name or ARN in the given cloud. */
  open(cloud: VirtualCloud, queue: string): Promise<Queue>;
}

const ARN = "arn:aws:sqs:us-east-1:000000000000:";
const FIFO = { FifoQueue: "true" };
const DEAD_AFTER_ONE = { deadLetterTargetArn: `${ARN}dead`, maxReceiveCount: 1 };
const QUEUES: readonly [name: string, attributes: Record<string, string>][] = [
  ["orders", {}],
  ["orders.fifo", FIFO],
  ["dead", { MessageRetentionPeriod: "1209600" }],
  [
    "strict",
    { ReceiveMessageWaitTimeSeconds: "20", RedrivePolicy: JSON.stringify(DEAD_AFTER_ONE) },
  ],
];
const target = { queue: "orders" };
const never = new AbortController().signal;

const message = (body: string, more: Partial<OutgoingMessage> = {}): OutgoingMessage => ({
  body,
  attributes: {},
  groupId: null,
  dedupId: null,
  ...more,
});
const inGroup = (body: string) => message(body, { groupId: "g", dedupId: body });
const bodies = (deliveries: readonly Delivery[]) => deliveries.map(({ body }) => body).toSorted();
const kinds = (outcomes: readonly { readonly kind: string }[]) => outcomes.map(({ kind }) => kind);

export function describeQueue(binding: QueueBinding): void {
  describe(`a queue ${binding.name}`, () => {
    let cloud: VirtualCloud;
    let queue: Queue;

    beforeEach(async () => {
      cloud = await startCloud({ clock: "virtual" });
      for (const [name, attributes] of QUEUES) {
        const made = await cloud.broker.submit("createQueue", { name, attributes, tags: {} });
        expect(made.ok).toBe(true);
      }
      queue = await binding.open(cloud, "orders");
    });
    afterEach(() => cloud.close());

    const receive = (from: Queue = queue, visibilityMs = seconds(30), max = 10) =>
      from.receive({ max, waitMs: durationMs(0), visibilityMs }, never);
    const receiveOne = async (from: Queue = queue) => {
      const [delivery] = await receive(from, seconds(30), 1);
      if (delivery === undefined) throw new Error("the queue has no message");
      return delivery;
    };

    test("a delivery has everything that the sender and the queue know about the message", async () => {
      const [sent] = await queue.sendBatch([
        message("a", {
          attributes: { traceparent: "00-1-2-01", tracestate: "x=1" },
          groupId: "t1",
        }),
      ]);
      expect(sent).toMatchObject({ kind: "sent" });
      expect(await receiveOne()).toEqual({
        messageId: sent?.kind === "sent" ? sent.messageId : "",
        receipt: expect.stringMatching(/.+/),
        body: "a",
        attributes: { traceparent: "00-1-2-01", tracestate: "x=1" },
        traceHeader: null,
        groupId: "t1",
        dedupId: null,
        sentAt: cloud.clock.now(),
        receiveCount: 1,
        movedFrom: null,
      });
    });

    test("a delivery has the trace header, and omits attributes that are not text", async () => {
      const entry: SendEntry = {
        body: "a",
        sizeBytes: 40,
        groupId: null,
        dedupId: null,
        delayMs: null,
        traceHeader: "Root=1-5759e988-bd862e3fe1be46a994272793",
        attributes: {
          count: { type: "Number.int", value: "7" },
          raw: { type: "Binary", value: "AAEC" },
        },
      };
      const input = { queue: "orders", entries: [entry], batch: false };
      expect((await cloud.broker.submit("send", input)).ok).toBe(true);
      expect(await receiveOne()).toMatchObject({
        traceHeader: "Root=1-5759e988-bd862e3fe1be46a994272793",
        attributes: { count: "7" },
      });
    });

    test("a message is hidden for the requested time, then another receive gets it", async () => {
      await queue.sendBatch([message("a")]);
      const [first] = await receive(queue, durationMs(1_500));
      await cloud.clock.advance(1_499);
      expect(await receive()).toEqual([]);
      await cloud.clock.advance(501); // SQS supports whole seconds only.
      const second = await receiveOne();
      expect(second).toMatchObject({ messageId: first?.messageId, receiveCount: 2 });
      expect(second.receipt).not.toBe(first?.receipt);
    });

    test("a receive returns at most the requested number of messages, and at most ten", async () => {
      const all = Array.from({ length: 12 }, (_, at) => message(String(at)));
      await queue.sendBatch(all.slice(0, 10));
      await queue.sendBatch(all.slice(10));
      expect(await receive(queue, seconds(30), 3)).toHaveLength(3);
      const more = [...(await receive(queue, seconds(30), 50)), ...(await receive())];
      expect(more).toHaveLength(9);
    });

    test("a change of visibility counts from now; zero makes the message visible immediately", async () => {
      await queue.sendBatch([message("kept"), message("freed")]);
      const deliveries = await receive();
      const changes = deliveries.map(({ receipt, body }) => {
        return { receipt, visibilityMs: body === "kept" ? seconds(60) : seconds(0) };
      });
      expect(kinds(await queue.changeVisibility(changes))).toEqual(["done", "done"]);
      expect(bodies(await receive(queue, seconds(0)))).toEqual(["freed"]);
      await cloud.clock.advance(59_999);
      expect(bodies(await receive(queue, seconds(0)))).toEqual(["freed"]);
      await cloud.clock.advance(1);
      expect(bodies(await receive())).toEqual(["freed", "kept"]);
    });

    test("a deleted message is gone permanently, and deleting it again is safe", async () => {
      await queue.sendBatch([message("a"), message("b")]);
      const receipts = (await receive()).map(({ receipt }) => receipt);
      expect(kinds(await queue.deleteBatch(receipts))).toEqual(["done", "done"]);
      expect(kinds(await queue.deleteBatch(receipts))).toEqual(["done", "done"]);
      await cloud.clock.advance(minutes(5));
      expect(await receive()).toEqual([]);
    });

    test("settlements are answered one by one, in request order", async () => {
      await queue.sendBatch([message("a"), message("b"), message("c")]);
      const [a, b, c] = (await receive()).map(({ receipt }) => receipt) as [string, string, string];
      const deleted = await queue.deleteBatch([a, "garbage", b]);
      expect(kinds(deleted)).toEqual(["done", "gone", "done"]);
      const visibilityMs = seconds(30);
      const changed = await queue.changeVisibility(
        [c, "garbage", a].map((receipt) => ({ receipt, visibilityMs })),
      );
      expect(kinds(changed)).toEqual(["done", "gone", "gone"]);
      const reasons = changed.map((outcome) => ("reason" in outcome ? outcome.reason : ""));
      expect(reasons[2]).toMatch(/does not exist/);
      expect(reasons[2]).not.toContain(a);
    });

    test("a receipt of a FIFO queue is gone once its timeout expired", async () => {
      const fifo = await binding.open(cloud, "orders.fifo");
      expect(fifo.fifo).toBe(true);
      await fifo.sendBatch([inGroup("a"), inGroup("b")]);
      const [a, b] = (await receive(fifo)).map(({ receipt }) => receipt) as [string, string];
      await cloud.clock.advance(seconds(30));
      expect(kinds(await fifo.deleteBatch([a, b]))).toEqual(["gone", "gone"]);
      const again = await receive(fifo);
      expect(again.map(({ body, groupId }) => [body, groupId])).toEqual([
        ["a", "g"],
        ["b", "g"],
      ]);
      const changes = [{ receipt: a, visibilityMs: seconds(30) }];
      expect(kinds(await fifo.changeVisibility(changes))).toEqual(["gone"]);
    });

    test("hiding a message beyond twelve hours fails and does not change its timeout", async () => {
      await queue.sendBatch([message("a")]);
      const { receipt } = await receiveOne();
      await cloud.clock.advance(seconds(20));
      const beyond = await queue.changeVisibility([{ receipt, visibilityMs: hours(12) }]);
      expect(kinds(beyond)).toEqual(["failed"]);
      await cloud.clock.advance(seconds(10));
      expect(bodies(await receive())).toEqual(["a"]);
    });

    test("a waiting receive is answered as soon as a message arrives", async () => {
      const waiting = queue.receive(
        { max: 10, waitMs: seconds(20), visibilityMs: seconds(30) },
        never,
      );
      await cloud.clock.advance(seconds(5));
      await queue.sendBatch([message("a")]);
      expect(bodies(await waiting)).toEqual(["a"]);
    });

    test("an aborted receive resolves immediately, without messages", async () => {
      const stop = new AbortController();
      const request = { max: 10, waitMs: seconds(20), visibilityMs: seconds(30) };
      const waiting = queue.receive(request, stop.signal);
      stop.abort();
      expect(await waiting).toEqual([]);
      expect(await queue.receive(request, stop.signal)).toEqual([]);
    });

    test("the facts contain the queue's settings and message counts", async () => {
      const strict = await binding.open(cloud, "strict");
      await strict.sendBatch([message("a"), message("b")]);
      await receive(strict, seconds(30), 1);
      const { oldestSentAt, ...facts } = await strict.facts();
      if (oldestSentAt !== undefined) expect(oldestSentAt).toBe(cloud.clock.now());
      expect(facts).toEqual({
        arn: `${ARN}strict`,
        visibilityMs: seconds(30),
        retentionMs: 4 * hours(24),
        waitMs: seconds(20),
        messageBytesMax: 1_048_576,
        redrive: { deadLetterArn: `${ARN}dead`, maxReceiveCount: 1 },
        visible: 1,
        hidden: 1,
        delayed: 0,
      });
      expect((await queue.facts()).redrive).toBeNull();
    });

    test("a queue permanently rejects a message larger than its facts allow", async () => {
      const attributes = { MaximumMessageSize: "4096" };
      await cloud.broker.submit("setQueueAttributes", { ...target, attributes });
      expect(await queue.facts()).toMatchObject({ messageBytesMax: 4_096 });
      const [refused] = await queue.sendBatch([message("x".repeat(4_097))]);
      expect(refused).toMatchObject({ kind: "refused", retry: "never" });
      expect(kinds(await queue.sendBatch([message("x".repeat(4_096))]))).toEqual(["sent"]);
    });

    test("a delivery from a FIFO queue has the deduplication id it was sent with", async () => {
      const fifo = await binding.open(cloud, "orders.fifo");
      await fifo.sendBatch([inGroup("a")]);
      expect(await receiveOne(fifo)).toMatchObject({ groupId: "g", dedupId: "a" });
    });

    test("a message that SQS moved names its source queue, which opens by ARN", async () => {
      const strict = await binding.open(cloud, "strict");
      const dead = await binding.open(cloud, `${ARN}dead`);
      expect(dead.name).toBe("dead");
      await strict.sendBatch([message("a")]);
      await receive(strict, seconds(0));
      expect(await receive(strict)).toEqual([]);
      expect(await receiveOne(dead)).toMatchObject({ body: "a", movedFrom: `${ARN}strict` });
    });

    test("a deleted queue rejects calls; one with an injected fault is unavailable", async () => {
      await queue.sendBatch([message("a")]);
      const { receipt } = await receiveOne();
      const renew = () => queue.changeVisibility([{ receipt, visibilityMs: seconds(30) }]);
      const calls = [() => receive(), () => queue.deleteBatch([receipt]), renew, queue.facts];
      for (const kind of ["unavailable", "throttle"] as const) {
        cloud.broker.faults.put({ kind, target, probability: 1 });
        for (const call of calls) {
          await expect(call()).rejects.toMatchObject({ code: "TG_QUEUE_UNAVAILABLE" });
        }
        cloud.broker.faults.clear();
      }
      expect((await cloud.broker.submit("deleteQueue", { queue: "orders" })).ok).toBe(true);
      for (const call of calls) {
        await expect(call()).rejects.toMatchObject({ code: "TG_QUEUE_REFUSED" });
      }
    });

    test("a settlement whose response was lost was carried out, and is safe to repeat", async () => {
      await queue.sendBatch([message("a")]);
      const { receipt } = await receiveOne();
      const kind = "drop-acknowledgement";
      cloud.broker.faults.put({ kind, target, probability: 1 });
      await expect(queue.deleteBatch([receipt])).rejects.toMatchObject({
        code: "TG_QUEUE_UNAVAILABLE",
      });
      cloud.broker.faults.clear();
      expect((await queue.facts()).hidden).toBe(0);
      expect(kinds(await queue.deleteBatch([receipt]))).toEqual(["done"]);
    });
  });
}
