import { expect, test } from "vitest";
import { createConsumerWorld } from "../../../test/support/consumer-world.ts";
import { addMs, days, durationMs } from "../../core/units.ts";
import type { Ledger } from "../../ports/ledger.ts";
import { longestLeaseMs } from "../policy/retry.ts";

// The clock was two days ahead when the ledger was asked, and was set back before the answer came.
test("a lease that seems to end in days delays a record for the longest lease only (Y5)", async () => {
  const handled: string[] = [];
  const world = await createConsumerWorld({
    handler: ({ envelope }) => void handled.push(envelope.dedupe_key),
    pipeline: { lease: "ledger", timeoutMs: durationMs(10_000) },
  });
  await using _ = world;
  let isFirst = true;
  const claim: Ledger["claim"] = async (scope, requests, lease) => {
    if (!isFirst) return await world.ledger.claim(scope, requests, lease);
    isFirst = false;
    const until = addMs(world.cloud.clock.now(), days(2));
    return requests.map(() => ({ kind: "busy", until, owner: "other" }));
  };
  const consumer = world.consumer("me", { ledger: { ...world.ledger, claim } });
  await consumer.start();
  await world.send("a");
  await world.pass(5_000);
  expect([isFirst, handled]).toEqual([false, []]);
  await world.pass(longestLeaseMs(world.pipeline));
  expect(handled).toEqual(["a"]);
});
