// Dead letters of messages that leave little space, or none, for Tidegate attributes (X4).

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { collect } from "../../../test/support/byte-sources.ts";
import {
  type ConsumerWorldOptions,
  createConsumerWorld,
  type Handler,
} from "../../../test/support/consumer-world.ts";
import { inTime, listIn, runRedrive, SCOPE } from "../../../test/support/dead-letter-world.ts";
import { messageBytes } from "../../core/encoding/message-size.ts";
import { MASKED } from "../../core/encoding/secrets.ts";
import { hasInvalidXmlCharacter } from "../../core/encoding/text.ts";
import { SQS_MESSAGE_BYTES_MAX } from "../../core/limits.ts";
import { durationMs, epochMs } from "../../core/units.ts";
import { fenceOf } from "../../ledger/record-state.ts";
import type { Delivery, Queue } from "../../ports/queue-receiver.ts";
import { PermanentError } from "../spec/handler-errors.ts";
import { deadLetterOf } from "./dead-letter.ts";
import { originalOf } from "./dead-letter-read.ts";
import type { Dossier } from "./dossier.ts";
import { dropDeadLetters } from "./drop-dead-letters.ts";

type World = Awaited<ReturnType<typeof createConsumerWorld>>;

const LIMITS = { entriesMax: 10, messageBytesMax: 4_000, batchBytesMax: 4_000 };
/** Short enough to fit into a dead letter. */
const REASON = "no space".padEnd(450, ".");
const FENCE = fenceOf(1_700_000_000_000);

function deliveryOf(body: string, attributes: Record<string, string>): Delivery {
  const messageId = "5fea7756-0ea4-451a-a703-a558b933e274";
  const rest = { receipt: "r", traceHeader: null, groupId: null, movedFrom: null };
  return { messageId, body, attributes, ...rest, sentAt: epochMs(0), receiveCount: 1 };
}

const DOSSIER: Dossier = {
  ...SCOPE,
  record_key: `k1:${"a".repeat(64)}`,
  idempotency_key: `k1:${"b".repeat(64)}`,
  queue: "work",
  message_id: "m",
  group_id: null,
  object: null,
  error_class: "schema",
  fingerprint: "62f1724f64232b6b",
  message: "\u0001ä".repeat(400),
  stack: null,
  attempts: 7,
  receive_count: 7,
  event_time: epochMs(0),
  first_failed_at: epochMs(0),
  last_failed_at: epochMs(1_700_000_000_000),
  took_ms: 1,
  run_id: "r",
  trace_id: null,
  payload: null,
  dead_letter: null,
};

test("a dead letter has no character that SQS rejects, whatever the error message (X7)", () => {
  const quoted = "\u0000\u0001\ufffe\uffff\ud800\u2028 and more";
  const limits = { fifo: false, messageBytesMax: SQS_MESSAGE_BYTES_MAX };
  const object = { bucket: "b", key: `${MASKED}/\uffff` };
  const dossier = { ...DOSSIER, message: quoted, object };
  const { message } = deadLetterOf(deliveryOf("{}", {}), dossier, FENCE, limits);
  for (const text of Object.values(message.attributes)) {
    expect([text, hasInvalidXmlCharacter(text)]).toEqual([text, false]);
  }
  const facts = JSON.parse(message.attributes["tidegate.failure"] ?? "");
  expect(facts).toMatchObject({ message: quoted, object: `s3://b/${object.key}` });
});

test("a dead letter fits wherever its message did, and restores the original", () => {
  const names = fc.uniqueArray(fc.stringMatching(/^[a-z]{1,12}$/), { maxLength: 10 });
  const value = fc.string({ minLength: 1, maxLength: 120, unit: "grapheme" });
  const attributes = names.chain((all) =>
    fc.tuple(...all.map((name) => fc.tuple(fc.constant(name), value))).map(Object.fromEntries),
  );
  const forms = new Set<string>();
  fc.assert(
    fc.property(attributes, fc.nat({ max: LIMITS.messageBytesMax }), (own, spare) => {
      const bodyBytes = LIMITS.messageBytesMax - messageBytes("", own) - spare;
      fc.pre(bodyBytes >= 0);
      const delivery = deliveryOf("x".repeat(bodyBytes), own);
      const target = { fifo: false, limits: LIMITS };
      const { message, bare } = deadLetterOf(delivery, DOSSIER, FENCE, { ...target, ...LIMITS });
      const size = messageBytes(message.body, message.attributes);
      expect(size).toBeLessThanOrEqual(LIMITS.messageBytesMax);
      expect(Object.keys(message.attributes).length).toBeLessThanOrEqual(10);
      const text = message.attributes["tidegate.failure"];
      expect(bare).toBe(text === undefined);
      forms.add(bare ? "bare" : "tidegate.class" in message.attributes ? "full" : "least");
      const deadLetter = {
        delivery: { ...delivery, attributes: message.attributes },
        scope: SCOPE,
        pipeline: SCOPE.pipeline,
        records: [],
        failure: text === undefined ? null : JSON.parse(text),
        fence: FENCE,
        message: "",
        errorClass: "",
        fingerprint: "",
        keys: [],
        objects: [],
        shownObject: null,
        bareOf: null,
        failedAt: epochMs(0),
      };
      const back = originalOf(deadLetter, { ...target, dedupId: "d" });
      const { "tidegate.redriven": _, ...returned } = back.attributes;
      expect(returned).toEqual(own);
      expect(back.body).toBe(delivery.body);
      expect(messageBytes(back.body, back.attributes)).toBeLessThanOrEqual(LIMITS.messageBytesMax);
    }),
    { numRuns: 500 },
  );
  expect([...forms].toSorted()).toEqual(["bare", "full", "least"]);
});

/** Sends a message of `bytes` bytes. */
async function sendSized(world: World, key: string, bytes: number): Promise<void> {
  let body = "";
  const measured = { ...world.queue, sendBatch: world.queue.sendBatch };
  const spy: Queue["sendBatch"] = async ([message]) => {
    body = message?.body ?? "";
    return [{ kind: "sent", messageId: "", sequenceNumber: null }];
  };
  Object.assign(world.queue, { sendBatch: spy });
  await world.send(key, { pad: "" });
  Object.assign(world.queue, { sendBatch: measured.sendBatch });
  await world.send(key, { pad: "x".repeat(bytes - body.length) });
}

async function parkSized(
  spareBytes: number,
  {
    bytesMax = SQS_MESSAGE_BYTES_MAX,
    ...options
  }: ConsumerWorldOptions & { bytesMax?: number } = {},
) {
  const broken = { yes: true };
  const applied: string[] = [];
  const handler: Handler = ({ envelope }) => {
    if (broken.yes) throw new PermanentError(REASON, { class: "schema" });
    applied.push(envelope.dedupe_key);
  };
  const world = await createConsumerWorld({ handler, ...options });
  for (const { name: queue } of [world.queue, world.deadLetters]) {
    const attributes = { MaximumMessageSize: String(bytesMax) };
    await world.cloud.broker.submit("setQueueAttributes", { queue, attributes });
  }
  await sendSized(world, "big", bytesMax - spareBytes);
  await world.consumer().start();
  await world.pass(3_000);
  return { world, broken, applied };
}

async function peek(world: World) {
  const request = { max: 10, waitMs: durationMs(0), visibilityMs: durationMs(0) };
  return world.deadLetters.receive(request, new AbortController().signal);
}

const FORMS = [
  {
    leaves: "space for the fewest attributes",
    spareBytes: 400,
    names: ["tidegate.failure", "tidegate.key"],
  },
  { leaves: "no space at all", spareBytes: 0, names: [] },
];
/** Limits of a queue: the SQS maximum, its earlier maximum, and the smallest setting. */
const BYTES_MAX = [SQS_MESSAGE_BYTES_MAX, 262_144, 4_096];
const CASES = FORMS.flatMap((form) => BYTES_MAX.map((bytesMax) => ({ ...form, bytesMax })));

describe.each(CASES)("a message that leaves $leaves of $bytesMax bytes", (each) => {
  const { spareBytes, names, bytesMax } = each;

  test("is dead-lettered immediately, listed by its dossier, redriven and applied", async () => {
    const { world, broken, applied } = await parkSized(spareBytes, { bytesMax });
    await using _world = world;
    expect(await world.depth()).toBe(0);
    const [deadLetter, ...others] = await peek(world);
    expect(others).toEqual([]);
    expect(Object.keys(deadLetter?.attributes ?? {}).toSorted()).toEqual(names);
    expect(deadLetter?.body).toHaveLength(bytesMax - spareBytes);
    expect(await listIn(world, { errorClass: "schema" }, "peek")).toMatchObject([
      {
        copies: 1,
        message: `PermanentError: ${REASON}`,
        dossier: { dead_letter: { message_id: deadLetter?.messageId } },
      },
    ]);
    broken.yes = false;
    const { summary } = await runRedrive(world, { filter: { errorClass: "schema" } });
    expect(summary).toMatchObject({ sent: 1, committed: 1, refused: 0, missing: 0 });
    expect(applied).toEqual(["big"]);
    expect(await world.depth(world.deadLetters)).toBe(0);
  });

  test("is dropped by the class that only its dossier has", async () => {
    const { world } = await parkSized(spareBytes, { bytesMax });
    await using _world = world;
    const { cloud, ledger, deadLetters } = world;
    const ports = { clock: cloud.clock, ledger, deadLetters, source: world.queue };
    const options = { scope: SCOPE, source: "work", filter: { errorClass: "schema" } };
    const events = await inTime(world, collect(dropDeadLetters(ports, options)));
    expect(events).toMatchObject([{ kind: "dropped", item: { errorClass: "schema" } }]);
    expect(await world.depth(deadLetters)).toBe(0);
  });

  test("is tried again when an operator moves its dead letter back (F5)", async () => {
    const { world, broken, applied } = await parkSized(spareBytes, { bytesMax });
    await using _world = world;
    const [deadLetter] = await peek(world);
    broken.yes = false;
    const { body = "", attributes = {} } = deadLetter ?? {};
    await world.queue.sendBatch([{ body, attributes, groupId: null, dedupId: null }]);
    await world.pass(5_000);
    expect(applied).toEqual(["big"]);
    expect(await world.depth()).toBe(0);
  });
});

test("a dead letter that the queue rejects for another reason is not made smaller", async () => {
  const asked: string[][] = [];
  const { world } = await parkSized(0, {
    bytesMax: 4_096,
    wrapDeadLetters: (queue) => ({
      ...queue,
      async sendBatch(messages) {
        asked.push(...messages.map(({ attributes }) => Object.keys(attributes)));
        return [{ kind: "refused", code: "NotAllowed", message: "no", retry: "never" }];
      },
      facts: async () => ({ ...(await queue.facts()), messageBytesMax: SQS_MESSAGE_BYTES_MAX }),
    }),
  });
  await using _world = world;
  expect(await world.depth()).toBe(1);
  expect(asked.length).toBeGreaterThan(0);
  for (const names of asked) expect(names).toContain("tidegate.key");
  expect(world.logs.at(-1)?.message).toContain("NotAllowed: no");
});

test("a redelivered message with a bare dead letter is acknowledged and not run", async () => {
  let lost = 0;
  const wrapQueue = (queue: Queue): Queue => ({
    ...queue,
    async deleteBatch(receipts) {
      lost += 1;
      return lost === 1 ? receipts.map(() => ({ kind: "done" })) : queue.deleteBatch(receipts);
    },
  });
  const { world, applied, broken } = await parkSized(0, { wrapQueue });
  await using _world = world;
  expect(await world.depth()).toBe(1);
  broken.yes = false;
  await world.pass(60_000);
  expect(lost).toBe(2);
  expect(applied).toEqual([]);
  expect(await world.depth()).toBe(0);
  expect(await peek(world)).toHaveLength(1);
});
