import { randomUUID } from "node:crypto";
import { SendMessageCommand, SQSClient } from "@aws-sdk/client-sqs";
import { describe, expect, test } from "vitest";
import { sha256Hex } from "../../../src/core/encoding/hash.ts";
import { buildEnvelope, messageDedupId } from "../../../src/core/events/envelope.ts";
import { systemRandom } from "../../../src/platform/system-random.ts";
import { systemTurn } from "../../../src/platform/system-turn.ts";
import { perEntity } from "../../../src/produce/group-strategy.ts";
import { createProducer } from "../../../src/produce/producer.ts";
import { createMemoryOutbox } from "../../../src/stores/memory/outbox.ts";
import {
  complianceReport,
  complianceTests,
  runCompliance,
} from "../../../src/testkit/compliance/compliance.ts";
import type {
  ComplianceEvent,
  ProducedMessage,
  ProducerUnderTest,
} from "../../../src/testkit/compliance/compliance-world.ts";

const GROUP = { groupId: "g" };

function bodyOf(event: ComplianceEvent): { body: string; dedupId: string } {
  const built = buildEnvelope(event);
  if (built.kind === "invalid") throw new Error("the sample is not a valid envelope");
  return built.value;
}

/** The contract's members in a fixed order, for producers that break the contract from there. */
function plain(event: ComplianceEvent) {
  return {
    event_id: "018f2c1e-3f5a-8d0c-9a70-6f8d2f6f0001",
    event_source: event.source,
    event_time: event.eventTime,
    dedupe_key: event.dedupeKey,
    payload: event.payload,
  };
}

const GOOD: Record<string, ProducerUnderTest> = {
  "a canonical body without an explicit id": (event) => ({ body: bodyOf(event).body, ...GROUP }),
  "an explicit id, whatever the body's event_id": (event) => ({
    body: JSON.stringify({ ...plain(event), event_id: event.eventId }),
    dedupId: messageDedupId(event.source, event.dedupeKey),
    ...GROUP,
  }),
  "a producer that sends through the AWS SDK": async (event, { endpoint, queueUrl, region }) => {
    const credentials = { accessKeyId: "any", secretAccessKey: "any" };
    const client = new SQSClient({ endpoint, region, credentials });
    const { body, dedupId } = bodyOf(event);
    const ids = { MessageGroupId: "g", MessageDeduplicationId: dedupId };
    await client.send(new SendMessageCommand({ QueueUrl: queueUrl, MessageBody: body, ...ids }));
    client.destroy();
  },
};

describe("producers that comply", () => {
  for (const [name, producer] of Object.entries(GOOD)) {
    describe(name, () => {
      for (const { title, run } of complianceTests(producer)) test(title, run);
    });
  }

  test("Tidegate's own producer, with an outbox that outlives the queues", async () => {
    const clock = { now: () => 0, monotonic: () => 0, sleep: async () => {} };
    const outbox = createMemoryOutbox({ clock: clock as never });
    const results = await runCompliance(async (event, { send }) => {
      const limits = { entriesMax: 10, messageBytesMax: 1_048_576, batchBytesMax: 1_048_576 };
      const target = { kind: "queue" as const, name: "q.fifo", fifo: true, limits };
      const producer = createProducer(
        {
          target: {
            ...target,
            async sendBatch([message]) {
              if (message === undefined) return [];
              const { body, attributes, groupId, dedupId } = message;
              await send({ body, attributes, groupId: groupId ?? "", dedupId: dedupId ?? "" });
              return [{ kind: "sent", messageId: "m", sequenceNumber: null }];
            },
          },
          outbox,
          clock: clock as never,
          random: systemRandom,
          turn: systemTurn,
        },
        { groups: perEntity(({ source }) => source) },
      );
      await producer.send(event, { traceparent: event.traceparent });
    });
    expect(results.filter(({ problem }) => problem !== null)).toEqual([]);
  });
});

/** A wrong producer, and the checks that must catch it. */
interface Wrong {
  readonly producer: (event: ComplianceEvent, now: number) => ProducedMessage | undefined;
  readonly caughtBy: readonly string[];
}

let calls = 0;
const WRONG: Record<string, Wrong> = {
  "puts a random event_id into the body and relies on content-based deduplication": {
    producer: (event) => ({
      body: JSON.stringify({ ...plain(event), event_id: randomUUID() }),
      ...GROUP,
    }),
    caughtBy: ["attribute-ignorance", "replay-same-key", "another-event-id", "key-order"],
  },
  "copies the caller's event_id into the body": {
    producer: (event) => ({
      body: JSON.stringify({ ...plain(event), event_id: event.eventId }),
      ...GROUP,
    }),
    caughtBy: ["replay-same-key", "another-event-id"],
  },
  "writes the trace into the body": {
    producer: (event) => ({
      body: JSON.stringify({ ...plain(event), trace_id: event.traceparent }),
      ...GROUP,
    }),
    caughtBy: ["attribute-ignorance", "replay-same-key"],
  },
  "writes the trace into the body and sets an explicit id": {
    producer: (event) => ({
      body: JSON.stringify({ ...plain(event), trace_id: event.traceparent }),
      dedupId: messageDedupId(event.source, event.dedupeKey),
      ...GROUP,
    }),
    caughtBy: ["attribute-ignorance"],
  },
  "serialises members in the order of the input": {
    producer: (event) => ({ body: JSON.stringify(plain(event)), ...GROUP }),
    caughtBy: ["key-order"],
  },
  "puts the key into an attribute only": {
    producer: (event) => ({
      body: JSON.stringify(event.payload),
      attributes: { unique_key: event.dedupeKey },
      ...GROUP,
    }),
    caughtBy: ["hash-behavior", "attribute-ignorance", "replay-other-key", "envelope"],
  },
  "derives its id from the key without the source": {
    producer: (event) => ({
      body: bodyOf(event).body,
      dedupId: sha256Hex(event.dedupeKey),
      ...GROUP,
    }),
    caughtBy: ["namespaced"],
  },
  "puts the time of sending into the dedupe_key": {
    producer: (event, now) => {
      const dedupeKey = `${event.dedupeKey}@${now}`;
      return { ...bodyOf({ ...event, dedupeKey }), ...GROUP };
    },
    caughtBy: ["replay-same-key", "envelope", "beyond-window"],
  },
  "puts the time of sending into event_time": {
    producer: (event, now) => ({
      body: JSON.stringify({ ...plain(event), event_time: new Date(now).toISOString() }),
      ...GROUP,
    }),
    caughtBy: ["replay-same-key"],
  },
  "uses one id for everything": {
    producer: (event) => ({ body: bodyOf(event).body, dedupId: "always", ...GROUP }),
    caughtBy: ["hash-behavior", "replay-other-key", "namespaced"],
  },
  "truncates the id, so that long keys collide": {
    producer: (event) => ({ ...bodyOf(event), dedupId: event.dedupeKey.slice(0, 4), ...GROUP }),
    caughtBy: ["hash-behavior", "replay-other-key", "namespaced"],
  },
  "changes the group with every message": {
    producer: (event) => {
      calls += 1;
      return { ...bodyOf(event), groupId: `g${calls}` };
    },
    caughtBy: ["beyond-window"],
  },
  "sets no group": { producer: (event) => bodyOf(event), caughtBy: ["group"] },
  "leaves members of the envelope out": {
    producer: (event) => ({
      body: JSON.stringify({ dedupe_key: event.dedupeKey, ...event.payload }),
      ...GROUP,
    }),
    caughtBy: ["attribute-ignorance", "namespaced", "envelope"],
  },
  "sends nothing": { producer: () => undefined, caughtBy: ["replay-same-key", "envelope"] },
};

describe("a producer that", () => {
  test.each(Object.entries(WRONG))("%s is caught", async (_, { producer, caughtBy }) => {
    const results = await runCompliance((event, tools) => producer(event, tools.now()));
    const caught = results.filter(({ problem }) => problem !== null).map(({ name }) => name);
    expect(caught).toEqual(expect.arrayContaining([...caughtBy]));
  });

  test("throws is reported with its error message and a fix", async () => {
    const broken = () => Promise.reject(new Error("no route to host"));
    const lines = complianceReport(await runCompliance(broken));
    expect(lines[0]).toMatch(/^ {2}FAIL {2}/);
    expect(lines[1]).toContain("the producer failed: no route to host");
    expect(lines.at(-1)).toBe("0 of 10 checks passed.");
    const [first] = complianceTests(broken);
    await expect(first?.run()).rejects.toThrow("no route to host");
  });
});
