import { expect, test } from "vitest";
import { durationMs } from "../../../src/core/units.ts";
import { failureOf, useEndpoint } from "../../support/endpoint.ts";

const endpoint = useEndpoint();
const IN_FLIGHT_MAX = 120_000;
const AT_ONCE = 1_000;

/**
 * Sends and receives through the broker as many messages as may be in flight, and sends one more.
 * Returns the handle of one that is in flight.
 */
async function fill(queueUrl: string, fifo: boolean): Promise<string> {
  const { broker } = endpoint.cloud;
  const queue = queueUrl.split("/").at(-1)!;
  const entry = (number: number) => ({
    body: "x",
    sizeBytes: 1,
    attributes: null,
    traceHeader: null,
    groupId: fifo ? `group-${number}` : null,
    dedupId: fifo ? `id-${number}` : null,
    delayMs: null,
  });
  const visibilityMs = durationMs(3_600_000);
  const receive = { queue, max: AT_ONCE, waitMs: null, visibilityMs, attemptId: null };
  let handle = "";
  for (let first = 0; first < IN_FLIGHT_MAX; first += AT_ONCE) {
    const entries = Array.from({ length: AT_ONCE }, (_, i) => entry(first + i));
    await broker.submit("send", { queue, entries, batch: true });
    const received = await broker.submit("receive", receive);
    if (received.ok) handle = received.value.deliveries[0]!.receiptHandle;
  }
  await broker.submit("send", { queue, entries: [entry(IN_FLIGHT_MAX)], batch: true });
  return handle;
}

const inFlight = (queueUrl: string) =>
  endpoint.attribute(queueUrl, "ApproximateNumberOfMessagesNotVisible");

test("[61] a standard queue at its in-flight limit refuses a receive, but not a long poll", async () => {
  const QueueUrl = await endpoint.queue();
  const ReceiptHandle = await fill(QueueUrl, false);
  expect(await inFlight(QueueUrl)).toBe(String(IN_FLIGHT_MAX));
  const failure = await failureOf(endpoint.sqs.receiveMessage({ QueueUrl }));
  expect(failure).toMatchObject({ shape: "OverLimit", code: "OverLimit", status: 403 });
  const poll = await endpoint.inFlight(() =>
    endpoint.sqs.receiveMessage({ QueueUrl, WaitTimeSeconds: 20 }),
  );
  await endpoint.sqs.deleteMessage({ QueueUrl, ReceiptHandle });
  expect((await poll.answer).Messages).toHaveLength(1);
});

test("[61] a FIFO queue at its in-flight limit returns no messages and no error", async () => {
  const QueueUrl = await endpoint.fifo();
  await fill(QueueUrl, true);
  expect(await inFlight(QueueUrl)).toBe(String(IN_FLIGHT_MAX));
  expect((await endpoint.sqs.receiveMessage({ QueueUrl })).Messages).toBeUndefined();
  expect(await endpoint.attribute(QueueUrl, "ApproximateNumberOfMessages")).toBe("1");
});
