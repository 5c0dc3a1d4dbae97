import { expect, test } from "vitest";
import { SimProcess } from "../hosts/process.ts";
import { Scheduler } from "../scheduler.ts";
import { TraceHash } from "../trace-hash.ts";
import { FrozenHolders } from "./frozen-holders.ts";

const LEASE_MS = 10_000;
const drain = () => new Promise<void>((resolve) => setImmediate(resolve));

function createHolders(rate: number, seed = 1) {
  const scheduler = new Scheduler({ startAt: 0, trace: new TraceHash(), drain });
  const fired: string[] = [];
  const fires = (_: string, what: string) => fired.push(what) > 0;
  const options = { seed, rate, leaseMs: LEASE_MS, scheduler, faults: { fires }, quietAt: 1e9 };
  const holders = new FrozenHolders(options);
  const create = (name: string) => new SimProcess(name, scheduler, () => {});
  const [holder, thread, other] = [create("consumer-1"), create("thread"), create("consumer-2")];
  holders.join([holder, thread]);
  return { holders, scheduler, fired, holder, thread, other };
}

test("without the fault, and for processes that did not join, a call runs immediately", async () => {
  const none = createHolders(0);
  expect(await none.holders.run(none.holder, "commit", ["k"], async () => 1)).toBe(1);
  const all = createHolders(1);
  expect(await all.holders.run(all.other, "commit", ["k"], async () => 2)).toBe(2);
  expect([none.fired, all.fired]).toEqual([[], []]);
});

test.each([1, 2, 3, 4, 5, 6])(
  "seed %i: a frozen process outlives its lease, and others find its records busy",
  async (seed) => {
    const { holders, scheduler, fired, holder, thread, other } = createHolders(1, seed);
    let ranAt = -1;
    const call = holders.run(holder, "commit", ["k"], async () => {
      ranAt = scheduler.now;
    });
    expect([holder.frozen, thread.frozen]).toEqual([true, true]); // Z3
    const isBefore = fired[0]?.includes("before") === true;
    expect(holders.isLocked(other, "k")).toBe(isBefore); // Z1
    expect([holders.isLocked(other, "free"), holders.isLocked(holder, "k")]).toEqual([
      false,
      false,
    ]);
    await scheduler.run(LEASE_MS);
    expect([holder.frozen, ranAt]).toEqual([true, isBefore ? -1 : 0]);
    await scheduler.run(10 * LEASE_MS);
    await call;
    expect([holder.frozen, thread.frozen, holders.isLocked(other, "k")]).toEqual([
      false,
      false,
      false,
    ]);
    expect(ranAt).toBeGreaterThanOrEqual(isBefore ? LEASE_MS : 0); // Its old call, much later.
  },
);
