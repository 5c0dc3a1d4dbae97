import { expect, test } from "vitest";
import { type ConsumerWorld, createConsumerWorld } from "../../../test/support/consumer-world.ts";
import {
  inTime,
  listIn,
  redrivePorts,
  runRedrive,
  SCOPE,
} from "../../../test/support/dead-letter-world.ts";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { ANY_INPUT } from "../../../test/support/stores/any-input.ts";
import { durationMs, epochMs } from "../../core/units.ts";
import { asRecordKey } from "../../ledger/record-state.ts";
import type { Ledger, NoteInput } from "../../ports/ledger.ts";
import type { RecordKey } from "../../ports/record.ts";
import { createMemoryLedger } from "../../stores/memory/ledger.ts";
import type { Consumer } from "../running/consumer.ts";
import { PermanentError } from "../spec/handler-errors.ts";
import { SILENT } from "../telemetry/silent-telemetry.ts";
import { countHalted, HALT_MS, haltedRecords, wakeHalted } from "./halted-messages.ts";

interface HandlerState {
  broken: boolean;
  readonly handled: string[];
}

async function haltedWorld(
  wrapLedger: (ledger: Ledger, state: HandlerState) => Ledger = (ledger) => ledger,
) {
  const state: HandlerState = { broken: true, handled: [] };
  const gauges = new Map<string, number>();
  const world = await createConsumerWorld({
    queue: "work.fifo",
    handler: ({ envelope }) => {
      if (state.broken) throw new PermanentError("no");
      state.handled.push(envelope.dedupe_key);
    },
    telemetry: () => ({ ...SILENT, gauge: (name, value) => void gauges.set(name, value) }),
  });
  for (const key of ["k0", "k1"]) await world.send(key, {}, "g");
  await world.send("other", {}, "h");
  const consumer = world.consumer("first", { ledger: wrapLedger(world.ledger, state) });
  await consumer.start();
  await world.pass(5_000);
  return { world, state, gauges, consumer };
}

async function stop(world: ConsumerWorld, consumer: Consumer): Promise<void> {
  await inTime(world, consumer.stop());
}

test("a redrive wakes the message although the consumer that halted it has stopped", async () => {
  const { world, state, consumer } = await haltedWorld();
  await using _ = world;
  await stop(world, consumer);
  state.broken = false;
  await world.consumer("second").start();
  const startedAt = world.cloud.clock.now();
  const { summary } = await runRedrive(world);
  expect(summary).toMatchObject({ reopened: 2, committed: 2 });
  await world.pass(2_000);
  expect(state.handled.toSorted()).toEqual(["k0", "k1", "other"]);
  expect(world.cloud.clock.now() - startedAt).toBeLessThan(15_000);
});

test("a redrive that happens while the consumer checks the message does not make it wait (H1)", async () => {
  const reopened: RecordKey[] = [];
  const { world, state } = await haltedWorld((inner, handler) => ({
    ...inner,
    // The operator reopens the record and finds no receipt, just before the consumer stores it.
    async addNotes(scope, notes) {
      handler.broken = false;
      const keys = notes.filter(({ kind }) => kind === "halted").map(({ name }) => name);
      reopened.push(...keys.map(asRecordKey));
      await inner.reopen(scope, keys.map(asRecordKey));
      await inner.addNotes(scope, notes);
    },
  }));
  await using _ = world;
  await world.pass(5_000);
  expect(reopened).not.toEqual([]);
  expect(state.handled.toSorted()).toEqual(["k0", "k1", "other"]);
  expect(await world.ledger.listNotes(SCOPE, "halted", { after: null, limit: 10 })).toEqual([]);
});

test("a receipt that is no longer valid is not an error, and the queue redelivers in time (H2)", async () => {
  const { world, state, consumer } = await haltedWorld();
  await using _ = world;
  await stop(world, consumer);
  await world.pass(HALT_MS + 1_000);
  // Another consumer receives the messages and crashes: they have other receipts now.
  const request = { max: 10, waitMs: durationMs(0), visibilityMs: durationMs(30_000) };
  await world.queue.receive(request, new AbortController().signal);
  const [dead] = await listIn(world);
  if (dead === undefined) throw new Error("nothing is dead-lettered");
  const latest = await wakeHalted(redrivePorts(world), SCOPE, dead.key);
  expect(latest).toBe(world.cloud.clock.now() + HALT_MS);
  state.broken = false;
  await world.consumer("second").start();
  const { summary } = await runRedrive(world);
  expect(summary).toMatchObject({ reopened: 2, committed: 2 });
});

test("halted groups are counted from the ledger, listed, and gone after the redrive (H3)", async () => {
  const { world, state, gauges } = await haltedWorld();
  await using _ = world;
  await world.pass(60_000);
  expect(gauges.get("tidegate_groups_halted")).toBe(2);
  const listed = await listIn(world);
  expect(listed.map(({ haltedGroup }) => haltedGroup).toSorted()).toEqual(["g", "h"]);
  state.broken = false;
  await runRedrive(world);
  await world.pass(65_000);
  expect(gauges.get("tidegate_groups_halted")).toBe(0);
  expect(await countHalted(world.ledger, SCOPE, "work.fifo")).toBe(0);
  expect(await listIn(world)).toEqual([]);
});

test("a note whose record is no longer parked does not count (H3)", async () => {
  const { world, consumer } = await haltedWorld();
  await using _ = world;
  await stop(world, consumer);
  const [dead] = await listIn(world);
  if (dead === undefined) throw new Error("nothing is dead-lettered");
  expect(await countHalted(world.ledger, SCOPE, "work.fifo")).toBe(2);
  await world.ledger.reopen(SCOPE, [dead.key]);
  expect(await countHalted(world.ledger, SCOPE, "work.fifo")).toBe(1);
  expect(await countHalted(world.ledger, SCOPE, "another.fifo")).toBe(0);
});

test("halted messages are counted to the last one, however many there are", async () => {
  const at = epochMs(1_000);
  const ledger = createMemoryLedger({ clock: new ManualClock(at) });
  const keys = Array.from({ length: 1_150 }, (_, index) => asRecordKey(`k1:${index}`));
  const failure = { errorClass: "c", fingerprint: "f", message: "m" };
  const attempt = { fence: null, owner: "w", receivedAt: at, permanent: true, failure };
  for (let first = 0; first < keys.length; first += 50) {
    const batch = keys.slice(first, first + 50);
    const input = ANY_INPUT;
    await ledger.fail(
      SCOPE,
      batch.map((key) => ({ ...attempt, key, input })),
    );
    const body = (key: string) => JSON.stringify({ queue: "q", message_id: key, receipt: "r" });
    const notes = batch.map((key) => ({
      kind: "halted",
      name: key,
      at,
      count: 1,
      body: body(key),
    }));
    await ledger.addNotes(SCOPE, notes as NoteInput[]);
  }
  expect(await countHalted(ledger, SCOPE, "q")).toBe(keys.length);
  expect((await haltedRecords(ledger, SCOPE)).size).toBe(keys.length);
});
