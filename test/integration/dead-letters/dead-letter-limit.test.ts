// Dead letters in a queue that takes less than SQS allows, through both adapters (X4, X5).

import { SQSClient } from "@aws-sdk/client-sqs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openSqsQueue } from "../../../src/aws/sqs/open-sqs-queue.ts";
import { createBrokerQueue } from "../../../src/cloud/broker-queue.ts";
import { startCloud, type VirtualCloud } from "../../../src/cloud/start-cloud.ts";
import { durationMs, epochMs } from "../../../src/core/units.ts";
import { deadLetterOf, sendDeadLetter } from "../../../src/ingest/dead-letters/dead-letter.ts";
import type { Dossier } from "../../../src/ingest/dead-letters/dossier.ts";
import { createQueueClock } from "../../../src/ingest/running/queue-clock.ts";
import { fenceOf } from "../../../src/ledger/record-state.ts";
import type { Delivery, Queue } from "../../../src/ports/queue-receiver.ts";

const BYTES_MAX = 262_144;
const FENCE = fenceOf(7);
const DOSSIER = {
  record_key: `k1:${"a".repeat(64)}`,
  queue: "work",
  object: null,
  error_class: "schema",
  fingerprint: "62f1724f64232b6b",
  message: "no ".repeat(150),
  attempts: 1,
  last_failed_at: 0,
} as unknown as Dossier;

const credentials = { accessKeyId: "any", secretAccessKey: "any" };
let cloud: VirtualCloud;
let client: SQSClient;
beforeAll(async () => {
  cloud = await startCloud({ memory: true, clock: "virtual" });
  const { endpoint } = cloud;
  client = new SQSClient({ endpoint, region: "us-east-1", credentials, maxAttempts: 1 });
});
afterAll(async () => {
  client.destroy();
  await cloud.close();
});

const ADAPTERS: Record<string, (queue: string) => Promise<Queue>> = {
  embedded: async (queue) => createBrokerQueue(cloud.broker, { queue }),
  "AWS SDK": (queue) => openSqsQueue({ client, queue }),
};

describe.each(Object.keys(ADAPTERS))("through the adapter %s", (adapter) => {
  test.each([
    ["all Tidegate attributes", 2_000, 4],
    ["the fewest Tidegate attributes", 400, 2],
    ["no attributes", 0, 0],
  ])("a dead letter has %s where %d bytes remain", async (_title, spare, words) => {
    const name = `dead-${adapter.replace(" ", "-")}-${spare}`;
    const attributes = { MaximumMessageSize: String(BYTES_MAX) };
    await cloud.broker.submit("createQueue", { name, attributes, tags: {} });
    const deadLetters = await ADAPTERS[adapter]?.(name);
    if (deadLetters === undefined) throw new Error(adapter);
    const body = "x".repeat(BYTES_MAX - spare);
    const delivery: Delivery = {
      messageId: "m",
      receipt: "r",
      body,
      attributes: {},
      traceHeader: null,
      groupId: null,
      sentAt: epochMs(0),
      receiveCount: 1,
      movedFrom: null,
    };
    const { clock } = cloud;
    const ports = { clock, deadLetters, queueClock: createQueueClock(clock) };
    const sent = await sendDeadLetter(ports, (messageBytesMax) =>
      deadLetterOf(delivery, DOSSIER, FENCE, { fifo: false, messageBytesMax }),
    );
    expect(sent.bare === true).toBe(words === 0);
    const request = { max: 1, waitMs: durationMs(0), visibilityMs: durationMs(0) };
    const [deadLetter] = await deadLetters.receive(request, new AbortController().signal);
    expect(deadLetter).toMatchObject({ messageId: sent.message_id, body });
    expect(Object.keys(deadLetter?.attributes ?? {})).toHaveLength(words);
  });
});
