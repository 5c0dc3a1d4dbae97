import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { ANY_INPUT } from "../../../test/support/stores/any-input.ts";
import { createVirtualClock } from "../../cloud/virtual-clock.ts";
import { createSeededRandom } from "../../core/seeded-random.ts";
import { days, epochMs, hours, minutes, seconds } from "../../core/units.ts";
import { asRecordKey } from "../../ledger/record-state.ts";
import { createMemoryLedger } from "../../stores/memory/ledger.ts";
import { startLedgerPurger } from "./ledger-purger.ts";

const scope = { pipeline: "orders", generation: 0 };

function world(seed = 1) {
  const clock = createVirtualClock({ startAt: epochMs(0), idle: () => nextTurn() });
  const random = createSeededRandom(seed);
  const ports = { clock, random, turn: { afterTurn: queueMicrotask } };
  const ledger = createMemoryLedger(ports, { retentionMs: days(1) });
  const purged: number[] = [];
  const warnings: string[] = [];
  const ahead: number[] = [];
  const telemetry = {
    count: (_name: string, by = 1) => void purged.push(by),
    gauge: (_name: string, value: number) => void ahead.push(value),
    log: (_level: string, message: string) => void warnings.push(message),
  };
  const claim = async (count: number) => {
    const lease = { owner: "w", leaseMs: seconds(30) };
    for (let at = 0; at < count; at += 1) {
      const request = {
        key: asRecordKey(`k1:${clock.now()}-${at}`),
        input: ANY_INPUT,
        receivedAt: clock.now(),
      };
      await ledger.claim(scope, [request], lease);
    }
  };
  return { clock, ledger, purged, warnings, ahead, claim, ports: { ...ports, telemetry, ledger } };
}

test("expired rows are deleted in batches within two minutes of the start, then hourly", async () => {
  const { clock, claim, purged, ports } = world();
  await claim(1_200);
  await clock.advance(days(1));
  await claim(3);
  const purger = startLedgerPurger(ports, "memory");
  await clock.advance(minutes(2));
  expect(purged).toEqual([500, 500, 200]);
  await clock.advance(days(1) + hours(2));
  expect(purged.slice(3)).toEqual([3]);
  await purger.close();
});

test("processes that start together purge at different times", async () => {
  const times = await Promise.all(
    [1, 2, 3].map(async (seed) => {
      const { clock, ports } = world(seed);
      const calls: number[] = [];
      const ledger = {
        async purge() {
          calls.push(clock.now());
          return 0;
        },
        leap: () => null,
      };
      const purger = startLedgerPurger({ ...ports, ledger }, "postgres");
      await clock.advance(hours(4));
      await purger.close();
      return calls;
    }),
  );
  const all = times.flat();
  expect(new Set(all).size).toBe(all.length);
  for (const calls of times) expect(calls.length).toBeGreaterThanOrEqual(3);
});

test("a failed purge is logged, and the next round tries again", async () => {
  const { clock, warnings, purged, ports } = world();
  let fails = true;
  const ledger = {
    async purge() {
      if (fails) throw new Error("database is down");
      return 0;
    },
    leap: () => null,
  };
  const purger = startLedgerPurger({ ...ports, ledger }, "postgres");
  await clock.advance(minutes(2));
  fails = false;
  await clock.advance(hours(2));
  expect(warnings).toEqual(["ledger purge failed, retrying in the next round: database is down"]);
  expect(purged).toEqual([]);
  await purger.close();
});

test("on DynamoDB nothing is purged, because its time to live does it", async () => {
  const { clock, ports } = world();
  const purge = () => Promise.reject(new Error("must not be called"));
  const ledger = { purge, leap: () => null };
  const purger = startLedgerPurger({ ...ports, ledger }, "dynamodb");
  await clock.advance(hours(3));
  await purger.close();
});

test("a leap of the clock is reported in every round, and nothing is purged by it (U5)", async () => {
  const { clock, claim, purged, warnings, ahead, ports } = world();
  await claim(3);
  let leapMs = 0;
  const system = { ...clock, virtual: false, now: () => epochMs(clock.now() + leapMs) };
  const ledger = createMemoryLedger({ clock: system }, { retentionMs: days(1) });
  await ledger.claim(
    scope,
    [{ key: asRecordKey("k1:a"), input: ANY_INPUT, receivedAt: epochMs(0) }],
    {
      owner: "w",
      leaseMs: seconds(30),
    },
  );
  leapMs = days(5);
  const purger = startLedgerPurger({ ...ports, ledger }, "memory");
  await clock.advance(minutes(2));
  expect(warnings).toEqual([expect.stringContaining("the clock is 120 hours ahead")]);
  expect(ahead).toEqual([days(5) / 1_000]);
  leapMs = 0;
  await clock.advance(hours(2));
  expect(ahead.at(-1)).toBe(0);
  expect(purged).toEqual([]);
  await purger.close();
});
