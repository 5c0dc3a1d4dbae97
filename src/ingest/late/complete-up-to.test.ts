import { expect, test } from "vitest";
import {
  type ConsumerWorld,
  type ConsumerWorldOptions,
  createConsumerWorld,
} from "../../../test/support/consumer-world.ts";
import { TidegateError } from "../../core/errors.ts";
import { buildEnvelope } from "../../core/events/envelope.ts";
import { addMs, durationMs, type EpochMs, epochMs, minutes, subtractMs } from "../../core/units.ts";
import type { Ledger, Note, NoteKind } from "../../ports/ledger.ts";
import { boundedLooks, brokerLooks } from "../../run/open/look-at-queues.ts";
import { createMemoryLedger } from "../../stores/memory/ledger.ts";
import { type QueueLook, readCompleteness } from "./complete-up-to.ts";
import { releaseHeld } from "./release.ts";

const SCOPE = { pipeline: "test", generation: 0 };
const EXACT = { eventTime: { outOfOrderMs: 0 } };
const HOLD = { eventTime: { outOfOrderMs: 0, late: "hold" } };

/** Sends an event whose event time is that many minutes before now, and returns that time. */
async function sendOld(world: ConsumerWorld, key: string, ago: number): Promise<EpochMs> {
  const eventTime = subtractMs(world.cloud.clock.now(), minutes(ago));
  const input = { source: "test.unit.world", dedupeKey: key, eventTime, payload: {} };
  const built = buildEnvelope(input);
  if (built.kind === "invalid") throw new Error(JSON.stringify(built.problems));
  await world.sendBody(built.value.body);
  return eventTime;
}

function looksOf({ cloud, queue, deadLetters }: ConsumerWorld): QueueLook[] {
  return brokerLooks(cloud.broker, [queue.name, deadLetters.name, "late"]);
}

function completeness(world: ConsumerWorld, more: { looks?: QueueLook[]; ledger?: Ledger } = {}) {
  const { ledger = world.ledger, looks = looksOf(world) } = more;
  return readCompleteness(
    { clock: world.cloud.clock, ledger, looks, objects: null },
    world.pipeline,
  );
}

/** A world in which one record is committed, so that the watermark is at its event time. */
async function worldAt(options: ConsumerWorldOptions = {}) {
  const world = await createConsumerWorld({ pipeline: EXACT as never, ...options });
  const consumer = world.consumer();
  await consumer.start();
  await world.send("now");
  const now = world.cloud.clock.now();
  await world.pass(3_000);
  return { world, consumer, now, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() };
}

/** Draining waits for time to pass, which is virtual here. */
async function drained({ world, consumer }: Awaited<ReturnType<typeof worldAt>>): Promise<void> {
  void consumer.drain();
  await world.pass(30_000);
}

test("everything settled: complete up to the watermark, exactly", async () => {
  await using at = await worldAt();
  expect(await completeness(at.world)).toEqual({
    at: at.now,
    watermark: at.now,
    isExact: true,
    heldBy: { kind: "watermark", eventTime: at.now, what: "test" },
  });
});

test("a queued message holds it back, received or not (U1)", async () => {
  await using at = await worldAt();
  await drained(at);
  const old = await sendOld(at.world, "old", 30);
  expect(await completeness(at.world)).toMatchObject({ at: old, heldBy: { kind: "queued" } });
  const request = { max: 1, waitMs: durationMs(0), visibilityMs: minutes(5) };
  await at.world.queue.receive(request, new AbortController().signal);
  expect(await completeness(at.world)).toMatchObject({ at: old, heldBy: { kind: "queued" } });
});

test("a record in retry and a dead-lettered one hold it back until they are settled (U1)", async () => {
  const bad = new Set(["old"]);
  await using at = await worldAt({
    handler: ({ envelope }) => {
      if (bad.has(envelope.dedupe_key)) throw new Error("not yet");
    },
    pipeline: { ...EXACT, retry: { attempts: 2, baseMs: 60_000, capMs: 60_000 } } as never,
  });
  const old = await sendOld(at.world, "old", 30);
  await at.world.pass(2_000);
  expect(await completeness(at.world)).toMatchObject({ at: old });
  await at.world.pass(minutes(5));
  expect(at.consumer.snapshot().deadLettered).toBe(1);
  expect(await completeness(at.world)).toMatchObject({ at: old });
  const stored = await completeness(at.world, { looks: [] });
  expect(stored).toMatchObject({ at: old, isExact: false, heldBy: { kind: "dead-lettered" } });
  expect(stored.heldBy?.what).toBe("old");
  const page = { after: null, limit: 1 };
  const [dossier] = await at.world.ledger.listNotes(SCOPE, "dossier", page);
  await at.world.ledger.removeNotes(SCOPE, "dossier", [dossier?.name ?? ""]);
  expect(await completeness(at.world, { looks: [] })).toMatchObject({ at: at.now }); // U4
});

test("a held record holds it back until it is released and committed (U1)", async () => {
  await using at = await worldAt({ pipeline: HOLD as never });
  const { world } = at;
  const old = await sendOld(world, "old", 30);
  await world.pass(3_000);
  expect(await completeness(world)).toMatchObject({ at: old, heldBy: { kind: "held" } });
  const ports = { clock: world.cloud.clock, ledger: world.ledger, source: world.queue };
  for await (const _ of releaseHeld(ports, { scope: SCOPE, runId: "r" })) {
    expect(await completeness(world)).toMatchObject({ at: old });
  }
  await world.pass(3_000);
  expect(await completeness(world)).toMatchObject({ at: at.now });
});

test("a duplicate of a committed record that is still queued holds nothing back (U5)", async () => {
  await using at = await worldAt();
  const { world } = at;
  const eventTime = subtractMs(world.cloud.clock.now(), minutes(30));
  const built = buildEnvelope({
    source: "test.unit.world",
    dedupeKey: "d",
    eventTime,
    payload: {},
  });
  if (built.kind === "invalid") throw new Error();
  await world.sendBody(built.value.body);
  await world.pass(3_000);
  await drained(at);
  await world.sendBody(built.value.body);
  expect(await completeness(world)).toMatchObject({ at: at.now });
});

const counted = (visible: number): QueueLook => {
  return {
    kind: "counted",
    name: "work",
    counts: async () => ({ visible, delayed: 0, hidden: 0 }),
  };
};

test("where messages are only counted, the result is an estimate, or unknown (U3)", async () => {
  await using at = await worldAt();
  const { world } = at;
  const empty = await completeness(world, { looks: [counted(0)] });
  expect(empty).toMatchObject({ at: at.now, isExact: false });
  const waiting = await completeness(world, { looks: [counted(5)] });
  expect(waiting.at).toBeLessThanOrEqual(addMs(at.now, durationMs(3_000)));
  expect(waiting.at).not.toBeNull();
  await drained(at);
  await world.pass(minutes(3));
  const unknown = await completeness(world, { looks: [counted(5)] });
  expect(unknown).toMatchObject({ at: null, heldBy: { kind: "queued", what: "work" } });
});

const unlisted = (ledger: Ledger): Ledger => ({
  ...ledger,
  listRecords: () => Promise.reject(new TidegateError("TG_LISTING_OFF", "off")),
});

test("a store without lists finds dead letters and held records by their notes", async () => {
  await using at = await worldAt({
    pipeline: HOLD as never,
    ledger: ({ clock }) => unlisted(createMemoryLedger({ clock })),
  });
  const old = await sendOld(at.world, "old", 30);
  await at.world.pass(3_000);
  expect(await completeness(at.world)).toMatchObject({ at: old, heldBy: { kind: "held" } });
});

/** The same ledger, whose lists of a kind start with 100,000 other notes. */
function crowded(ledger: Ledger, kind: NoteKind, body: string): Ledger {
  const others = 100_000;
  let listed = 0;
  return {
    ...ledger,
    async listNotes(scope, asked, { after, limit }) {
      if (asked !== kind) return ledger.listNotes(scope, asked, { after, limit });
      if (after === null) listed = 0;
      if (listed >= others) {
        const isOther = after?.startsWith("-") === true;
        return ledger.listNotes(scope, asked, { after: isOther ? null : after, limit });
      }
      const first = listed;
      listed += limit;
      return Array.from({ length: limit }, (_, index): Note => {
        return { kind, name: `- ${first + index}`, at: epochMs(0), count: 1, body };
      });
    },
  };
}

test("a held record behind 100,000 other notes holds it back and is released (U1)", async () => {
  await using at = await worldAt({ pipeline: HOLD as never });
  const { world } = at;
  const old = await sendOld(world, "old", 30);
  await world.pass(3_000);
  const ledger = crowded(unlisted(world.ledger), "held", "");
  expect(await completeness(world, { ledger })).toMatchObject({
    at: old,
    heldBy: { kind: "held" },
  });
  const ports = { clock: world.cloud.clock, ledger, source: world.queue };
  const events: string[] = [];
  for await (const { kind } of releaseHeld(ports, { scope: SCOPE, runId: "r" })) events.push(kind);
  expect(events).toEqual(["released"]);
});

/** Records named "old" become dead letters at their first attempt. */
const OLD_IS_DEAD: Parameters<typeof worldAt>[0] = {
  handler: ({ envelope }) => {
    if (envelope.dedupe_key === "old") throw new Error("never");
  },
  pipeline: { ...EXACT, retry: { attempts: 1 } } as never,
};

test("a dead letter behind 100,000 others holds it back (U1)", async () => {
  await using at = await worldAt(OLD_IS_DEAD);
  const { world } = at;
  const old = await sendOld(world, "old", 30);
  await world.pass(minutes(5));
  const other = JSON.stringify({ record_key: "k1:settled" });
  const ledger = crowded(unlisted(world.ledger), "dossier", other);
  const stored = await completeness(world, { ledger, looks: [] });
  expect(stored).toMatchObject({ at: old, heldBy: { kind: "dead-lettered" } });
});

/** All that SQS shows of the queues: how many messages are visible, delayed and hidden. */
function countsOf({ cloud, queue, deadLetters }: ConsumerWorld): Promise<QueueLook[]> {
  return boundedLooks(cloud.broker, [queue.name, deadLetters.name], -1, deadLetters.name);
}

/** A world like `worldAt` on a table without lists, in which records named "old" fail. */
function failingWorld(baseMs: number) {
  return worldAt({
    handler: ({ envelope }) => {
      if (envelope.dedupe_key === "old") throw new Error("not yet");
    },
    pipeline: { ...EXACT, retry: { attempts: 9, baseMs, capMs: baseMs } } as never,
    ledger: ({ clock }) => unlisted(createMemoryLedger({ clock })),
  });
}

test("without lists, a record in retry whose message SQS hides holds it back (U1, U6)", async () => {
  await using at = await failingWorld(minutes(20));
  const { world } = at;
  const old = await sendOld(world, "old", 30);
  await world.pass(3_000);
  await world.send("newer");
  await world.pass(minutes(3));
  const looks = await countsOf(world);
  const after = await completeness(world, { looks });
  expect(after.watermark).toBeGreaterThan(old);
  expect(after).toMatchObject({ at: old, isExact: false, heldBy: { kind: "in retry" } });
});

test("such a record holds it back while its process is gone, and until it is settled (U6)", async () => {
  await using at = await failingWorld(minutes(13));
  const { world } = at;
  const old = await sendOld(world, "old", 30);
  await world.pass(3_000);
  await drained(at);
  const successor = world.consumer("successor");
  await successor.start();
  await world.send("newer");
  // The successor takes the report over after ten minutes, and the retry is due after thirteen.
  for (let minute = 0; minute < 12; minute += 1) {
    await world.pass(minutes(1));
    const looks = await countsOf(world);
    expect(await completeness(world, { looks })).toMatchObject({ at: old });
  }
});

test("what a stopped process returned and another committed is forgotten in time (T5)", async () => {
  let fails = true;
  await using at = await worldAt({
    handler: ({ envelope }) => {
      if (envelope.dedupe_key === "old" && fails) throw new Error("not yet");
    },
    pipeline: { ...EXACT, retry: { attempts: 9, baseMs: 60_000, capMs: 60_000 } } as never,
    ledger: ({ clock }) => unlisted(createMemoryLedger({ clock })),
  });
  const { world } = at;
  const old = await sendOld(world, "old", 30);
  await world.pass(3_000);
  fails = false;
  await drained(at);
  await world.consumer("successor").start();
  await world.pass(minutes(20));
  const looks = await countsOf(world);
  const after = await completeness(world, { looks });
  expect(after.at).toBeGreaterThan(old);
  expect(after.heldBy?.kind).toBe("watermark");
});

test("a hidden message that no process reports makes it unknown (U3)", async () => {
  await using at = await worldAt();
  const { world } = at;
  await drained(at);
  await sendOld(world, "stolen", 30);
  const request = { max: 1, waitMs: durationMs(0), visibilityMs: minutes(60) };
  await world.queue.receive(request, new AbortController().signal);
  const looks = await countsOf(world);
  expect(await completeness(world, { looks })).toMatchObject({
    at: null,
    heldBy: { kind: "in flight", eventTime: null, what: "work" },
  });
});

test("a partial receive does not forget a record whose retry is due (T1)", async () => {
  let commits = false;
  await using at = await worldAt({
    handler: ({ envelope }) => {
      if (envelope.dedupe_key === "old" && !commits) throw new Error("not yet");
    },
    pipeline: { ...EXACT, retry: { attempts: 9, baseMs: 5_000, capMs: 5_000 } } as never,
    ledger: ({ clock }) => unlisted(createMemoryLedger({ clock })),
    wrapQueue: (queue) => {
      // Keeps the retry back and returns others, as SQS may with a backlog.
      const isRetry = ({ body, receiveCount }: { body: string; receiveCount: number }) =>
        body.includes('"old"') && receiveCount > 1 && !commits;
      return {
        ...queue,
        async receive(request, signal) {
          const deliveries = await queue.receive(request, signal);
          return deliveries.filter((delivery) => !isRetry(delivery));
        },
      };
    },
  });
  const { world } = at;
  const old = await sendOld(world, "old", 180);
  await world.pass(3_000);
  const looks = [counted(1)];
  for (let round = 0; round < 6; round += 1) {
    await world.send(`newer ${round}`);
    await world.pass(15_000);
    expect(await completeness(world, { looks })).toMatchObject({ at: old });
  }
  commits = true;
  await world.pass(minutes(3));
  expect((await completeness(world, { looks })).at).toBeGreaterThan(old);
});

test("an idle pipeline with a dead letter is complete up to that, not unknown (U3)", async () => {
  await using at = await worldAt(OLD_IS_DEAD);
  const { world } = at;
  const old = await sendOld(world, "old", 30);
  await world.pass(minutes(40));
  expect(await world.depth(world.deadLetters)).toBe(1);
  const idle = await completeness(world, { looks: await countsOf(world) });
  expect(idle).toMatchObject({ at: old, heldBy: { kind: "dead-lettered" } });
  // No failure report accounts for this one.
  await world.deadLetters.sendBatch([{ body: "{}", attributes: {}, groupId: null, dedupId: null }]);
  const unknown = await completeness(world, { looks: await countsOf(world) });
  expect(unknown).toMatchObject({ at: null, heldBy: { what: world.deadLetters.name } });
});

test("a record that halted its group holds it back, and its message is accounted for (U3)", async () => {
  await using at = await worldAt({
    queue: "work.fifo",
    handler: ({ envelope }) => {
      if (envelope.dedupe_key === "old") throw new Error("never");
    },
    pipeline: { ...EXACT, onPoison: "halt", retry: { attempts: 1 } } as never,
    ledger: ({ clock }) => unlisted(createMemoryLedger({ clock })),
  });
  const { world } = at;
  const old = await sendOld(world, "old", 30);
  await world.pass(minutes(2));
  expect(await completeness(world, { looks: await countsOf(world) })).toMatchObject({ at: old });
  const [dossier] = await world.ledger.listNotes(SCOPE, "dossier", { after: null, limit: 1 });
  await world.ledger.removeNotes(SCOPE, "dossier", [dossier?.name ?? ""]); // As a drop does.
  await world.pass(minutes(1));
  expect((await completeness(world, { looks: [counted(0)] })).at).toBeGreaterThan(old);
});
