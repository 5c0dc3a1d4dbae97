import { describe, expect, test } from "vitest";
import { EngineBench } from "../../../test/support/broker/engine-bench.ts";
import { entry, inGroup } from "../../../test/support/broker/model-bench.ts";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { CLOCK_WAIT_MS } from "../../core/store-clock.ts";
import { days, hours, minutes } from "../../core/units.ts";
import { createMemoryBrokerStore } from "../../stores/memory/broker-store.ts";

const START = 1_700_000_000_000;

/** Brokers on one store, one after the other, each with its own clock. */
function brokersOn(store = createMemoryBrokerStore()) {
  const errors: unknown[] = [];
  const onError = (error: unknown) => void errors.push(error);
  const openAt = (instant: number, options: { acceptClock?: boolean } = {}) =>
    EngineBench.open({ store, clock: new ManualClock(instant), onError, ...options });
  return { errors, openAt };
}

const bodies = async (bench: EngineBench, queue = "q") => {
  const { messages } = await bench.ok("peek", { queue, afterSeq: 0, limit: 100 });
  return messages.map(({ body }) => body);
};

/** A queue with one message, sent at START; its retention is four days. */
async function withMessage() {
  const brokers = brokersOn();
  const first = await brokers.openAt(START);
  await first.create("q");
  await first.send("q", entry("a"));
  await first.broker.close();
  return brokers;
}

describe("a start with a clock five days ahead", () => {
  test("erases nothing, and neither does the next start with a right clock", async () => {
    const { openAt } = await withMessage();
    const ahead = await openAt(START + days(5));
    await ahead.pass(minutes(2));
    expect(await bodies(ahead)).toEqual(["a"]);
    await ahead.broker.close();
    const right = await openAt(START + minutes(3));
    await right.pass(minutes(2));
    expect(await bodies(right)).toEqual(["a"]);
  });

  test("does not make its own stamps the proof of its time (B1)", async () => {
    const { openAt } = await withMessage();
    const ahead = await openAt(START + days(5));
    await ahead.send("q", entry("b")); // Killed: it is never closed.
    const again = await openAt(START + days(5) + minutes(1));
    await again.pass(minutes(2));
    expect(await bodies(again)).toEqual(["a", "b"]);
  });

  test("is reported once, with the time until it counts (B4)", async () => {
    const { openAt, errors } = await withMessage();
    const ahead = await openAt(START + days(5));
    await ahead.pass(minutes(2));
    await ahead.pass(minutes(2));
    expect(errors).toEqual([expect.objectContaining({ code: "TG_CLOCK_LEAPT" })]);
    expect(ahead.broker.clockLeap).toMatchObject({ aheadMs: days(5) });
  });

  test("counts after a day of running, so that a store that was off continues", async () => {
    const { openAt } = await withMessage();
    const ahead = await openAt(START + days(5));
    await ahead.pass(CLOCK_WAIT_MS - minutes(10));
    expect(await bodies(ahead)).toEqual(["a"]);
    await ahead.pass(minutes(10));
    expect(await bodies(ahead)).toEqual([]);
    expect(ahead.broker.clockLeap).toBeNull();
  });

  test("counts at once if the clock is accepted", async () => {
    const { openAt, errors } = await withMessage();
    const ahead = await openAt(START + days(5), { acceptClock: true });
    expect(await bodies(ahead)).toEqual([]);
    expect(errors).toEqual([]);
  });
});

test("a clock that leaps while the broker runs expires no message and no deduplication id", async () => {
  const { openAt } = brokersOn();
  const bench = await openAt(START);
  await bench.create("q.fifo");
  await bench.send("q.fifo", inGroup("g", "a"));
  bench.clock.setWall(START + days(5));
  await bench.pass(minutes(2));
  await bench.send("q.fifo", inGroup("g", "a"));
  expect(await bodies(bench, "q.fifo")).toEqual(["a"]);
  await bench.pass(minutes(3));
  await bench.send("q.fifo", inGroup("g", "a"));
  expect(await bodies(bench, "q.fifo")).toEqual(["a", "a"]);
});

test("a deduplication id that is accepted behind a leap lasts five minutes as well", async () => {
  const { openAt } = brokersOn();
  const bench = await openAt(START);
  await bench.create("q.fifo");
  await bench.send("q.fifo", inGroup("g", "old"));
  bench.clock.setWall(START + days(5));
  await bench.send("q.fifo", inGroup("g", "a"));
  bench.clock.setWall(START);
  await bench.pass(minutes(5) - 1);
  await bench.send("q.fifo", inGroup("g", "a"));
  await bench.pass(1);
  await bench.send("q.fifo", inGroup("g", "a"));
  expect(await bodies(bench, "q.fifo")).toEqual(["old", "a", "a"]);
});

test("a message in flight is redelivered in time, however the clock leaps", async () => {
  const { openAt } = brokersOn();
  const bench = await openAt(START);
  await bench.create("q");
  await bench.send("q", entry("a"));
  bench.clock.setWall(START + days(5));
  expect(await bench.receive("q")).toHaveLength(1);
  bench.clock.setWall(START);
  await bench.pass(30_000);
  expect(await bench.receive("q")).toHaveLength(1);
});

test("a broker that is used once a day is not taken for one whose clock leapt (B2)", async () => {
  const { openAt, errors } = await withMessage();
  for (let day = 0; day < 3; day += 1) {
    const bench = await openAt(START + day * hours(23));
    await bench.pass(minutes(1));
    await bench.broker.close();
  }
  expect(errors).toEqual([]);
});

test("a store in which nothing can expire believes every clock (B3)", async () => {
  const { openAt, errors } = brokersOn();
  const first = await openAt(START);
  await first.create("q");
  await first.broker.close();
  const later = await openAt(START + days(50));
  await later.send("q", entry("a"));
  expect(later.broker.clockLeap).toBeNull();
  expect(errors).toEqual([]);
});
