import { expect, test } from "vitest";
import { createConsumerWorld } from "../../../test/support/consumer-world.ts";
import { buildEnvelope } from "../../core/events/envelope.ts";
import { addMs, epochMs, minutes, subtractMs } from "../../core/units.ts";
import { createMemoryLedger } from "../../stores/memory/ledger.ts";
import { IDLE_MS } from "../policy/watermark.ts";
import { readReports } from "./partition-report.ts";

const SCOPE = { pipeline: "test", generation: 0 };

type World = Awaited<ReturnType<typeof createConsumerWorld>>;

/** Sends an event of a source; event times are minutes from now. */
async function sendOf(world: World, source: string, key: string, fromNow: number): Promise<void> {
  const eventTime = addMs(world.cloud.clock.now(), minutes(fromNow));
  const built = buildEnvelope({ source, dedupeKey: key, eventTime, payload: {} });
  if (built.kind === "invalid") throw new Error(JSON.stringify(built.problems));
  await world.sendBody(built.value.body);
}

const storedAt = async (world: World) =>
  (await world.ledger.findNote(SCOPE, "watermark", "test"))?.at ?? null;

test("on a standard queue, a slow source is not late because another is ahead", async () => {
  const lanes: string[] = [];
  await using world = await createConsumerWorld({
    handler: ({ envelope }, { lane }) => void lanes.push(`${envelope.dedupe_key} ${lane}`),
  });
  await world.consumer().start();
  await sendOf(world, "a.b.slow", "s1", -180);
  await sendOf(world, "a.b.fast", "f1", 0);
  await world.pass(3_000);
  await sendOf(world, "a.b.slow", "s2", -179);
  await world.pass(3_000);
  expect(lanes).toEqual(["s1 live", "f1 live", "s2 live"]);
});

test("two processes have one watermark, which the slower one of them holds back", async () => {
  await using world = await createConsumerWorld();
  const now = world.cloud.clock.now();
  await sendOf(world, "a.b.slow", "s1", -180);
  const slow = world.consumer("slow", { messagesMax: 1 });
  await slow.start();
  await world.pass(3_000);
  await sendOf(world, "a.b.fast", "f1", 0);
  const fast = world.consumer("fast");
  await fast.start();
  await world.pass(3_000);
  expect(await storedAt(world)).toBe(subtractMs(now, minutes(190)));
  expect(fast.snapshot().watermark).toBe(subtractMs(now, minutes(190)));
  expect((await readReports(world.ledger, SCOPE)).map(({ owner }) => owner)).toEqual([
    "fast",
    "slow",
  ]);
});

test("a process that is gone stops holding the watermark back, and its report is removed", async () => {
  await using world = await createConsumerWorld();
  await sendOf(world, "a.b.slow", "s1", -180);
  const slow = world.consumer("slow", { messagesMax: 1 });
  await slow.start();
  await world.pass(3_000);
  await slow.stop();
  const fast = world.consumer("fast");
  await fast.start();
  await world.pass(minutes(5));
  await sendOf(world, "a.b.fast", "f1", 0);
  await world.pass(IDLE_MS);
  await sendOf(world, "a.b.fast", "f2", 0);
  const sentAt = world.cloud.clock.now();
  await world.pass(3_000);
  expect(await storedAt(world)).toBe(subtractMs(sentAt, minutes(10)));
  expect((await readReports(world.ledger, SCOPE)).map(({ owner }) => owner)).toEqual(["fast"]);
});

test("a decision uses a watermark only after the ledger has stored it (W1)", async () => {
  let isDown = true;
  const marks: (number | null)[] = [];
  await using world = await createConsumerWorld({
    handler: (_event, { watermark }) => void marks.push(watermark),
    ledger: ({ clock }) => {
      const ledger = createMemoryLedger({ clock });
      return {
        ...ledger,
        addNotes: (scope, notes) =>
          isDown ? Promise.reject(new Error("down")) : ledger.addNotes(scope, notes),
      };
    },
  });
  await world.consumer().start();
  await world.send("one");
  const sentAt = world.cloud.clock.now();
  await world.pass(5_000);
  await world.send("two");
  await world.pass(1_000);
  isDown = false;
  await world.pass(5_000);
  await world.send("three");
  await world.pass(1_000);
  expect(marks).toEqual([
    null,
    null,
    addMs(subtractMs(sentAt, minutes(10)), epochMs(5_000) as never),
  ]);
});

test("an idle process and an idle pipeline write nothing (W4)", async () => {
  let writes = 0;
  await using world = await createConsumerWorld({
    ledger: ({ clock }) => {
      const ledger = createMemoryLedger({ clock });
      return {
        ...ledger,
        addNotes(scope, notes) {
          writes += 1;
          return ledger.addNotes(scope, notes);
        },
      };
    },
  });
  await world.consumer().start();
  await world.send("one");
  await world.pass(minutes(35));
  const before = writes;
  await world.pass(minutes(30));
  expect(writes - before).toBe(0);
});

test("a record that waits for its retry keeps its partition active", async () => {
  await using world = await createConsumerWorld({
    handler: ({ envelope }) => {
      if (envelope.dedupe_key === "bad") throw new Error("not yet");
    },
    pipeline: { retry: { attempts: 3, baseMs: minutes(60), capMs: minutes(60) } },
  });
  const now = world.cloud.clock.now();
  await world.consumer().start();
  await sendOf(world, "a.b.slow", "bad", -30);
  await world.pass(3_000);
  for (let at = 0; at < 4; at += 1) {
    await sendOf(world, "a.b.fast", `f${at}`, 0);
    await world.pass(minutes(4));
  }
  expect(await storedAt(world)).toBe(subtractMs(now, minutes(40)));
});

test("a returned record is forgotten once another process has committed it (W5)", async () => {
  let fails = true;
  let reads = 0;
  await using world = await createConsumerWorld({
    handler: () => {
      if (fails) throw new Error("not yet");
    },
    pipeline: { retry: { attempts: 3, baseMs: minutes(60), capMs: minutes(60) } },
    ledger: ({ clock }) => {
      const ledger = createMemoryLedger({ clock });
      return {
        ...ledger,
        show(scope, key) {
          reads += 1;
          return ledger.show(scope, key);
        },
      };
    },
  });
  const oldest = async () => {
    const reports = await readReports(world.ledger, SCOPE);
    return reports.find(({ owner }) => owner === "first")?.returned.oldest;
  };
  const eventTime = subtractMs(world.cloud.clock.now(), minutes(30));
  const built = buildEnvelope({ source: "a.b.c", dedupeKey: "one", eventTime, payload: {} });
  if (built.kind === "invalid") throw new Error(JSON.stringify(built.problems));
  await world.sendBody(built.value.body);
  await world.consumer("first", { messagesMax: 1 }).start();
  await world.pass(minutes(5));
  expect(await oldest()).toBe(eventTime);
  expect(reads).toBeLessThanOrEqual(11); // One per heartbeat.
  fails = false;
  await world.consumer("second").start();
  await world.sendBody(built.value.body);
  await world.pass(minutes(1));
  expect(await oldest()).toBeNull();
});
