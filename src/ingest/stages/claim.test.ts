import { expect, test } from "vitest";
import {
  createStageWorld,
  LEASE_MS,
  OWNER,
  type StageWorld,
} from "../../../test/support/stage-world.ts";
import { ANY_INPUT } from "../../../test/support/stores/any-input.ts";
import { TidegateError } from "../../core/errors.ts";
import { durationMs } from "../../core/units.ts";
import type { RecordKey } from "../../ports/record.ts";
import { REDRIVEN_ATTRIBUTE } from "../dead-letters/dead-letter.ts";
import { createClaimStage } from "./claim.ts";

function claimStage(world: StageWorld, receiptIsEnough = true) {
  const { scope } = world;
  const leaseMs = () => durationMs(LEASE_MS);
  const ports = { ...world, inputOf: () => ANY_INPUT };
  return createClaimStage(ports, { scope, owner: OWNER, leaseMs, receiptIsEnough });
}

test("a first delivery runs on its receipt, without a write to the ledger (C4)", async () => {
  await using world = createStageWorld();
  const { record, inFlight } = world.message("a");
  const claimed = await claimStage(world).claim(record, inFlight);
  expect(claimed).toMatchObject({ kind: "claimed", fence: null, attempt: 1 });
  expect(await world.store.show(world.scope, record.key)).toBeUndefined();
});

test("a redelivery is claimed in the ledger, which counts the attempt before it begins (C4)", async () => {
  await using world = createStageWorld();
  const { record, inFlight } = world.message("a", {}, { receiveCount: 2 });
  const claimed = await claimStage(world).claim(record, inFlight);
  expect(claimed).toMatchObject({ kind: "claimed", fence: expect.any(Number), attempt: 1 });
  const view = await world.store.show(world.scope, record.key);
  expect(view?.record).toMatchObject({ kind: "claimed", attempts: 1, owner: OWNER });
});

test.each<[string, boolean, object, string | null]>([
  ["a redriven message", true, { attributes: { [REDRIVEN_ATTRIBUTE]: "run" } }, null],
  ["a body that cannot be decoded", true, {}, "not json"],
  ["a first delivery of a pipeline that needs a fence", false, {}, null],
])("%s is claimed in the ledger on its first receive (C4)", async (_, enough, more, body) => {
  await using world = createStageWorld();
  const { record, inFlight } =
    body === null ? world.message("a", {}, more) : world.deliver(body, more);
  const claimed = await claimStage(world, enough).claim(record, inFlight);
  expect(claimed).toMatchObject({ kind: "claimed", fence: expect.any(Number) });
});

test("a duplicate of a record that is in flight here is busy until the attempt ends (C5)", async () => {
  await using world = createStageWorld();
  const stage = claimStage(world);
  const first = world.message("a");
  const second = world.message("a");
  const claim = await stage.claim(first.record, first.inFlight);
  expect(await stage.claim(second.record, second.inFlight)).toMatchObject({ kind: "busy" });
  if (claim.kind !== "claimed") throw new Error(claim.kind);
  stage.stopRenewal(first.record, claim, first.inFlight);
  expect(await stage.claim(second.record, second.inFlight)).toMatchObject({ kind: "busy" });
  stage.end(first.record, claim, first.inFlight);
  expect(await stage.claim(second.record, second.inFlight)).toMatchObject({ kind: "claimed" });
});

async function commitElsewhere(world: StageWorld, key: RecordKey): Promise<void> {
  const now = world.clock.now();
  const times = { input: ANY_INPUT, receivedAt: now, startedAt: now };
  await world.store.commitDirect(world.scope, [
    { key, digest: "d", effects: "{}", owner: "other", ...times },
  ]);
}

/** A world that counts the calls of its ledger. */
function countingWorld() {
  const calls = { claim: 0, hasRecords: 0, keys: 0 };
  const world = createStageWorld({
    wrapLedger: (ledger) => ({
      ...ledger,
      claim(...args) {
        calls.claim += 1;
        return ledger.claim(...args);
      },
      hasRecords(scope, keys) {
        calls.hasRecords += 1;
        calls.keys += keys.length;
        return ledger.hasRecords(scope, keys);
      },
    }),
  });
  return { world, calls };
}

test("a first delivery of a record that was committed elsewhere is a duplicate (C6)", async () => {
  await using world = createStageWorld();
  const { record, inFlight } = world.message("a");
  await commitElsewhere(world, record.key);
  expect(await claimStage(world).claim(record, inFlight)).toMatchObject({ kind: "duplicate" });
});

test("a first delivery of a record that another consumer has claimed is busy (C6)", async () => {
  await using world = createStageWorld();
  const { record, inFlight } = world.message("a");
  const lease = { owner: "other", leaseMs: durationMs(LEASE_MS) };
  const request = { key: record.key, input: ANY_INPUT, receivedAt: world.clock.now() };
  await world.store.claim(world.scope, [request], lease);
  expect(await claimStage(world).claim(record, inFlight)).toMatchObject({ kind: "busy" });
});

test("first deliveries of one turn share one read, and none of them is written (C6)", async () => {
  const { world, calls } = countingWorld();
  await using _ = world;
  const stage = claimStage(world);
  const deliveries = ["a", "b", "c", "d"].map((name) => world.message(name));
  await Promise.all(deliveries.map(({ record, inFlight }) => stage.claim(record, inFlight)));
  expect(calls).toEqual({ claim: 0, hasRecords: 1, keys: 4 });
});

test("a key that ran here before is not read: its claim judges it (C7)", async () => {
  const { world, calls } = countingWorld();
  await using _ = world;
  const stage = claimStage(world);
  const first = world.message("a");
  const claim = await stage.claim(first.record, first.inFlight);
  if (claim.kind !== "claimed") throw new Error(claim.kind);
  await commitElsewhere(world, first.record.key);
  stage.end(first.record, claim, first.inFlight);
  const second = world.message("a");
  expect(await stage.claim(second.record, second.inFlight)).toMatchObject({ kind: "duplicate" });
  expect(calls).toEqual({ claim: 1, hasRecords: 1, keys: 1 });
});

test("a duplicate that arrives during the read of the first delivery is busy (C5)", async () => {
  await using world = createStageWorld();
  const stage = claimStage(world);
  const first = world.message("a");
  const second = world.message("a");
  const claims = [first, second].map(({ record, inFlight }) => stage.claim(record, inFlight));
  expect(await Promise.all(claims)).toMatchObject([{ kind: "claimed" }, { kind: "busy" }]);
});

test("a read that fails runs no handler, and does not block the next delivery (C6)", async () => {
  const error = new TidegateError("TG_LEDGER_UNAVAILABLE", "down");
  let down = true;
  await using world = createStageWorld({
    wrapLedger: (ledger) => ({
      ...ledger,
      hasRecords: (...args) => (down ? Promise.reject(error) : ledger.hasRecords(...args)),
    }),
  });
  const stage = claimStage(world);
  const { record, inFlight } = world.message("a");
  expect(await stage.claim(record, inFlight)).toEqual({ kind: "unavailable", error });
  down = false;
  expect(await stage.claim(record, inFlight)).toMatchObject({ kind: "claimed", fence: null });
});

test("a redelivery of a committed record is a duplicate (C3)", async () => {
  await using world = createStageWorld();
  const { record, inFlight } = world.message("a", {}, { receiveCount: 2 });
  await commitElsewhere(world, record.key);
  expect(await claimStage(world).claim(record, inFlight)).toMatchObject({ kind: "duplicate" });
});

test("a claim outlives its lease while it is renewed, and ends after stopRenewal (C1)", async () => {
  await using world = createStageWorld();
  const stage = claimStage(world, false);
  const { record, inFlight } = world.message("a");
  const claim = await stage.claim(record, inFlight);
  if (claim.kind !== "claimed") throw new Error(claim.kind);
  const claimAsOther = async () => {
    const lease = { owner: "other", leaseMs: durationMs(LEASE_MS) };
    const request = { key: record.key, input: ANY_INPUT, receivedAt: world.clock.now() };
    const [answer] = await world.store.claim(world.scope, [request], lease);
    return answer;
  };
  await world.pass(3 * LEASE_MS);
  expect(await claimAsOther()).toMatchObject({ kind: "busy", owner: OWNER });
  stage.stopRenewal(record, claim, inFlight);
  await world.pass(LEASE_MS + 1_000);
  expect(inFlight.alive()).toBe(true);
  expect(await claimAsOther()).toMatchObject({ kind: "claimed", attempt: 2 });
});

test("a ledger that does not answer is an outcome, not a rejection", async () => {
  const error = new TidegateError("TG_LEDGER_UNAVAILABLE", "down");
  await using world = createStageWorld({
    wrapLedger: (ledger) => ({ ...ledger, claim: () => Promise.reject(error) }),
  });
  const { record, inFlight } = world.message("a", {}, { receiveCount: 2 });
  const claimed = await claimStage(world).claim(record, inFlight);
  expect(claimed).toEqual({ kind: "unavailable", error });
});
