import { expect, test } from "vitest";
import {
  createStageWorld,
  LEASE_MS,
  OWNER,
  type StageWorld,
} from "../../../test/support/stage-world.ts";
import { TidegateError } from "../../core/errors.ts";
import { durationMs } from "../../core/units.ts";
import { REDRIVEN_ATTRIBUTE } from "../dead-letters/dead-letter.ts";
import { createClaimStage } from "./claim.ts";

function claimStage(world: StageWorld, receiptIsEnough = true) {
  const { scope } = world;
  const leaseMs = durationMs(LEASE_MS);
  return createClaimStage(world, { scope, owner: OWNER, leaseMs, receiptIsEnough });
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

test("a committed record is a duplicate (C3)", async () => {
  await using world = createStageWorld();
  const { record, inFlight } = world.message("a", {}, { receiveCount: 2 });
  const { key } = record;
  const now = world.clock.now();
  await world.store.commitDirect(world.scope, [
    { key, digest: "d", effects: "{}", owner: "other", receivedAt: now, startedAt: now },
  ]);
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
    const request = { key: record.key, receivedAt: world.clock.now() };
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
