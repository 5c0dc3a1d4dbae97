import { describe, expect, test } from "vitest";
import {
  createProducerWorld,
  event,
  type ProducerWorld,
} from "../../test/support/producer-world.ts";
import { ANY_INPUT } from "../../test/support/stores/any-input.ts";
import { envelopeKey } from "../core/events/envelope.ts";
import { hours, minutes, seconds } from "../core/units.ts";
import { recordKey } from "../ledger/record-key.ts";
import type { Ledger } from "../ports/ledger.ts";
import type { Fence } from "../ports/record.ts";
import { createMemoryLedger } from "../stores/memory/ledger.ts";
import { perEntity } from "./group-strategy.ts";
import { createJobRegistry } from "./jobs.ts";
import { createProducer } from "./producer.ts";
import { createSweeper } from "./sweeper.ts";

const SCOPE = { pipeline: "download", generation: 0 };
const { source } = event("a");
const keyOf = (name: string) => recordKey(SCOPE, envelopeKey(source, name));

async function createJobs() {
  const world = await createProducerWorld();
  const ledger = createMemoryLedger({ clock: world.cloud.clock });
  const ports = { ...world.ports, ledger };
  const producer = createProducer(world.ports, { groups: perEntity((e) => e.dedupeKey) });
  const registry = createJobRegistry(ports, { target: "orders.fifo", scope: SCOPE });
  const sweeper = createSweeper(ports, { scope: SCOPE, stuckAfterMs: hours(1) });
  return { world, ledger, ports, producer, registry, sweeper };
}

async function claim(ledger: Ledger, world: ProducerWorld, name: string): Promise<Fence> {
  const request = { key: keyOf(name), input: ANY_INPUT, receivedAt: world.cloud.clock.now() };
  const lease = { owner: "worker", leaseMs: minutes(5) };
  const [result] = await ledger.claim(SCOPE, [request], lease);
  if (result?.kind !== "claimed") throw new Error(`not claimed but ${result?.kind}`);
  return result.fence;
}

const fail = (ledger: Ledger, name: string, fence: Fence, permanent: boolean) => {
  const failure = { errorClass: "x", fingerprint: "x", message: "no space" };
  const attempt = { key: keyOf(name), fence, owner: "worker", permanent, failure };
  return ledger.fail(SCOPE, [{ ...attempt, input: ANY_INPUT, receivedAt: 0 as never }]);
};

describe("a job", () => {
  test("is available, claimed and completed; an expired lease makes it available again", async () => {
    const { world, ledger, producer, registry } = await createJobs();
    await using _ = world;
    const status = async () => (await registry.find(source, "a"))?.status;
    expect(await status()).toBeUndefined();
    await producer.send(event("a"));
    expect(await status()).toBe("available");
    await claim(ledger, world, "a");
    expect(await registry.find(source, "a")).toMatchObject({ status: "claimed", owner: "worker" });
    await world.cloud.clock.advance(minutes(5));
    expect(await registry.find(source, "a")).toMatchObject({ status: "available", owner: null });
    const fence = await claim(ledger, world, "a");
    await ledger.commit(SCOPE, [{ key: keyOf("a"), fence, digest: "d" }]);
    expect(await registry.find(source, "a")).toMatchObject({ status: "completed", attempts: 2 });
  });

  test("stays available after a failure, until it is parked", async () => {
    const { world, ledger, producer, registry } = await createJobs();
    await using _ = world;
    await producer.send(event("a"));
    await fail(ledger, "a", await claim(ledger, world, "a"), false);
    const expected = { status: "available", reason: "no space" };
    expect(await registry.find(source, "a")).toMatchObject(expected);
    await fail(ledger, "a", await claim(ledger, world, "a"), true);
    expect(await registry.find(source, "a")).toMatchObject({ ...expected, status: "failed" });
  });
});

describe("a sweep", () => {
  test("republishes jobs that were sent, are not done and are not claimed", async () => {
    const { world, ledger, producer, sweeper, registry } = await createJobs();
    await using _ = world;
    for (const name of ["stuck", "done", "slow", "parked"]) await producer.send(event(name));
    const fence = await claim(ledger, world, "done");
    await ledger.commit(SCOPE, [{ key: keyOf("done"), fence, digest: "d" }]);
    await fail(ledger, "parked", await claim(ledger, world, "parked"), true);
    expect(await sweeper.sweep()).toMatchObject({ republished: 0, done: 0 }); // Too early.
    await world.cloud.clock.advance(hours(1));
    await claim(ledger, world, "slow");
    const report = { sent: 0, republished: 1, done: 2, failed: null };
    expect(await sweeper.sweep()).toEqual(report);
    const keys = (await world.messages()).map(({ body }) => body.dedupe_key);
    expect(keys).toEqual(["stuck", "done", "slow", "parked", "stuck"]);
    expect(await registry.find(source, "stuck")).toMatchObject({ epoch: 1 });
    expect(await sweeper.sweep()).toMatchObject({ republished: 0, done: 0 });
  });

  test("sends jobs that were registered and never sent", async () => {
    const { world, producer, sweeper } = await createJobs();
    await using _ = world;
    world.interfere = () => new Promise(() => {}); // The producer dies here.
    void producer.send(event("a"));
    for (let turns = 0; turns < 5; turns += 1) await world.cloud.clock.advance(0);
    world.interfere = (messages, send) => send(messages);
    await world.cloud.clock.advance(minutes(2));
    expect(await sweeper.sweep()).toEqual({ sent: 1, republished: 0, done: 0, failed: null });
  });

  test("of two sweepers at once, one wins each job (W3)", async () => {
    const { world, ports, producer, sweeper } = await createJobs();
    await using _ = world;
    await Promise.all(Array.from({ length: 150 }, (_, n) => producer.send(event(`k${n}`))));
    await world.cloud.clock.advance(hours(1) + seconds(1));
    const other = createSweeper(ports, { scope: SCOPE, stuckAfterMs: hours(1) });
    const reports = await Promise.all([sweeper.sweep(), other.sweep()]);
    const total = reports.reduce((sum, { republished }) => sum + republished, 0);
    expect(total).toBe(150);
    expect(await world.messages()).toHaveLength(300);
  });
});
