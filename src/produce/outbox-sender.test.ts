import fc from "fast-check";
import { expect, test } from "vitest";
import { createManualClock } from "../../test/support/manual-clock.ts";
import { turn } from "../../test/support/stores/real-ports.ts";
import { TidegateError } from "../core/errors.ts";
import { createSeededRandom } from "../core/seeded-random.ts";
import { epochMs, seconds } from "../core/units.ts";
import type { OutgoingMessage, QueueSender, SendOutcome } from "../ports/queue.ts";
import { createMemoryOutbox } from "../stores/memory/outbox.ts";
import { sendBacklog } from "./backlog.ts";
import { OutboxSender } from "./outbox-sender.ts";

const LIMITS = { entriesMax: 10, messageBytesMax: 1_000, batchBytesMax: 2_000 };
const LEASE = { owner: "me", leaseMs: seconds(120) };
const later: SendOutcome = { kind: "refused", code: "Busy", message: "", retry: "later" };
const never: SendOutcome = { kind: "refused", code: "Bad", message: "", retry: "never" };

/** A FIFO queue that deduplicates and fails at random: entries, whole requests, lost responses. */
function createFaultyQueue(seed: number): QueueSender & { readonly accepted: OutgoingMessage[] } {
  const random = createSeededRandom(seed);
  const accepted: OutgoingMessage[] = [];
  const take = (message: OutgoingMessage): SendOutcome => {
    const draw = random.below(20);
    if (draw < 6) return later;
    if (message.body.endsWith("!")) return never;
    if (!accepted.some(({ dedupId }) => dedupId === message.dedupId)) accepted.push(message);
    return { kind: "sent", messageId: String(message.dedupId), sequenceNumber: null };
  };
  return {
    kind: "queue",
    name: "q.fifo",
    fifo: true,
    limits: LIMITS,
    accepted,
    async sendBatch(messages) {
      const draw = random.below(10);
      const cut = new TidegateError("TG_QUEUE_UNAVAILABLE", "cut");
      if (draw === 0) throw cut; // Before it arrived.
      const outcomes = messages.map(take);
      if (draw === 1) throw cut; // After it arrived.
      return outcomes;
    },
  };
}

const anyLoad = fc.array(
  fc.record({
    group: fc.constantFrom("a", "b", "c"),
    bytes: fc.integer({ min: 1, max: 900 }),
    bad: fc.boolean(),
  }),
  { maxLength: 40 },
);

test("despite random failures, every message arrives once and groups stay in order (C2)", async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer(), anyLoad, async (seed, load) => {
      const clock = createManualClock(epochMs(1_700_000_000_000));
      const outbox = createMemoryOutbox({ clock });
      const target = createFaultyQueue(seed);
      const ports = { target, outbox, clock, random: createSeededRandom(seed), turn };
      const sender = new OutboxSender(ports, { attemptsMax: 3 });
      const entries = load.map(({ group, bytes, bad }, n) => ({
        key: `k${n}`,
        groupId: group,
        dedupId: `d${n}`,
        payloadDigest: "",
        attributes: {},
        body: `${"x".repeat(bytes)}${bad ? "!" : ""}`,
      }));
      await outbox.register("q.fifo", entries, LEASE);
      let rounds = 0;
      for (; rounds < 100; rounds += 1) {
        const { failed } = await sendBacklog(ports, sender, LEASE);
        if (failed === null) break;
      }
      expect(rounds).toBeLessThan(100);
      for (const group of ["a", "b", "c"]) {
        const arrived = target.accepted.filter(({ groupId }) => groupId === group);
        const wanted = entries.filter(
          ({ groupId, body }) => groupId === group && !body.endsWith("!"),
        );
        expect(arrived.map(({ dedupId }) => dedupId)).toEqual(wanted.map(({ dedupId }) => dedupId));
      }
      expect(await outbox.stats("q.fifo")).toMatchObject({
        pending: 0,
        sent: load.filter(({ bad }) => !bad).length,
        refused: load.filter(({ bad }) => bad).length,
      });
    }),
    { numRuns: 60 },
  );
});

test("a row whose mark fails stays pending and is sent again", async () => {
  const clock = createManualClock(epochMs(1_700_000_000_000));
  const inner = createMemoryOutbox({ clock });
  let down = true;
  const outbox = {
    ...inner,
    markSent: async (...call: Parameters<typeof inner.markSent>) => {
      if (down) throw new TidegateError("TG_OUTBOX_UNAVAILABLE", "the disk is full");
      await inner.markSent(...call);
    },
  };
  const accepted: string[] = [];
  const target: QueueSender = {
    kind: "queue",
    name: "q",
    fifo: false,
    limits: LIMITS,
    sendBatch: async (messages) =>
      messages.map(({ body }) => {
        accepted.push(body);
        return { kind: "sent", messageId: body, sequenceNumber: null };
      }),
  };
  const ports = { target, outbox, clock, random: createSeededRandom(1), turn };
  const sender = new OutboxSender(ports);
  const entry = { key: "k", groupId: null, dedupId: "d", payloadDigest: "", attributes: {} };
  await outbox.register("q", [{ ...entry, body: "hello" }], LEASE);
  const first = await sendBacklog(ports, sender, LEASE);
  expect(first.failed?.error.code).toBe("TG_OUTBOX_UNAVAILABLE");
  down = false;
  expect(await sendBacklog(ports, sender, LEASE)).toMatchObject({ sent: 1, failed: null });
  expect(accepted).toEqual(["hello", "hello"]);
});

test("a stalled group sends nothing newer before its oldest row (C2)", async () => {
  const clock = createManualClock(epochMs(1_700_000_000_000));
  const outbox = createMemoryOutbox({ clock });
  const accepted: string[] = [];
  let down = true;
  const target: QueueSender = {
    kind: "queue",
    name: "q.fifo",
    fifo: true,
    limits: LIMITS,
    sendBatch: async (messages) =>
      messages.map(({ body }) => {
        if (down && body.startsWith("a")) return later;
        accepted.push(body);
        return { kind: "sent", messageId: body, sequenceNumber: null };
      }),
  };
  const ports = { target, outbox, clock, random: createSeededRandom(1), turn };
  const sender = new OutboxSender(ports, { attemptsMax: 2 });
  const entryOf = (body: string, groupId: string) => ({
    key: body,
    groupId,
    dedupId: body,
    payloadDigest: "",
    attributes: {},
    body,
  });
  const entries = [entryOf("a1", "a"), entryOf("a2", "a"), entryOf("b1", "b")];
  const results = await outbox.register("q.fifo", entries, LEASE);
  const [a1, a2, b1] = results.map((result) => {
    if (result.kind !== "taken") throw new Error("not accepted");
    return result.row;
  });
  if (a1 === undefined || a2 === undefined || b1 === undefined) throw new Error("no rows");
  expect(await sender.send(a1)).toMatchObject({ kind: "unsent" });
  down = false;
  expect(await sender.send(a2)).toMatchObject({ kind: "unsent" });
  expect(await sender.send(b1)).toMatchObject({ kind: "sent" });
  expect(sender.behind).toBe(true);
  expect(await sendBacklog(ports, sender, LEASE)).toMatchObject({ sent: 2, failed: null });
  expect(accepted).toEqual(["b1", "a1", "a2"]);
  expect(sender.behind).toBe(false);
});
