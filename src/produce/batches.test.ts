import { describe, expect, test } from "vitest";
import {
  createProducerWorld,
  event,
  type ProducerWorld,
  passTime,
  unavailable,
} from "../../test/support/producer-world.ts";
import { ANY_INPUT } from "../../test/support/stores/any-input.ts";
import { ownIdentity } from "../core/events/own-message.ts";
import { hours, minutes } from "../core/units.ts";
import { recordKey } from "../ledger/record-key.ts";
import type { Ledger } from "../ports/ledger.ts";
import type { Outbox } from "../ports/outbox.ts";
import { createMemoryLedger } from "../stores/memory/ledger.ts";
import { type BatchPoint, createBatches, type JobInput } from "./batches.ts";
import { createJobRegistry } from "./jobs.ts";
import { createRelay } from "./relay.ts";
import { createSweeper } from "./sweeper.ts";
import { SEND_LEASE_MS } from "./target.ts";

const SCOPE = { pipeline: "downloads", generation: 0 };
const QUEUE = "downloads.fifo";
const groups = () => "data-download-group";
const keyOf = (name: string) => recordKey(SCOPE, ownIdentity("downloads", "body", name));
const job = (name: string, batch = "B"): JobInput => ({
  key: name,
  body: { FileID: name, Entity: "accounts", BatchID: batch },
});
const jobs = (...names: readonly string[]) => names.map((name) => job(name));

async function createWorld(outbox?: Outbox) {
  const world = await createProducerWorld(QUEUE, outbox && { outbox });
  const ledger = createMemoryLedger({ clock: world.cloud.clock });
  const ports = { ...world.ports, ledger };
  const registry = createJobRegistry(ports, { target: QUEUE, scope: SCOPE });
  const batches = createBatches(ports, { scope: SCOPE, groups, owner: "poller" });
  return { world, ledger, ports, registry, batches };
}

async function claim(ledger: Ledger, world: ProducerWorld, name: string) {
  const receivedAt = world.cloud.clock.now();
  const request = { key: keyOf(name), receivedAt, input: ANY_INPUT };
  const lease = { owner: "worker", leaseMs: minutes(5) };
  const [result] = await ledger.claim(SCOPE, [request], lease);
  if (result?.kind !== "claimed") throw new Error(`not claimed but ${result?.kind}`);
  return result.fence;
}

async function commit(ledger: Ledger, world: ProducerWorld, ...names: readonly string[]) {
  for (const name of names) {
    const fence = await claim(ledger, world, name);
    await ledger.commit(SCOPE, [{ key: keyOf(name), fence, digest: "d" }]);
  }
}

async function park(ledger: Ledger, world: ProducerWorld, name: string) {
  const failure = { errorClass: "x", fingerprint: "x", message: "404" };
  const fence = await claim(ledger, world, name);
  const attempt = { key: keyOf(name), fence, owner: "worker", permanent: true, failure };
  await ledger.fail(SCOPE, [{ ...attempt, receivedAt: world.cloud.clock.now(), input: ANY_INPUT }]);
}

describe("a batch", () => {
  test("is complete once every job is committed, not when it is sent", async () => {
    const { world, ledger, registry, batches } = await createWorld();
    await using _ = world;
    const result = await batches.register("B", jobs("a", "b", "c"));
    expect(result).toMatchObject({ kind: "registered", added: 3, sent: 3, failed: null });
    const bodies = (await world.messages()).map(({ body }) => body);
    expect(bodies[0]).toEqual({ FileID: "a", Entity: "accounts", BatchID: "B" });
    expect(await registry.isDone("B")).toBe(false);
    await commit(ledger, world, "a");
    await claim(ledger, world, "b");
    await park(ledger, world, "c");
    const report = await registry.batch("B");
    const open = { available: 0, claimed: 1, failed: 1 };
    expect(report).toMatchObject({ state: "open", items: 3, done: 1, open });
    expect(report?.jobs.map(({ name, status, reason }) => [name, status, reason])).toEqual([
      ["b", "claimed", null],
      ["c", "failed", "404"],
    ]);
    await world.cloud.clock.advance(minutes(6));
    await commit(ledger, world, "b");
    await ledger.reopen(SCOPE, [keyOf("c")]);
    await commit(ledger, world, "c");
    expect(await registry.isDone("B")).toBe(true);
    expect(await registry.batch("B")).toMatchObject({ state: "complete", done: 3, jobs: [] });
  });

  test("registered again with the same jobs, in another order and with repeats, stays the same", async () => {
    const { world, registry, batches } = await createWorld();
    await using _ = world;
    await batches.register("B", jobs("a", "b"));
    const again = await batches.register("B", jobs("b", "a", "b"));
    expect(again).toMatchObject({ kind: "registered", added: 0, sent: 0 });
    expect(await world.messages()).toHaveLength(2);
    expect(await registry.batch("B")).toMatchObject({ items: 2 });
  });

  test("registered again with other jobs is a conflict, and nothing is stored or sent", async () => {
    const { world, registry, batches } = await createWorld();
    await using _ = world;
    await batches.register("B", jobs("a", "b"));
    const other = await batches.register("B", jobs("a", "c"));
    expect(other).toMatchObject({ kind: "conflict", itemCount: 2, batch: { itemCount: 2 } });
    expect(await registry.findOwn("c")).toBeUndefined();
    const replaced = await batches.register("B", jobs("a", "c"), { replace: true });
    expect(replaced).toMatchObject({ kind: "registered", added: 1, sent: 1 });
    expect((await registry.batch("B"))?.jobs.map(({ name }) => name)).toEqual(["a", "c"]);
  });

  test("without jobs is complete at once", async () => {
    const { world, registry, batches } = await createWorld();
    await using _ = world;
    expect(await registry.isDone("none")).toBe(false);
    await batches.register("none", []);
    expect(await registry.isDone("none")).toBe(true);
  });

  test("shares a job with another batch: it is sent once and counts in both", async () => {
    const { world, ledger, registry, batches } = await createWorld();
    await using _ = world;
    await batches.register("B", [job("a", "B"), job("b", "B")]);
    const second = await batches.register("C", [job("a", "C"), job("c", "C")]);
    expect(second).toMatchObject({ kind: "registered", added: 1, sent: 1 });
    await commit(ledger, world, "a", "b");
    expect(await registry.isDone("B")).toBe(true);
    expect(await registry.batch("C")).toMatchObject({ done: 1, state: "open" });
    const names: string[] = [];
    for await (const { name } of registry.batches()) names.push(name);
    expect(names).toEqual(["B", "C"]);
  });

  test("of two concurrent registrations of the same jobs, both succeed and each job is sent once", async () => {
    const { world, ports, batches } = await createWorld();
    await using _ = world;
    const other = createBatches(ports, { scope: SCOPE, groups, owner: "other" });
    const names = Array.from({ length: 50 }, (_, n) => `f${n}`);
    const results = await passTime(
      world,
      Promise.all([
        batches.register("B", jobs(...names)),
        other.register("B", jobs(...names.toReversed())),
      ]),
    );
    expect(results.map(({ kind }) => kind)).toEqual(["registered", "registered"]);
    expect(new Set(results.map(({ batch }) => batch.id)).size).toBe(1);
    await createRelay(ports, {}).drain();
    await world.cloud.clock.advance(minutes(2));
    await createRelay(ports, {}).drain();
    const sent = (await world.messages()).map(({ body }) => body.FileID);
    expect(sent.toSorted()).toEqual(names.toSorted());
  });

  test("that is registered at the same time as others sends each of their jobs once (N5)", async () => {
    const world = await createProducerWorld("downloads");
    await using _ = world;
    const ledger = createMemoryLedger({ clock: world.cloud.clock });
    const batches = createBatches({ ...world.ports, ledger }, { scope: SCOPE, owner: "poller" });
    const names = Array.from({ length: 30 }, (_, n) => `f${n}`);
    const register = (name: string) => batches.register(`B-${name}`, [job(name)]);
    const results = await passTime(world, Promise.all(names.map(register)));
    expect(results.map(({ kind }) => kind)).toEqual(names.map(() => "registered"));
    const sent = world.calls
      .flat()
      .map(({ body }) => (JSON.parse(body) as { FileID: string }).FileID);
    expect(sent.toSorted()).toEqual(names.toSorted());
  });

  test("whose sends fail reports it to every registration that shares them (N5)", async () => {
    const { world, batches } = await createWorld();
    await using _ = world;
    world.interfere = unavailable;
    const register = (name: string) => batches.register(`B-${name}`, [job(name)]);
    const failing = await passTime(world, Promise.all(["a", "b", "c"].map(register)));
    for (const result of failing) expect(result).toMatchObject({ failed: expect.any(Error) });
    world.interfere = (messages, send) => send(messages);
    expect(await passTime(world, register("a"))).toMatchObject({ sent: 3, failed: null });
  });

  test("may have events of a producer instead of own messages", async () => {
    const { world, registry, batches } = await createWorld();
    await using _ = world;
    await batches.register("B", [event("a"), event("b")]);
    expect((await registry.batch("B"))?.jobs.map(({ name }) => name)).toEqual(["a", "b"]);
    const mixed = batches.register("C", [event("a"), job("a")]);
    await expect(mixed).rejects.toMatchObject({ code: "TG_VALUE_INVALID" });
  });

  test("whose list changes while it is read is rejected and not sealed (N1)", async () => {
    const { world, registry, batches } = await createWorld();
    await using _ = world;
    let reads = 0;
    const changing = () => {
      reads += 1;
      return reads === 1 ? jobs("a", "b") : jobs("a");
    };
    const registering = batches.register("B", changing);
    await expect(registering).rejects.toMatchObject({ code: "TG_VALUE_INVALID" });
    expect(await registry.batch("B")).toMatchObject({ state: "registering" });
  });

  test("of invalid jobs is rejected before anything is stored", async () => {
    const { world, registry, batches } = await createWorld();
    await using _ = world;
    for (const bad of [
      { key: "", body: 1 },
      { key: "k", body: "" },
      { key: Number.NaN, body: 1 },
    ]) {
      const registering = batches.register("B", [job("a"), bad]);
      await expect(registering).rejects.toMatchObject({ code: "TG_VALUE_INVALID" });
    }
    const nameless = batches.register(" ", jobs("a"));
    await expect(nameless).rejects.toMatchObject({ code: "TG_VALUE_INVALID" });
    expect(await registry.batch("B")).toBeUndefined();
    expect(await world.messages()).toEqual([]);
  });

  test("reads a million jobs in pages, from a function", async () => {
    const { world, ports } = await createWorld();
    await using _ = world;
    const count = Number(process.env.TIDEGATE_BATCH_ITEMS ?? 20_000);
    let largest = 0;
    const outbox: Outbox = {
      ...world.outbox,
      addBatchItems(id, items) {
        largest = Math.max(largest, items.length);
        return world.outbox.addBatchItems(id, items);
      },
    };
    function* many() {
      for (let n = 0; n < count; n += 1) yield job(`file-${n}`);
    }
    const target = { ...ports.target, sendBatch: unavailable };
    const batches = createBatches({ ...ports, outbox, target }, { scope: SCOPE, groups });
    const result = await passTime(world, batches.register("huge", many));
    expect(result).toMatchObject({ kind: "registered", added: count, sent: 0 });
    expect(largest).toBe(500);
  });
});

describe("a registration that is killed", () => {
  const POINTS: readonly BatchPoint[] = ["opened", "rows-stored", "page-stored", "sealed"];
  test.each(POINTS)("at %s is never taken for complete, and continues", async (point) => {
    const { world, ledger, ports, registry, batches } = await createWorld();
    await using _ = world;
    const names = Array.from({ length: 700 }, (_, n) => `f${n}`);
    const killed = createBatches(ports, {
      scope: SCOPE,
      groups,
      owner: "killed",
      onPoint(at) {
        if (at === point) throw new Error("killed");
      },
    });
    await expect(killed.register("B", jobs(...names))).rejects.toThrow("killed");
    await world.cloud.clock.advance(minutes(3));
    await createRelay(ports, {}).drain();
    for (const { body } of await world.messages()) await commit(ledger, world, String(body.FileID));
    if (point !== "sealed") expect(await registry.isDone("B")).toBe(false);
    const other = await batches.register("B", jobs("x"));
    expect(other.kind).toBe("conflict");
    await batches.register("B", jobs(...names));
    const sent = (await world.messages()).map(({ body }) => String(body.FileID));
    expect(sent.toSorted()).toEqual(names.toSorted());
    for (const name of names) {
      const { status } = (await registry.findOwn(name)) ?? {};
      if (status !== "completed") await commit(ledger, world, name);
    }
    expect(await registry.isDone("B")).toBe(true);
  });
});

describe("a retry", () => {
  test("sends what is stuck under a new deduplication id, and leaves claimed and dead jobs", async () => {
    const { world, ledger, registry, batches } = await createWorld();
    await using _ = world;
    await batches.register("B", jobs("stuck", "slow", "dead", "done"));
    await claim(ledger, world, "slow");
    await park(ledger, world, "dead");
    await commit(ledger, world, "done");
    const report = await batches.retry("B");
    expect(report).toMatchObject({ sent: 1, claimed: 1, failed: null });
    expect(report?.deadLettered.map(({ name }) => name)).toEqual(["dead"]);
    const ids = world.calls.flat().map(({ dedupId }) => dedupId);
    expect(ids.slice(0, 4)).toEqual(["stuck", "slow", "dead", "done"]);
    expect(ids).toHaveLength(5);
    expect(ids[4]).toMatch(/^[0-9a-f]{64}$/);
    expect(await world.messages()).toHaveLength(5);
    expect(await registry.findOwn("stuck")).toMatchObject({ epoch: 1 });
    expect(await batches.retry("unknown")).toBeUndefined();
  });

  test("sends jobs that the queue had refused, and those of a registration that could not send", async () => {
    const { world, batches, registry } = await createWorld();
    await using _ = world;
    world.interfere = unavailable;
    const registered = await passTime(world, batches.register("B", jobs("a")));
    expect(registered).toMatchObject({ kind: "registered", sent: 0 });
    expect(registered.kind === "registered" && registered.failed).toMatchObject({
      code: "TG_QUEUE_UNAVAILABLE",
    });
    world.interfere = async (messages) =>
      messages.map(() => ({ kind: "refused", code: "X", message: "no", retry: "never" }) as const);
    await batches.retry("B");
    expect(await registry.findOwn("a")).toMatchObject({ status: "failed" });
    world.interfere = (messages, send) => send(messages);
    expect(await batches.retry("B")).toMatchObject({ sent: 1, deadLettered: [] });
    expect(await world.messages()).toHaveLength(1);
  });

  test("and a registration at the same time send a job once (N5)", async () => {
    const { world, batches, registry } = await createWorld();
    await using _ = world;
    await batches.register("B", jobs("a"));
    let registering: Promise<unknown> | null = null;
    world.interfere = async (messages, send) => {
      registering ??= batches.register("C", jobs("b")); // While the retry sends "a".
      while ((await registry.findOwn("b")) === undefined) await Promise.resolve();
      return send(messages);
    };
    await passTime(world, batches.retry("B"));
    await passTime(world, registering ?? Promise.reject(new Error("not registered")));
    const sent = world.calls
      .flat()
      .map(({ body }) => (JSON.parse(body) as { FileID: string }).FileID);
    expect(sent.toSorted()).toEqual(["a", "a", "b"]);
  });

  test("and a sweep at the same time republish a job once", async () => {
    const { world, ports, batches } = await createWorld();
    await using _ = world;
    await batches.register("B", jobs("a"));
    await world.cloud.clock.advance(hours(2));
    const sweeper = createSweeper(ports, { scope: SCOPE, stuckAfterMs: hours(1) });
    await Promise.all([batches.retry("B"), sweeper.sweep()]);
    expect(await world.messages()).toHaveLength(2);
  });
});

test("jobs that a dead process leases are reported, and sent once its lease has ended", async () => {
  const { world, ports, batches } = await createWorld();
  const killed = createBatches(ports, {
    scope: SCOPE,
    groups,
    owner: "killed",
    onPoint(at) {
      if (at === "sealed") throw new Error("killed");
    },
  });
  await expect(killed.register("B", jobs("a", "b"))).rejects.toThrow("killed");
  const until = Number(world.cloud.clock.now()) + SEND_LEASE_MS;
  const leased = { count: 2, owner: "killed", until };
  const early = await batches.register("B", jobs("a", "b"));
  expect(early).toMatchObject({ kind: "registered", sent: 0, failed: null, leased });
  await world.cloud.clock.advance(minutes(3));
  const late = await batches.register("B", jobs("a", "b"));
  expect(late).toMatchObject({ kind: "registered", sent: 2, failed: null, leased: null });
});
