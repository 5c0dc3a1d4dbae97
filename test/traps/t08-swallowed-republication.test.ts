// T8: a clean-up job that resets a claim starts a second worker beside a slow first one. One that
// sends the same MessageDeduplicationId again within five minutes gets a success response while the
// queue drops the message.

import { describe, expect, test } from "vitest";
import { envelopeKey, messageDedupId } from "../../src/core/events/envelope.ts";
import { durationMs, minutes, seconds } from "../../src/core/units.ts";
import { recordKey } from "../../src/ledger/record-key.ts";
import { perEntity } from "../../src/produce/group-strategy.ts";
import { createProducer } from "../../src/produce/producer.ts";
import { createSweeper } from "../../src/produce/sweeper.ts";
import { createMemoryLedger } from "../../src/stores/memory/ledger.ts";
import { createProducerWorld, event } from "../support/producer-world.ts";
import { ANY_INPUT } from "../support/stores/any-input.ts";

const scope = { pipeline: "download", generation: 0 };
const { source } = event("a");
const key = recordKey(scope, envelopeKey(source, "a"));

async function createStuckJob() {
  const world = await createProducerWorld();
  const ledger = createMemoryLedger({ clock: world.cloud.clock });
  await createProducer(world.ports, { groups: perEntity(() => "g") }).send(event("a"));
  const claim = async (owner: string) => {
    const request = { key, input: ANY_INPUT, receivedAt: world.cloud.clock.now() };
    const [result] = await ledger.claim(scope, [request], { owner, leaseMs: seconds(30) });
    return result;
  };
  const stuckAfterMs = durationMs(minutes(1));
  const sweeper = createSweeper({ ...world.ports, ledger }, { scope, stuckAfterMs });
  return { world, ledger, claim, sweeper };
}

describe("T8: a republication is neither dropped nor a second worker", () => {
  test("the same id again gets a success response and is dropped", async () => {
    const { world } = await createStuckJob();
    await using _ = world;
    const dedupId = messageDedupId(source, "a");
    const message = { body: "again", attributes: {}, groupId: "g", dedupId };
    expect(await world.ports.target.sendBatch([message])).toMatchObject([{ kind: "sent" }]);
    expect(await world.messages()).toHaveLength(1);
  });

  test("a sweep within the five minutes really delivers the message to the queue", async () => {
    const { world, claim, sweeper } = await createStuckJob();
    await using _ = world;
    await claim("crashed");
    await world.cloud.clock.advance(minutes(2));
    expect(await sweeper.sweep()).toMatchObject({ republished: 1 });
    expect(await world.messages()).toHaveLength(2);
  });

  test("a live worker keeps its claim: nothing is sent, nothing reset", async () => {
    const { world, claim, sweeper } = await createStuckJob();
    await using _ = world;
    await world.cloud.clock.advance(minutes(2));
    expect(await claim("slow")).toMatchObject({ kind: "claimed" });
    expect(await sweeper.sweep()).toMatchObject({ republished: 0 });
    expect(await claim("second")).toMatchObject({ kind: "busy", owner: "slow" });
  });

  test("a worker that was only slow cannot commit once another took over", async () => {
    const { world, ledger, claim, sweeper } = await createStuckJob();
    await using _ = world;
    const slow = await claim("slow");
    await world.cloud.clock.advance(minutes(2));
    await sweeper.sweep();
    const second = await claim("second");
    if (slow?.kind !== "claimed" || second?.kind !== "claimed") throw new Error("not claimed");
    const commit = (fence: typeof slow.fence) =>
      ledger.commit(scope, [{ key, fence, digest: "d" }]);
    expect(await commit(slow.fence)).toEqual([{ kind: "fenced" }]);
    expect(await commit(second.fence)).toEqual([{ kind: "committed" }]);
  });
});
