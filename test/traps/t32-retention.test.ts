import { expect, test } from "vitest";
import { days, durationMs, hours } from "../../src/core/units.ts";
import { asRecordKey, RETENTION_MS_DEFAULT } from "../../src/ledger/record-state.ts";
import { createMemoryLedger } from "../../src/stores/memory/ledger.ts";
import { createManualClock } from "../support/manual-clock.ts";
import {
  claimOne,
  commitOne,
  fenceIn,
  onEveryLedger,
  SCOPE,
  T0,
} from "../support/traps/ledgers.ts";

onEveryLedger("T32: the ledger remembers longer than any queue", (fresh) => {
  test("a message redriven after 14 days in each of two queues is a duplicate", async () => {
    const world = fresh();
    await commitOne(world, "a", fenceIn(await claimOne(world, "a")));
    world.clock.advance(days(28));
    expect(await claimOne(world, "a")).toMatchObject({ kind: "duplicate" });
    expect(RETENTION_MS_DEFAULT).toBeGreaterThan(days(28));
  });

  test("expiry depends on the clock, not on when rows are deleted", async () => {
    const world = fresh();
    await commitOne(world, "a", fenceIn(await claimOne(world, "a")));
    world.clock.advance(durationMs(RETENTION_MS_DEFAULT - 1));
    expect(await world.ledger.purge(100)).toBe(0);
    expect(await claimOne(world, "a")).toMatchObject({ kind: "duplicate" });
    world.clock.advance(durationMs(1));
    expect(await world.ledger.show(SCOPE, asRecordKey("a"))).toBeUndefined();
    expect(await claimOne(world, "a")).toMatchObject({ kind: "claimed", attempt: 1 });
  });
});

test("T32: a retention shorter than a lease is rejected", () => {
  const clock = createManualClock(T0);
  const open = () => createMemoryLedger({ clock }, { retentionMs: hours(12) });
  expect(open).toThrow(expect.objectContaining({ code: "TG_VALUE_INVALID" }));
});
