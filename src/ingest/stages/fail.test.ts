import { expect, test } from "vitest";
import {
  createStageWorld,
  type Delivered,
  OWNER,
  RUN_ID,
  type StageWorld,
} from "../../../test/support/stage-world.ts";
import { ANY_INPUT } from "../../../test/support/stores/any-input.ts";
import { TidegateError } from "../../core/errors.ts";
import { durationMs } from "../../core/units.ts";
import { decodeDossier } from "../dead-letters/dossier.ts";
import { HALT_MS } from "../dead-letters/halted-messages.ts";
import { LeaseLost } from "../running/in-flight-delivery.ts";
import { PermanentError } from "../spec/handler-errors.ts";
import type { Claim } from "./claim.ts";
import { createFailStage, type RecordFailure } from "./fail.ts";
import type { RecordOutcome } from "./outcome.ts";

const RETRY = { attempts: 2, baseMs: 1_000, capMs: 1_000 };

function fail(
  world: StageWorld,
  { record, inFlight }: Delivered,
  failure: RecordFailure,
): Promise<RecordOutcome> {
  const { pipeline, scope, queue } = world;
  const stage = createFailStage(world, { pipeline, scope, owner: OWNER, runId: RUN_ID, queue });
  return stage.fail(record, failure, inFlight);
}

async function claimed(world: StageWorld, { record }: Delivered): Promise<Claim> {
  const lease = { owner: OWNER, leaseMs: durationMs(60_000) };
  const request = { key: record.key, input: ANY_INPUT, receivedAt: world.clock.now() };
  const [claim] = await world.store.claim(world.scope, [request], lease);
  if (claim?.kind !== "claimed") throw new Error(claim?.kind);
  const { fence, attempt } = claim;
  return { kind: "claimed", fence, attempt, startedAt: world.clock.now(), input: ANY_INPUT };
}

function failed(
  claim: Claim,
  error: unknown,
  stage: "handle" | "commit" = "handle",
): RecordFailure {
  return { kind: "failed", stage, claim, error, secrets: [] };
}

async function storedRecord(world: StageWorld, { record }: Delivered) {
  return (await world.store.show(world.scope, record.key))?.record;
}

async function dossierOf(world: StageWorld, { record }: Delivered) {
  const note = await world.store.findNote(world.scope, "dossier", record.key);
  return note === undefined ? undefined : decodeDossier(note.body);
}

/** A record that was dead-lettered at its first attempt. */
async function deadLettered(world: StageWorld): Promise<Delivered> {
  const delivered = world.message("a");
  const claim = await claimed(world, delivered);
  await fail(world, delivered, failed(claim, new PermanentError("bad", { class: "schema" })));
  return delivered;
}

async function parkedFence(world: StageWorld, delivered: Delivered) {
  const record = await storedRecord(world, delivered);
  if (record?.kind !== "parked") throw new Error(record?.kind);
  return record.fence;
}

test("a failed attempt is stored, and the record is retried after the backoff (F1)", async () => {
  await using world = createStageWorld({ spec: { retry: RETRY } });
  const delivered = world.message("a");
  const claim = await claimed(world, delivered);
  const outcome = await fail(world, delivered, failed(claim, new Error("no")));
  expect(outcome).toMatchObject({ kind: "later", why: "retry", errorClass: "unknown" });
  expect(await storedRecord(world, delivered)).toMatchObject({ kind: "failed", attempts: 1 });
  expect(world.deadLetters.sent).toEqual([]);
});

test("the last attempt's failure dead-letters the record: dossier, then dead letter (F2)", async () => {
  await using world = createStageWorld({ spec: { retry: RETRY } });
  const delivered = world.message("a");
  const last = { ...(await claimed(world, delivered)), attempt: RETRY.attempts };
  const outcome = await fail(world, delivered, failed(last, new Error("no")));
  expect(outcome).toEqual({ kind: "done", how: "dead-lettered", errorClass: "unknown" });
  expect((await storedRecord(world, delivered))?.kind).toBe("parked");
  expect(world.deadLetters.sent).toMatchObject([{ body: delivered.inFlight.delivery.body }]);
  const dossier = await dossierOf(world, delivered);
  expect(dossier).toMatchObject({ error_class: "unknown", attempts: 2, message: "no" });
  expect(dossier?.dead_letter).toMatchObject({ queue: "dead", message_id: "dead-1" });
});

test("a permanent error is not retried (F2)", async () => {
  await using world = createStageWorld();
  const delivered = await deadLettered(world);
  expect((await storedRecord(world, delivered))?.kind).toBe("parked");
  expect(await dossierOf(world, delivered)).toMatchObject({ error_class: "schema", attempts: 1 });
});

test("a record whose last attempt never finished is dead-lettered with the class crash", async () => {
  await using world = createStageWorld({ spec: { retry: RETRY } });
  const delivered = world.message("a");
  const claim = { ...(await claimed(world, delivered)), attempt: RETRY.attempts + 1 };
  const outcome = await fail(world, delivered, { kind: "exhausted", claim });
  expect(outcome).toMatchObject({ kind: "done", how: "dead-lettered", errorClass: "crash" });
});

test("a sink that is down does not count as an attempt of the record (F3)", async () => {
  await using world = createStageWorld();
  const delivered = world.message("a");
  const claim = await claimed(world, delivered);
  const down = new TidegateError("TG_SINK_UNAVAILABLE", "down");
  const outcome = await fail(world, delivered, failed(claim, down, "commit"));
  expect(outcome).toMatchObject({ kind: "later", why: "unavailable", blames: "sink" });
  expect(await storedRecord(world, delivered)).toMatchObject({ kind: "released", attempts: 0 });
});

test("an attempt that a shutdown interrupted is returned uncounted, without an error", async () => {
  await using world = createStageWorld();
  const delivered = world.message("a");
  const claim = await claimed(world, delivered);
  const outcome = await fail(world, delivered, { kind: "stopped", claim });
  expect(outcome).toMatchObject({ kind: "later", why: "not-run", delayMs: 0 });
  expect(outcome).not.toHaveProperty("errorClass");
  expect(await storedRecord(world, delivered)).toMatchObject({ kind: "released", attempts: 0 });
});

test("nothing is written after a lost lease", async () => {
  await using world = createStageWorld();
  const delivered = world.message("a");
  const claim = await claimed(world, delivered);
  const outcome = await fail(world, delivered, failed(claim, new LeaseLost("gone"), "commit"));
  expect(outcome).toEqual({ kind: "lost" });
  expect((await storedRecord(world, delivered))?.kind).toBe("claimed");
});

test("a failure under an old fence is not stored: another consumer decides (F1)", async () => {
  await using world = createStageWorld();
  const delivered = world.message("a");
  const old = await claimed(world, delivered);
  world.clock.advance(61_000);
  await claimed(world, delivered);
  expect(await fail(world, delivered, failed(old, new Error("no")))).toEqual({ kind: "lost" });
  expect((await storedRecord(world, delivered))?.kind).toBe("claimed");
});

test("a FIFO group waits behind its failed record, unless the pipeline skips (F4)", async () => {
  for (const onPoison of ["halt", "skip"] as const) {
    await using world = createStageWorld({ fifo: true, spec: { onPoison } });
    const delivered = world.message("a");
    const claim = await claimed(world, delivered);
    const outcome = await fail(world, delivered, failed(claim, new PermanentError("bad")));
    const halted = { kind: "later", why: "halted", delayMs: HALT_MS, errorClass: "permanent" };
    const expected = onPoison === "halt" ? halted : { kind: "done", how: "dead-lettered" };
    expect(outcome).toMatchObject(expected);
    expect(world.deadLetters.sent).toHaveLength(onPoison === "halt" ? 0 : 1);
  }
});

test("a redelivered message of a dead-lettered record sends no second dead letter (F2)", async () => {
  await using world = createStageWorld();
  const fence = await parkedFence(world, await deadLettered(world));
  const again = world.message("a", {}, { receiveCount: 2, messageId: "message-1" });
  const outcome = await fail(world, again, { kind: "parked", fence });
  expect(outcome).toEqual({ kind: "done", how: "parked-before" });
  expect(world.deadLetters.sent).toHaveLength(1);
});

test("a crash between dossier and dead letter: the redelivery sends the dead letter (F2)", async () => {
  let down = true;
  await using world = createStageWorld();
  const { sendBatch } = world.deadLetters;
  world.deadLetters.sendBatch = async (messages) => {
    if (down) throw new TidegateError("TG_QUEUE_UNAVAILABLE", "down");
    return sendBatch(messages);
  };
  const delivered = world.message("a");
  const claim = await claimed(world, delivered);
  const first = await fail(world, delivered, failed(claim, new PermanentError("bad")));
  expect(first).toMatchObject({ kind: "later", why: "unavailable" });
  expect((await dossierOf(world, delivered))?.dead_letter).toBeNull();
  down = false;
  const fence = await parkedFence(world, delivered);
  const second = await fail(world, delivered, { kind: "parked", fence });
  expect(second).toEqual({ kind: "done", how: "dead-lettered", errorClass: "permanent" });
  expect(world.deadLetters.sent).toHaveLength(1);
});

test("a dead letter that was moved back to its queue reopens its record (F5)", async () => {
  await using world = createStageWorld();
  const delivered = await deadLettered(world);
  const fence = await parkedFence(world, delivered);
  const [deadLetter] = world.deadLetters.sent;
  const { body = "", attributes = {} } = deadLetter ?? {};
  const moved = world.deliver(body, { attributes });
  const outcome = await fail(world, moved, { kind: "parked", fence });
  expect(outcome).toMatchObject({ kind: "later", why: "not-run" });
  expect((await storedRecord(world, delivered))?.kind).not.toBe("parked");
});

test("a parked record without a dossier was dropped: its message is acknowledged (F6)", async () => {
  await using world = createStageWorld();
  const delivered = await deadLettered(world);
  const fence = await parkedFence(world, delivered);
  await world.store.removeNotes(world.scope, "dossier", [delivered.record.key]);
  const outcome = await fail(world, delivered, { kind: "parked", fence });
  expect(outcome).toEqual({ kind: "done", how: "parked-before" });
});

test("a dossier replaces its predecessor even if the clock went back (F7)", async () => {
  await using world = createStageWorld();
  const delivered = await deadLettered(world);
  await world.store.reopen(world.scope, [delivered.record.key]);
  const later = world.clock.now();
  world.clock.setWall(later - 3_600_000);
  const claim = await claimed(world, delivered);
  await fail(world, delivered, failed(claim, new PermanentError("worse", { class: "second" })));
  expect(await dossierOf(world, delivered)).toMatchObject({ error_class: "second" });
});

test("a ledger that is down while the failure is stored is an outcome, not a rejection (F3)", async () => {
  const down = () => Promise.reject(new TidegateError("TG_LEDGER_UNAVAILABLE", "down"));
  await using world = createStageWorld({ wrapLedger: (ledger) => ({ ...ledger, fail: down }) });
  const delivered = world.message("a");
  const claim = await claimed(world, delivered);
  const outcome = await fail(world, delivered, failed(claim, new Error("no")));
  expect(outcome).toMatchObject({ kind: "later", why: "unavailable", blames: "ledger" });
});
