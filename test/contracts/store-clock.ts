// The contract of stores under wrong clocks: what a ledger and an outbox keep, whatever the clocks
// of their processes show. Each process opens the store with its own clock.

import { describe, expect, test } from "vitest";
import { CLOCK_WAIT_MS } from "../../src/core/store-clock.ts";
import { days, hours, minutes, seconds } from "../../src/core/units.ts";
import { asRecordKey, LEASE_MS_MAX } from "../../src/ledger/record-state.ts";
import { MARK_MS } from "../../src/ledger/store-time.ts";
import type { Ledger } from "../../src/ports/ledger.ts";
import type { Outbox } from "../../src/ports/outbox.ts";
import { FAR_AHEAD, ManualClock } from "../support/manual-clock.ts";
import { ANY_INPUT } from "../support/stores/any-input.ts";

const SCOPE = { pipeline: "orders", generation: 1 };
const T0 = FAR_AHEAD;
const lease = (owner: string) => ({ owner, leaseMs: seconds(30) });

interface OpenOptions {
  readonly clock: ManualClock;
  readonly acceptClock?: boolean;
}

/** How a test opens one store several times. */
export interface ClockBinding<S> {
  readonly name: string;
  /** A function that opens the same empty store again and again. */
  fresh(): Promise<(options: OpenOptions) => Promise<S>>;
}

function claimer(ledger: Ledger, clock: ManualClock, owner = "w") {
  const request = (name: string) => ({
    key: asRecordKey(name),
    input: ANY_INPUT,
    receivedAt: clock.now(),
  });
  return async (name: string) =>
    (await ledger.claim(SCOPE, [request(name)], lease(owner))).map(({ kind }) => kind)[0];
}

async function process(
  open: (options: OpenOptions) => Promise<Ledger>,
  offsetMs: number,
  options: { readonly acceptClock?: boolean } = {},
) {
  const clock = new ManualClock(T0 + offsetMs);
  const ledger = await open({ clock, ...options });
  const claim = claimer(ledger, clock);
  const direct = async (name: string) => {
    const at = clock.now();
    const times = { input: ANY_INPUT, receivedAt: at, startedAt: at };
    const commit = { key: asRecordKey(name), owner: "w", digest: "d", ...times };
    return (await ledger.commitDirect(SCOPE, [commit])).map(({ kind }) => kind)[0];
  };
  return { clock, ledger, claim, direct };
}

export function describeLedgerClocks({ name, fresh }: ClockBinding<Ledger>): void {
  describe(`the ledger on ${name}, under wrong clocks`, () => {
    test("a claim of a process whose clock was a day ahead does not hold the record", async () => {
      const open = await fresh();
      const ahead = await process(open, hours(23));
      expect(await ahead.claim("a")).toBe("claimed");
      await ahead.ledger.close(); // It died.
      const right = await process(open, 0);
      expect(await right.claim("a")).toBe("claimed");
      await right.ledger.close();
    });

    test("a lease is believed up to the longest lease, and not beyond it", async () => {
      const open = await fresh();
      for (const [at, aheadMs, kind] of [
        ["b", LEASE_MS_MAX - seconds(30), "busy"],
        ["c", LEASE_MS_MAX - seconds(30) + 1, "claimed"],
      ] as const) {
        const ahead = await process(open, aheadMs);
        expect(await ahead.claim(at)).toBe("claimed");
        const right = await process(open, 0);
        expect(await right.claim(at)).toBe(kind);
        await Promise.all([ahead.ledger.close(), right.ledger.close()]);
      }
    });

    test("duplicates stay duplicates for a process whose clock is beyond the retention", async () => {
      const open = await fresh();
      const right = await process(open, 0);
      const names = Array.from({ length: 20 }, (_, n) => `n${n}`);
      for (const one of names) expect(await right.direct(one)).toBe("committed");
      const ahead = await process(open, days(50));
      for (const one of names) expect(await ahead.direct(one)).toBe("duplicate");
      expect(await ahead.ledger.purge(100)).toBe(0);
      expect(ahead.ledger.leap()).toMatchObject({ aheadMs: days(50) });
      const problems = await ahead.ledger.check();
      expect(problems.join(" ")).toContain("the newest instant in the store");
      await ahead.ledger.close();
      expect(await right.claim("n0")).toBe("duplicate");
      await right.ledger.close();
    });

    test("records written behind a leap do not prove it to the next process", async () => {
      const open = await fresh();
      const right = await process(open, 0);
      expect(await right.direct("a")).toBe("committed");
      await right.ledger.close();
      for (let start = 0; start < 3; start += 1) {
        const ahead = await process(open, days(50) + minutes(start));
        expect(await ahead.direct("a")).toBe("duplicate");
        expect(await ahead.direct(`b${start}`)).toBe("committed");
        expect(await ahead.ledger.purge(100)).toBe(0);
        await ahead.ledger.close();
      }
    });

    test("a process that opened the empty store with a wrong clock follows the first mark", async () => {
      const open = await fresh();
      const ahead = await process(open, days(50));
      const right = await process(open, 0);
      expect(await right.direct("a")).toBe("committed");
      expect(await ahead.direct("b")).toBe("committed");
      expect(ahead.ledger.leap()).toMatchObject({ aheadMs: days(50) });
      expect(await ahead.direct("a")).toBe("duplicate");
      await Promise.all([right.ledger.close(), ahead.ledger.close()]);
    });

    test("a clock that leaps between the opening and the first write is noticed", async () => {
      const open = await fresh();
      const one = await process(open, 0);
      one.clock.setWall(T0 + days(50));
      expect(await one.direct("a")).toBe("committed");
      expect(one.ledger.leap()).toMatchObject({ aheadMs: days(50) });
      await one.ledger.close();
    });

    test("a store that was off for long expires again after a day of running", async () => {
      const open = await fresh();
      const before = await process(open, 0);
      expect(await before.direct("a")).toBe("committed");
      await before.ledger.close();
      const after = await process(open, days(50));
      expect(await after.direct("a")).toBe("duplicate");
      after.clock.advance(CLOCK_WAIT_MS - minutes(1));
      expect(await after.direct("a")).toBe("duplicate");
      after.clock.advance(minutes(1));
      expect(after.ledger.leap()).toBeNull();
      expect(await after.direct("a")).toBe("committed");
      await after.ledger.close();
    });

    test("an accepted clock expires at once, also for processes that run already", async () => {
      const open = await fresh();
      const before = await process(open, 0);
      expect(await before.direct("a")).toBe("committed");
      expect(await before.direct("newest")).toBe("committed"); // A purge may spare the last row.
      await before.ledger.close();
      const waiting = await process(open, days(50));
      expect(await waiting.direct("a")).toBe("duplicate");
      const accepting = await process(open, days(50) + minutes(1), { acceptClock: true });
      expect(await accepting.ledger.purge(100)).toBeGreaterThanOrEqual(1);
      await accepting.ledger.close();
      waiting.clock.advance(MARK_MS);
      await waiting.claim("b");
      expect(waiting.ledger.leap()).toBeNull();
      await waiting.ledger.close();
    });

    test("a process whose clock is far behind neither steals claims nor writes expired ones", async () => {
      const open = await fresh();
      const right = await process(open, 0);
      expect(await right.claim("a")).toBe("claimed");
      const behind = await process(open, -days(50));
      expect(await behind.claim("a")).toBe("busy");
      expect(await behind.direct("b")).toBe("committed");
      expect(await right.direct("b")).toBe("duplicate");
      expect(await right.ledger.purge(100)).toBe(0);
      await Promise.all([right.ledger.close(), behind.ledger.close()]);
    });

    test("a busy claim is over by the caller's clock, however wrong that is", async () => {
      const open = await fresh();
      const right = await process(open, 0);
      await right.claim("a");
      const behind = await process(open, -days(50));
      const request = { key: asRecordKey("a"), input: ANY_INPUT, receivedAt: behind.clock.now() };
      const [refusal] = await behind.ledger.claim(SCOPE, [request], lease("b"));
      if (refusal?.kind !== "busy") throw new Error("expected a busy record");
      expect(refusal.until - behind.clock.now()).toBeGreaterThan(0);
      expect(refusal.until - behind.clock.now()).toBeLessThanOrEqual(seconds(30));
      await Promise.all([right.ledger.close(), behind.ledger.close()]);
    });
  });
}

export function describeOutboxClocks({ name, fresh }: ClockBinding<Outbox>): void {
  const entry = (key: string) => ({
    key,
    groupId: "g",
    dedupId: key,
    payloadDigest: "p",
    body: "{}",
    attributes: {},
  });

  describe(`the outbox on ${name}, under wrong clocks`, () => {
    test("rows of a process whose clock was a day ahead are sent by another", async () => {
      const open = await fresh();
      const ahead = await open({ clock: new ManualClock(T0 + hours(23)) });
      await ahead.register("q", [entry("a"), entry("b")], lease("ahead"));
      await ahead.close(); // It died.
      const right = await open({ clock: new ManualClock(T0) });
      const again = await right.register("q", [entry("a")], lease("right"));
      expect(again).toMatchObject([{ kind: "taken" }]);
      const rows = await right.take("q", 10, lease("right"));
      expect(rows.map(({ key }) => key)).toEqual(["a", "b"]);
      await right.close();
    });

    test("a sent event stays sent for a process whose clock is beyond the retention", async () => {
      const open = await fresh();
      const right = await open({ clock: new ManualClock(T0) });
      await right.register("q", [entry("a")], lease("right"));
      await right.markSent("q", [{ key: "a", epoch: 0, messageId: "m" }]);
      await right.close();
      const ahead = await open({ clock: new ManualClock(T0 + days(50)) });
      expect(await ahead.purge(100)).toBe(0);
      const again = await ahead.register("q", [entry("a")], lease("ahead"));
      expect(again).toMatchObject([{ kind: "sent" }]);
      expect(ahead.leap()).toMatchObject({ aheadMs: days(50) });
      await ahead.close();
      const accepted = await open({ clock: new ManualClock(T0 + days(50)), acceptClock: true });
      expect(await accepted.purge(100)).toBe(1);
      await accepted.close();
    });
  });
}
