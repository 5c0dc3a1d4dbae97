// Queue checks: what a consumer relies on, asked of a foreign server through our adapter. The
// contract in test/contracts/queue.ts asks the same in virtual time; here nothing waits.

import type { SQS } from "@aws-sdk/client-sqs";
import { expect } from "vitest";
import { openSqsQueue } from "../../../src/aws/sqs/open-sqs-queue.ts";
import { days, durationMs, minutes, seconds } from "../../../src/core/units.ts";
import type { OutgoingMessage } from "../../../src/ports/queue.ts";
import type { Delivery, Queue } from "../../../src/ports/queue-receiver.ts";

/** A queue with its dead-letter queue, both new. */
export interface CheckedQueues {
  readonly queue: Queue;
  readonly dead: Queue;
  readonly fifo: Queue;
  /** Opens a queue by its name. */
  open(name: string): Promise<Queue>;
}

const never = new AbortController().signal;
const TRACE = "00-5759e988bd862e3fe1be46a994272793-53995c3f42cd8ad8-01";

const message = (body: string, more: Partial<OutgoingMessage> = {}): OutgoingMessage => ({
  body,
  attributes: {},
  groupId: null,
  dedupId: null,
  ...more,
});
const inGroup = (body: string) => message(body, { groupId: "g", dedupId: body });
const kinds = (outcomes: readonly { readonly kind: string }[]) => outcomes.map(({ kind }) => kind);
const bodies = (deliveries: readonly Delivery[]) => deliveries.map(({ body }) => body).toSorted();
const receive = (from: Queue, visibilityMs = seconds(30)) =>
  from.receive({ max: 10, waitMs: durationMs(0), visibilityMs }, never);

async function receiveOne(from: Queue, visibilityMs = seconds(30)): Promise<Delivery> {
  const [delivery] = await receive(from, visibilityMs);
  if (delivery === undefined) throw new Error("the queue has no message");
  return delivery;
}

let created = 0;

export async function createCheckedQueues(sqs: SQS): Promise<CheckedQueues> {
  created += 1;
  const create = async (QueueName: string, Attributes: Record<string, string>) => {
    const { QueueUrl } = await sqs.createQueue({ QueueName, Attributes });
    return QueueUrl ?? "";
  };
  const deadUrl = await create(`dead-${created}`, { MessageRetentionPeriod: "1209600" });
  const request = { QueueUrl: deadUrl, AttributeNames: ["QueueArn" as const] };
  const deadLetterTargetArn = (await sqs.getQueueAttributes(request)).Attributes?.QueueArn;
  const RedrivePolicy = JSON.stringify({ deadLetterTargetArn, maxReceiveCount: 2 });
  await create(`checked-${created}`, { ReceiveMessageWaitTimeSeconds: "20", RedrivePolicy });
  await create(`checked-${created}.fifo`, { FifoQueue: "true" });
  const open = (queue: string) => openSqsQueue({ client: sqs, queue });
  return {
    queue: await open(`checked-${created}`),
    dead: await open(deadLetterTargetArn ?? ""),
    fifo: await open(`checked-${created}.fifo`),
    open,
  };
}

/** By the guarantee that a check holds the server to. */
export const QUEUE_CHECKS: Readonly<Record<string, (queues: CheckedQueues) => Promise<void>>> = {
  "a delivery has body, text attributes, sent time and receive count": async ({ queue }) => {
    const before = Date.now() - minutes(1);
    const [sent] = await queue.sendBatch([message("ä", { attributes: { kind: "order" } })]);
    const delivery = await receiveOne(queue);
    const messageId = sent?.kind === "sent" ? sent.messageId : "";
    expect(delivery).toMatchObject({ body: "ä", attributes: { kind: "order" }, messageId });
    expect(delivery).toMatchObject({ receiveCount: 1, movedFrom: null, dedupId: null });
    expect(delivery.sentAt).toBeGreaterThan(before);
  },
  "a delivery has the trace header it was sent with": async ({ queue }) => {
    await queue.sendBatch([message("a", { attributes: { traceparent: TRACE } })]);
    const { traceHeader } = await receiveOne(queue);
    expect(traceHeader).toContain("Root=1-5759e988-bd862e3fe1be46a994272793");
  },
  "a change of visibility to zero makes the message visible at once": async ({ queue }) => {
    await queue.sendBatch([message("kept"), message("freed")]);
    const deliveries = await receive(queue);
    expect(bodies(deliveries)).toEqual(["freed", "kept"]);
    const changes = deliveries.map(({ receipt, body }) => {
      return { receipt, visibilityMs: seconds(body === "kept" ? 60 : 0) };
    });
    expect(kinds(await queue.changeVisibility(changes))).toEqual(["done", "done"]);
    expect(await receiveOne(queue)).toMatchObject({ body: "freed", receiveCount: 2 });
  },
  "a deleted message is gone": async ({ queue }) => {
    await queue.sendBatch([message("a"), message("b")]);
    const receipts = (await receive(queue)).map(({ receipt }) => receipt);
    expect(kinds(await queue.deleteBatch(receipts))).toEqual(["done", "done"]);
    expect(await queue.facts()).toMatchObject({ visible: 0, hidden: 0 });
  },
  "a message can be deleted again": async ({ queue }) => {
    await queue.sendBatch([message("a")]);
    const { receipt } = await receiveOne(queue);
    expect(kinds(await queue.deleteBatch([receipt]))).toEqual(["done"]);
    expect(kinds(await queue.deleteBatch([receipt]))).toEqual(["done"]);
  },
  "an unknown receipt fails alone, not with its batch": async ({ queue }) => {
    await queue.sendBatch([message("a"), message("b")]);
    const [a = "", b = ""] = (await receive(queue)).map(({ receipt }) => receipt);
    expect(kinds(await queue.deleteBatch([a, "garbage", b]))).toEqual(["done", "gone", "done"]);
  },
  "renewing a deleted message reports it as gone": async ({ queue }) => {
    await queue.sendBatch([message("a")]);
    const { receipt } = await receiveOne(queue);
    await queue.deleteBatch([receipt]);
    const changes = [{ receipt, visibilityMs: seconds(30) }];
    expect(kinds(await queue.changeVisibility(changes))).toEqual(["gone"]);
  },
  "the facts have ARN, redrive policy, waiting time and counts": async ({ queue, dead }) => {
    await queue.sendBatch([message("a"), message("b")]);
    const [first] = await queue.receive(
      { max: 1, waitMs: durationMs(0), visibilityMs: seconds(30) },
      never,
    );
    expect(first).toBeDefined();
    const deadLetterArn = (await dead.facts()).arn;
    expect(deadLetterArn).toMatch(/^arn:aws:sqs:us-east-1:\d{12}:dead-\d+$/);
    expect(await queue.facts()).toMatchObject({
      arn: expect.stringMatching(/^arn:aws:sqs:us-east-1:\d{12}:checked-\d+$/),
      waitMs: seconds(20),
      redrive: { deadLetterArn, maxReceiveCount: 2 },
      visible: 1,
      hidden: 1,
    });
    expect(await dead.facts()).toMatchObject({ redrive: null });
  },
  "a queue keeps messages for its retention period": async ({ dead }) => {
    expect(await dead.facts()).toMatchObject({ retentionMs: days(14) });
  },
  "a message received too often moves to the dead-letter queue": async ({ queue, dead }) => {
    await queue.sendBatch([message("a")]);
    await receiveOne(queue, seconds(0));
    await receiveOne(queue, seconds(0));
    expect(await receive(queue)).toEqual([]);
    expect(await receiveOne(dead)).toMatchObject({ body: "a" });
  },
  "a moved message names its source queue": async ({ queue, dead }) => {
    const { arn } = await queue.facts();
    await queue.sendBatch([message("a")]);
    await receiveOne(queue, seconds(0));
    await receiveOne(queue, seconds(0));
    expect(await receive(queue)).toEqual([]);
    expect(await receiveOne(dead)).toMatchObject({ movedFrom: arn });
  },
  "a FIFO queue keeps the order of a group and drops what was sent twice": async ({ fifo }) => {
    await fifo.sendBatch([inGroup("a"), inGroup("b"), inGroup("a"), inGroup("c")]);
    const deliveries = await receive(fifo);
    expect(deliveries.map(({ body }) => body)).toEqual(["a", "b", "c"]);
    expect(deliveries[0]).toMatchObject({ groupId: "g", dedupId: "a" });
  },
  "a FIFO group waits while one of its messages is in flight": async ({ fifo }) => {
    await fifo.sendBatch([inGroup("a"), inGroup("b")]);
    const request = { max: 1, waitMs: durationMs(0), visibilityMs: seconds(30) };
    const [first] = await fifo.receive(request, never);
    expect(first?.body).toBe("a");
    expect(await fifo.receive(request, never)).toEqual([]);
    await fifo.deleteBatch([first?.receipt ?? ""]);
    expect(bodies(await fifo.receive(request, never))).toEqual(["b"]);
  },
  "a message of one mebibyte is accepted": async ({ queue }) => {
    const body = "x".repeat(1_048_576);
    expect(kinds(await queue.sendBatch([message(body)]))).toEqual(["sent"]);
    expect((await receiveOne(queue)).body).toHaveLength(body.length);
  },
  "a message over one mebibyte is refused": async ({ queue }) => {
    const sent = queue.sendBatch([message("x".repeat(1_048_577))]);
    await expect(sent).rejects.toMatchObject({ code: "TG_QUEUE_REFUSED" });
  },
  "a queue that does not exist is refused": async ({ open }) => {
    await expect(open("none")).rejects.toMatchObject({ code: "TG_QUEUE_REFUSED" });
  },
};
