// Listings: what every store answers if a listing and an event are about one object.

import { describe, expect, test } from "vitest";
import { seconds } from "../../src/core/units.ts";
import { asRecordKey } from "../../src/ledger/record-state.ts";
import type { ClaimResult, Ledger } from "../../src/ports/ledger.ts";
import type { LedgerScope, ObjectRef, RecordKey } from "../../src/ports/record.ts";
import { FAR_AHEAD } from "../support/manual-clock.ts";
import { ANY_INPUT } from "../support/stores/any-input.ts";
import { openBeforeEach, type StoreBinding } from "../support/stores/opened-store.ts";

const SCOPE: LedgerScope = { pipeline: "listings", generation: 0 };
const T0 = FAR_AHEAD;
const OBJECT = { bucket: "in", key: "x.csv" };
const key = (name: string): RecordKey => asRecordKey(`k1:${name}`);
const event = (sequencer: string, state: string): ObjectRef => ({ ...OBJECT, sequencer, state });
const listed = (state: string): ObjectRef => ({
  ...OBJECT,
  sequencer: null,
  state,
  listed: true,
});
type Claimed = Extract<ClaimResult, { kind: "claimed" }>;

export function describeLedgerListings(binding: StoreBinding<Ledger>): void {
  describe(`listings and events on ${binding.name}`, () => {
    let ledger: Ledger;
    let again: () => Promise<Ledger>;
    openBeforeEach(binding, T0, (opened) => {
      ({ store: ledger, again } = opened);
    });

    const claim = async (name: string, object: ObjectRef, on: Ledger = ledger) => {
      const request = { key: key(name), receivedAt: T0, input: ANY_INPUT, object };
      const [result] = await on.claim(SCOPE, [request], { owner: name, leaseMs: seconds(30) });
      return result as ClaimResult;
    };
    const claimed = async (name: string, object: ObjectRef, on: Ledger = ledger) => {
      const result = await claim(name, object, on);
      expect(result.kind).toBe("claimed");
      return result as Claimed;
    };
    const commit = async (
      name: string,
      object: ObjectRef,
      { fence, confirm }: Claimed,
      isCurrent = true,
      on: Ledger = ledger,
    ) => {
      const confirmed = confirm === undefined ? {} : { confirmed: { basis: confirm, isCurrent } };
      const what = { key: key(name), fence, digest: name, object: { ...object, ...confirmed } };
      const [result] = await on.commit(SCOPE, [what]);
      return result?.kind;
    };
    const apply = async (name: string, object: ObjectRef, isCurrent = true) => {
      const result = await claim(name, object);
      return result.kind === "claimed" ? commit(name, object, result, isCurrent) : result.kind;
    };
    const direct = async (name: string, object: ObjectRef) => {
      const times = { receivedAt: T0, startedAt: T0 };
      const what = { key: key(name), owner: name, input: ANY_INPUT, digest: name, object };
      const [result] = await ledger.commitDirect(SCOPE, [{ ...what, ...times }]);
      return result?.kind;
    };
    const applied = async () => (await ledger.showObject(SCOPE, "in", "x.csv"))?.applied;

    test("an event is a duplicate of its listing, and a listing of its event", async () => {
      expect(await apply("list", listed("v:1"))).toBe("committed");
      expect(await applied()).toEqual({ state: "v:1", listed: true });
      expect(await apply("one", event("01", "v:1"))).toBe("stale");
      expect(await applied()).toEqual({ state: "v:1", listed: false });
      expect(await direct("one", event("01", "v:1"))).toBe("stale");
      expect(await direct("two", event("02", "v:2"))).toBe("committed");
      expect(await apply("list 2", listed("v:2"))).toBe("stale");
      expect(await applied()).toEqual({ state: "v:2", listed: false });
    });

    test("of a listing and its event that are both claimed, the first commit wins", async () => {
      const second = await again();
      for (const [name, first] of [
        ["a", "listing"],
        ["b", "event"],
      ] as const) {
        const at = { key: `${name}.csv` };
        const [one, two] = [
          { ...listed("v:1"), ...at },
          { ...event("01", "v:1"), ...at },
        ];
        const listing = await claimed(`${name} list`, one);
        const live = await claimed(`${name} live`, two, second);
        const ends = [
          () => commit(`${name} list`, one, listing),
          () => commit(`${name} live`, two, live, true, second),
        ];
        if (first === "event") ends.reverse();
        const results = [await ends[0]?.(), await ends[1]?.()];
        expect(results).toEqual(["committed", "superseded"]);
      }
    });

    test("an event of unknown order is applied only if the bucket says that it is current", async () => {
      expect(await apply("list", listed("v:3"))).toBe("committed");
      expect(await direct("two", event("02", "v:2"))).toBe("busy");
      expect(await apply("two", event("02", "v:2"), false)).toBe("superseded");
      expect(await apply("three", event("03", "v:3"))).toBe("stale");
      expect(await apply("two", event("02", "v:2"))).toBe("duplicate");
      expect(await apply("list again", listed("v:4"))).toBe("committed");
      expect(await apply("five", event("05", "v:5"))).toBe("committed");
      expect(await apply("four", event("04", "v:4"))).toBe("stale");
    });

    test("a claim that was made before the order became unknown has to be confirmed", async () => {
      const older = event("02", "e:1:b");
      const live = await claimed("older", older);
      expect(live.confirm).toBeUndefined();
      expect(await apply("list", listed("e:1:c"))).toBe("committed");
      expect(await commit("older", older, live)).toBe("unconfirmed");
      expect((await ledger.show(SCOPE, key("older")))?.record.kind).toBe("claimed");
    });

    test("an answer of the bucket is good for the object's row that it was asked for", async () => {
      const state = listed("e:1:c");
      const listing = await claimed("list", state);
      expect(await direct("b", event("02", "e:1:b"))).toBe("committed");
      expect(await commit("list", state, listing)).toBe("unconfirmed");
      await ledger.release(SCOPE, [{ key: key("list"), fence: listing.fence }]);
      expect(await apply("list", state)).toBe("committed");
      expect(await applied()).toEqual({ state: "e:1:c", listed: true });
    });

    test("bytes that come back are applied again, by events and by listings", async () => {
      expect(await direct("1", event("01", "e:1:a"))).toBe("committed");
      expect(await direct("2", event("02", "e:1:b"))).toBe("committed");
      expect(await apply("list", listed("e:1:a"))).toBe("committed");
      expect(await apply("3", event("03", "e:1:a"))).toBe("stale");
      expect(await apply("4", event("04", "e:1:b"))).toBe("committed");
      expect(await apply("list", listed("e:1:a"))).toBe("committed");
      expect(await apply("list", listed("e:1:a"), false)).toBe("duplicate");
    });

    test("a listed state that is not current any more is not applied", async () => {
      expect(await apply("list", listed("v:1"), false)).toBe("superseded");
      expect(await ledger.showObject(SCOPE, "in", "x.csv")).toBeUndefined();
      expect(await apply("list", listed("v:1"))).toBe("committed");
    });
  });
}
