import { expect, test } from "vitest";
import { createProducerWorld, event } from "../../test/support/producer-world.ts";
import { days, hours, minutes, seconds } from "../core/units.ts";
import type { Outbox } from "../ports/outbox.ts";
import { perEntity } from "./group-strategy.ts";
import { createProducer } from "./producer.ts";
import { createRelay } from "./relay.ts";

const GROUPS = { groups: perEntity((each) => each.dedupeKey) };
const RETENTION_MS = days(45);

/** A world whose outbox records its purges, and fails them on request. */
async function createPurgeWorld(more: Partial<Outbox> = {}) {
  const world = await createProducerWorld();
  const purges: number[] = [];
  const state = { fails: false };
  const warnings: string[] = [];
  const outbox: Outbox = {
    ...world.outbox,
    ...more,
    async purge(limit) {
      if (state.fails) throw new Error("database is down");
      const purged = await world.outbox.purge(limit);
      purges.push(purged);
      return purged;
    },
  };
  const log = (_level: string, message: string) => void warnings.push(message);
  const telemetry = { ...world.ports.telemetry, log };
  const clock = world.cloud.clock;
  return { world, purges, state, warnings, clock, ports: { ...world.ports, outbox, telemetry } };
}

test("a producer deletes expired rows with a later send, at most once an hour", async () => {
  const { world, purges, clock, ports } = await createPurgeWorld();
  await using _ = world;
  const producer = createProducer(ports, GROUPS);
  await producer.send(event("a"));
  expect(purges).toEqual([]);
  await clock.advance(RETENTION_MS);
  expect(purges).toEqual([]); // No timer runs without a send (U2).
  await producer.send(event("b"));
  await clock.advance(seconds(1));
  expect(purges).toEqual([1, 0]);
  await producer.send(event("c"));
  await clock.advance(seconds(1));
  expect(purges).toEqual([1, 0]);
  await clock.advance(hours(2));
  await producer.send(event("d"));
  expect(purges).toEqual([1, 0, 0]);
  await producer.close();
});

test("a failed purge fails no send, is logged, and is tried again in the next round", async () => {
  const { world, purges, state, warnings, clock, ports } = await createPurgeWorld();
  await using _ = world;
  const producer = createProducer(ports, GROUPS);
  state.fails = true;
  await clock.advance(minutes(2));
  expect(await producer.send(event("a"))).toMatchObject({ kind: "sent" });
  await clock.advance(seconds(1));
  expect(warnings).toEqual(["outbox purge failed, retrying in the next round: database is down"]);
  state.fails = false;
  await clock.advance(hours(2));
  await producer.send(event("b"));
  expect(purges).toEqual([0]);
  await producer.close();
});

test("a relay deletes expired rows while it runs", async () => {
  const { world, purges, clock, ports } = await createPurgeWorld();
  await using _ = world;
  const producer = createProducer(ports, GROUPS);
  await producer.send(event("a"));
  await producer.close();
  await clock.advance(RETENTION_MS);
  const stop = new AbortController();
  const running = createRelay(ports).run(stop.signal);
  for (let minute = 0; minute < 3; minute += 1) await clock.advance(minutes(1));
  expect(purges).toEqual([1, 0]);
  stop.abort();
  await running;
});

test("an outbox that deletes expired rows by itself is not purged (U5)", async () => {
  const { world, purges, clock, ports } = await createPurgeWorld({ expiresRows: true });
  await using _ = world;
  const producer = createProducer(ports, GROUPS);
  await clock.advance(RETENTION_MS);
  await producer.send(event("a"));
  await clock.advance(seconds(1));
  expect(purges).toEqual([]);
  await producer.close();
});

test("closing a producer ends a purge after its current batch", async () => {
  const { world, clock, ports } = await createPurgeWorld();
  await using _ = world;
  let batches = 0;
  const outbox: Outbox = {
    ...ports.outbox,
    async purge(limit) {
      batches += 1;
      return limit;
    },
  };
  const producer = createProducer({ ...ports, outbox }, GROUPS);
  await clock.advance(minutes(2));
  await producer.send(event("a"));
  await producer.close();
  const atClose = batches;
  await clock.advance(hours(1));
  expect([atClose > 0, batches]).toEqual([true, atClose]);
});
