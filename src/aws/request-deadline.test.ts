import type { SNSClient } from "@aws-sdk/client-sns";
import type { SQSClient } from "@aws-sdk/client-sqs";
import { afterEach, expect, test, vi } from "vitest";
import { durationMs, hours } from "../core/units.ts";
import type { OutgoingMessage } from "../ports/queue.ts";
import { REQUEST_MS_MAX, withDeadline } from "./request-deadline.ts";
import { createSnsTopic } from "./sns/sns-topic.ts";
import { createSqsQueue } from "./sqs/sqs-queue.ts";

afterEach(() => vi.useRealTimers());

/** A request that is never answered, and ends only when it is called off. */
const unanswered = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => {
    signal.addEventListener("abort", () => reject(new Error("AbortError")), { once: true });
  });

test("a request that is never answered is called off, and the error says why", async () => {
  const asked = withDeadline(unanswered, durationMs(1));
  await expect(asked).rejects.toThrow("no answer within 1 ms");
});

test("the caller's signal ends a request, at once if it had been given before", async () => {
  const stop = new AbortController();
  const asked = withDeadline(unanswered, hours(1), stop.signal);
  stop.abort(new Error("enough"));
  await expect(asked).rejects.toThrow("AbortError");
  let seen: unknown = null;
  const ask = async (signal: AbortSignal) => {
    seen = signal.reason;
  };
  await withDeadline(ask, hours(1), stop.signal);
  expect(seen).toMatchObject({ message: "enough" });
});

test("an answer or a failure in time comes through as it is", async () => {
  expect(await withDeadline(async () => 7, hours(1))).toBe(7);
  const failing = withDeadline(() => Promise.reject(new Error("refused")), hours(1));
  await expect(failing).rejects.toThrow("refused");
});

/** A client whose connection died without a word. */
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
  "a batch that a %s never answers is of unknown outcome, and does not wait for ever",
  async (_, to) => {
    vi.useFakeTimers();
    const message: OutgoingMessage = { body: "b", attributes: {}, groupId: null, dedupId: null };
    const sending = to.sendBatch([message]);
    const told = expect(sending).rejects.toMatchObject({ code: "TG_QUEUE_UNAVAILABLE" });
    await vi.advanceTimersByTimeAsync(REQUEST_MS_MAX);
    await told;
  },
);
