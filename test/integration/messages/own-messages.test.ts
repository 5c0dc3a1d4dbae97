// Messages in the user's own format: any body, keyed by a business key.

import { expect, test } from "vitest";
import { z } from "zod";
import { startTestPipeline, type TestPipeline } from "../../../src/api/testkit.ts";
import { createBrokerQueue } from "../../../src/cloud/broker-queue.ts";
import { type OwnMessageInput, PermanentError, pipeline } from "../../../src/index.ts";
import { depths, dossiers, run } from "../../support/consumer-looks.ts";
import { createConsumerWorld } from "../../support/consumer-world.ts";

interface Job {
  readonly FileID: string;
  readonly Entity?: string;
  readonly BatchID?: number;
}

const key = (body: Job) => body.FileID;
const JOB: { readonly [name: string]: string | number } = {
  FileID: "accounts-2026-02-28",
  Entity: "accounts",
  BatchID: 7,
};

function jobs(queue = "jobs", source: object = {}) {
  return pipeline({
    name: "jobs",
    source: { queue, key, ...source },
    sink() {},
    handler: ({ body, ...message }, { emit }) => emit({ body, ...message }),
  });
}

/** What the handler emitted, without the fields that differ from run to run. */
function bodies(t: TestPipeline): unknown[] {
  return t.effects().map((effect) => (effect as OwnMessageInput<unknown>).body);
}

test.each(["jobs", "jobs.fifo"])(
  "%s: a key is applied once, however often it is sent",
  async (queue) => {
    await using t = await startTestPipeline(jobs(queue));
    await t.send({ body: JOB, dedupId: "1" });
    await t.send({ body: JOB, dedupId: "2" });
    await t.idle();
    await t.send({ body: { ...JOB, BatchID: 8 }, dedupId: "3" });
    await t.send({ body: { FileID: "other" }, dedupId: "4" });
    await t.idle();
    expect(bodies(t)).toEqual([JOB, { FileID: "other" }]);
    expect(t.snapshot()).toMatchObject({ committed: 2, deadLettered: 0 });
  },
);

test("the handler gets the body and what the queue knows about the message", async () => {
  await using t = await startTestPipeline(jobs("jobs.fifo"));
  const sentAt = t.cloud.clock.now();
  await t.send({ body: JOB, group: "g1", attributes: { tenant: "a" } });
  await t.idle();
  const [effect] = t.effects() as OwnMessageInput<unknown>[];
  expect(effect).toEqual({
    body: JOB,
    key: "accounts-2026-02-28",
    attributes: { tenant: "a" },
    group: "g1",
    sentAt,
    receiveCount: 1,
    messageId: expect.stringMatching(/^[0-9a-f-]{36}$/),
  });
});

test("the schema validates the body, and a rejected message keeps its key", async () => {
  const strict = pipeline({
    name: "strict",
    source: {
      queue: "jobs",
      schema: z.object({ FileID: z.string(), BatchID: z.coerce.string() }),
      key: (body) => body.FileID,
    },
    sink() {},
    handler: ({ body }, { emit }) => emit(body),
  });
  await using t = await startTestPipeline(strict);
  await t.send({ body: JOB });
  await t.send({ body: { FileID: "b", BatchID: { nested: true }, extra: 1 } });
  await t.send({ body: { FileID: 7 } });
  await t.idle();
  expect(t.effects()).toContainEqual({ FileID: "accounts-2026-02-28", BatchID: "7" });
  const letters = await t.deadLetters({ class: "schema" });
  expect(letters.map(({ businessKey }) => businessKey).toSorted()).toEqual(["7"]);
  expect(letters[0]?.message).toContain("the body breaks the schema: FileID: ");
});

test("a corrected body under the key of a dead letter is processed, and the key commits once", async () => {
  const picky = pipeline({
    name: "picky",
    source: { queue: "jobs", key },
    sink() {},
    handler({ body }, { emit }) {
      if (body.Entity === undefined) throw new PermanentError("no entity");
      emit(body);
    },
  });
  await using t = await startTestPipeline(picky);
  await t.send({ body: { FileID: "a" } });
  await t.idle();
  await t.send({ body: { FileID: "a" } }); // A copy of the dead letter stays one.
  await t.idle();
  expect(await t.deadLetters()).toMatchObject([{ businessKey: "a", class: "permanent" }]);
  await t.send({ body: { FileID: "a", Entity: "accounts" } });
  await t.idle();
  expect(t.effects()).toEqual([{ FileID: "a", Entity: "accounts" }]);
  expect(await t.deadLetters()).toEqual([]);
  expect(await t.redrive()).toMatchObject({ committedBefore: 1, sent: 0 });
  expect(t.effects()).toHaveLength(1);
});

test.each(["jobs", "jobs.fifo"])("%s: a redrive keeps the key of the body", async (queue) => {
  let broken = true;
  const later = pipeline({
    name: "later",
    source: { queue, key },
    onPoison: "skip",
    sink() {},
    handler({ body }, { emit, key: identity }) {
      if (broken) throw new PermanentError("not yet");
      emit([body.FileID, identity]);
    },
  });
  await using t = await startTestPipeline(later);
  await t.send({ body: JOB });
  await t.idle();
  const [letter] = await t.deadLetters({ key: "accounts-2026-02-28" });
  expect(letter).toMatchObject({ state: "parked", businessKey: "accounts-2026-02-28" });
  broken = false;
  expect(await t.redrive({ key: "accounts-2026-02-28" })).toMatchObject({ committed: 1 });
  await t.send({ body: JOB, dedupId: "again" });
  await t.idle();
  expect(t.effects()).toEqual([["accounts-2026-02-28", letter?.dossier?.idempotency_key]]);
});

test.each([
  ["MessageDeduplicationId", "jobs.fifo"],
  ["MessageId", "jobs"],
  ["MessageId", "jobs.fifo"],
] as const)(
  "a key from %s on %s survives redrives, although the ids change",
  async (name, queue) => {
    let broken = true;
    const keys: string[] = [];
    const byId = pipeline({
      name: "by-id",
      source: { queue, key: name },
      onPoison: "skip",
      sink() {},
      handler({ key: business }, { emit }) {
        keys.push(business);
        if (broken) throw new PermanentError("not yet");
        emit(business);
      },
    });
    await using t = await startTestPipeline(byId);
    await t.send({ body: JOB, dedupId: "id-1" });
    await t.idle();
    expect(await t.redrive()).toMatchObject({ sent: 1, failedAgain: 1 });
    broken = false;
    expect(await t.redrive()).toMatchObject({ sent: 1, committed: 1 });
    expect(new Set(keys).size).toBe(1);
    expect(t.effects()).toEqual([keys[0]]);
    if (name === "MessageDeduplicationId") expect(keys[0]).toBe("id-1");
  },
);

test("a message that had no key is redriven under its key after the fix", async () => {
  let field = "id";
  const fixed = pipeline({
    name: "fixed",
    source: { queue: "jobs", key: (body: Record<string, string>) => body[field] ?? "" },
    sink() {},
    handler: ({ body }, { emit }) => emit(body),
  });
  await using t = await startTestPipeline(fixed);
  await t.send({ body: { FileID: "a" } });
  await t.idle();
  expect(await t.deadLetters()).toMatchObject([{ class: "keyless", businessKey: null }]);
  field = "FileID";
  expect(await t.redrive()).toMatchObject({ sent: 1, committed: 1, waiting: 0 });
  expect(t.effects()).toEqual([{ FileID: "a" }]);
  expect(await t.deadLetters()).toEqual([]);
  await t.send({ body: { FileID: "a" } });
  await t.idle();
  expect(t.effects()).toHaveLength(1);
});

test("an SNS envelope is removed, and its attributes are the publisher's", async () => {
  const envelope = {
    Type: "Notification",
    MessageId: "22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324",
    TopicArn: "arn:aws:sns:us-east-1:000000000000:jobs",
    Message: JSON.stringify(JOB),
    Timestamp: "2026-01-01T00:00:00.000Z",
    MessageAttributes: {
      tenant: { Type: "String", Value: "a" },
      bytes: { Type: "Binary", Value: "AAE=" },
    },
  };
  await using wrapped = await startTestPipeline(jobs());
  await wrapped.send({ body: envelope });
  await wrapped.send({ body: JOB });
  await wrapped.idle();
  expect(wrapped.effects()).toMatchObject([{ body: JOB, attributes: { tenant: "a" } }]);

  const raw = jobs("jobs", { unwrapSns: false, key: (body: typeof envelope) => body.MessageId });
  await using unwrapped = await startTestPipeline(raw);
  await unwrapped.send({ body: envelope });
  await unwrapped.idle();
  expect(bodies(unwrapped)).toEqual([envelope]);
});

test("a body that looks like an S3 event or an envelope belongs to the source that reads it", async () => {
  const body = { Records: [{ eventSource: "aws:s3" }], dedupe_key: "x", FileID: "a" };
  await using t = await startTestPipeline(jobs());
  await t.send({ body });
  await t.idle();
  expect(bodies(t)).toEqual([body]);
});

test("text, bytes and custom formats are bodies, too", async () => {
  const decoders = [
    { decode: "text", key: (text: string) => text.split(";")[0], sent: "a;1", body: "a;1" },
    {
      decode: "base64",
      key: (bytes: Uint8Array) => bytes[0],
      sent: new Uint8Array([7, 0, 255]),
      body: new Uint8Array([7, 0, 255]),
    },
    {
      decode: (text: string) => new URLSearchParams(text).get("id"),
      key: (id: string) => id,
      sent: "id=a&n=1",
      body: "a",
    },
  ];
  for (const { decode, key: keyOf, sent, body } of decoders) {
    await using t = await startTestPipeline(jobs("jobs", { decode, key: keyOf }));
    await t.send({ body: sent });
    await t.idle();
    expect(bodies(t)).toEqual([body]);
  }
});

test("the event time of the body decides the lane", async () => {
  const lanes: string[] = [];
  const timed = pipeline({
    name: "timed",
    source: { queue: "jobs", key, eventTime: (body: Job) => (body.BatchID ?? 0) * 1_000 },
    handler: (_message, { lane }) => void lanes.push(lane),
  });
  await using t = await startTestPipeline(timed);
  const nowS = Math.floor(t.cloud.clock.now() / 1_000);
  for (const [FileID, BatchID] of [
    ["a", nowS],
    ["b", nowS - 3_600],
  ] as const) {
    await t.send({ body: { FileID, BatchID } });
    await t.idle();
    await t.advance(1_000);
  }
  expect(lanes).toEqual(["live", "late"]);
});

test("two pipelines with the same business key in one ledger do not share it", async () => {
  const keysHandled: string[] = [];
  await using world = await createConsumerWorld({
    pipeline: { source: { queue: "work", key } } as never,
  });
  const other = pipeline({
    name: "other",
    source: { queue: "other", key },
    handler: (_message, context) => void keysHandled.push(context.key),
  });
  await world.cloud.broker.submit("createQueue", { name: "other", attributes: {}, tags: {} });
  const queue = createBrokerQueue(world.cloud.broker, { queue: "other" });
  await world.sendBody(JSON.stringify(JOB));
  await run(world);
  await queue.sendBatch([
    { body: JSON.stringify(JOB), attributes: {}, groupId: null, dedupId: null },
  ]);
  const second = world.consumer("second", { queue, pipeline: other });
  await second.start();
  await world.pass(5_000);
  expect(second.snapshot()).toMatchObject({ committed: 1, duplicates: 0 });
  expect(keysHandled).toHaveLength(1);
});

test("logs and dossiers name the business key, unless the pipeline masks it", async () => {
  for (const mask of [[], ["FileID"]]) {
    await using world = await createConsumerWorld({
      handler: () => {
        throw new PermanentError("it concerns accounts-2026-02-28");
      },
      pipeline: { source: { queue: "work", key }, mask } as never,
    });
    await world.sendBody(JSON.stringify(JOB));
    await run(world);
    expect(await depths(world)).toEqual([0, 1]);
    const shown = mask.length === 0 ? "accounts-2026-02-28" : "***";
    expect(await dossiers(world)).toMatchObject([
      { business_key: shown, message: `PermanentError: it concerns ${shown}` },
    ]);
    const lines = world.logs.filter(({ level }) => level === "error");
    expect(lines).toMatchObject([{ fields: { business_key: shown } }]);
  }
});
