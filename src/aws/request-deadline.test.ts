import type { SNSClient } from "@aws-sdk/client-sns";
import type { SQSClient } from "@aws-sdk/client-sqs";
import { afterEach, expect, test, vi } from "vitest";
import { durationMs, hours } from "../core/units.ts";
import type { OutgoingMessage } from "../ports/queue.ts";
import { REQUEST_MS_MAX, withDeadline } from "./request-deadline.ts";
import { createSnsTopic } from "./sns/sns-topic.ts";
import { createSqsQueue } from "./sqs/sqs-queue.ts";

afterEach(() => vi.useRealTimers());

/** A request that is never answered and ends only when it is aborted. */
const unanswered = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => {
    signal.addEventListener("abort", () => reject(new Error("AbortError")), { once: true });
  });

test("a request without a response is aborted, and the error says why", async () => {
  const asked = withDeadline(unanswered, durationMs(1));
  await expect(asked).rejects.toThrow("no response within 1 ms");
});

test("the caller's signal ends a request, immediately if it is already aborted", async () => {
  const stop = new AbortController();
  const asked = withDeadline(unanswered, hours(1), stop.signal);
  stop.abort(new Error("enough"));
  await expect(asked).rejects.toThrow("AbortError");
  let reason: unknown = null;
  const ask = async (signal: AbortSignal) => {
    reason = signal.reason;
  };
  await withDeadline(ask, hours(1), stop.signal);
  expect(reason).toMatchObject({ message: "enough" });
});

test("a response or failure in time is returned unchanged", async () => {
  expect(await withDeadline(async () => 7, hours(1))).toBe(7);
  const failing = withDeadline(() => Promise.reject(new Error("refused")), hours(1));
  await expect(failing).rejects.toThrow("refused");
});

/** A client whose connection is dead. */
const dead = {
  send: (_: unknown, how: { abortSignal: AbortSignal }) => unanswered(how.abortSignal),
};

test.each([
  ["queue", createSqsQueue({ client: dead as unknown as SQSClient, queueUrl: "http://x/1/q" })],
  [
    "topic",
    createSnsTopic({
      client: dead as unknown as SNSClient,
      topicArn: "arn:aws:sns:us-east-1:000000000000:t",
    }),
  ],
])(
  "a batch that a %s never answers has an unknown outcome and does not wait forever",
  async (_, to) => {
    vi.useFakeTimers();
    const message: OutgoingMessage = { body: "b", attributes: {}, groupId: null, dedupId: null };
    const sending = to.sendBatch([message]);
    const rejection = expect(sending).rejects.toMatchObject({ code: "TG_QUEUE_UNAVAILABLE" });
    await vi.advanceTimersByTimeAsync(REQUEST_MS_MAX);
    await rejection;
  },
);
