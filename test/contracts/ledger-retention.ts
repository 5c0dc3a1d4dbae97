// The contract of retention: what every purge keeps, however often it runs.

import { describe, expect, test } from "vitest";
import { days, seconds } from "../../src/core/units.ts";
import { asRecordKey } from "../../src/ledger/record-state.ts";
import type { Ledger } from "../../src/ports/ledger.ts";
import type { ObjectRef } from "../../src/ports/record.ts";
import { FAR_AHEAD, type ManualClock } from "../support/manual-clock.ts";
import { ANY_INPUT } from "../support/stores/any-input.ts";
import { openBeforeEach, type StoreBinding } from "../support/stores/opened-store.ts";

const SCOPE = { pipeline: "orders", generation: 0 };
const LEASE = { owner: "w", leaseMs: seconds(30) };
const KEPT_MS = days(45);

export function describeRetention(binding: StoreBinding<Ledger>): void {
  describe(`retention on ${binding.name}`, () => {
    let ledger: Ledger;
    let clock: ManualClock;
    openBeforeEach(binding, FAR_AHEAD, (opened) => {
      ({ clock, store: ledger } = opened);
    });

    const ask = (name: string, object?: ObjectRef) => ({
      key: asRecordKey(name),
      input: ANY_INPUT,
      receivedAt: clock.now(),
      ...(object !== undefined && { object }),
    });
    const claim = async (name: string, object?: ObjectRef) =>
      (await ledger.claim(SCOPE, [ask(name, object)], LEASE))[0];
    const held = async (name: string, object?: ObjectRef) => {
      const result = await claim(name, object);
      if (result?.kind !== "claimed") throw new Error(`${name} is ${result?.kind}`);
      return { key: asRecordKey(name), fence: result.fence };
    };
    const at = (sequencer: string): ObjectRef => ({ bucket: "in", key: "x", sequencer });

    async function fill(): Promise<void> {
      await ledger.commit(SCOPE, [{ ...(await held("committed")), digest: "d" }]);
      const object = { ...(await held("object", at("02"))), digest: "d", object: at("02") };
      await ledger.commit(SCOPE, [object]);
      const times = { receivedAt: clock.now(), startedAt: clock.now() };
      const direct = { ...ask("direct"), ...times, owner: "w", digest: "d" };
      await ledger.commitDirect(SCOPE, [direct]);
      const failure = { errorClass: "e", fingerprint: "f", message: "m" };
      const parking = { ...ask("parked"), owner: "w", permanent: true, failure };
      await ledger.fail(SCOPE, [{ ...parking, ...(await held("parked")) }]);
      const note = { at: clock.now(), count: 1, body: "{}" };
      await ledger.addNotes(SCOPE, [
        { ...note, kind: "dossier", name: "parked" },
        { ...note, kind: "held", name: "late" },
        { ...note, kind: "paused", name: "p" },
      ]);
    }

    test("up to the last millisecond a purge makes no duplicate new", async () => {
      await fill();
      clock.advance(KEPT_MS - 1);
      for (let nth = 0; nth < 3; nth += 1) expect(await ledger.purge(1_000)).toBe(0);
      for (const name of ["committed", "object", "direct"]) {
        expect(await claim(name)).toMatchObject({ kind: "duplicate" });
      }
      expect(await claim("older", at("01"))).toMatchObject({ kind: "stale" });
      expect(await claim("parked")).toMatchObject({ kind: "parked" });
      expect(await ledger.findNote(SCOPE, "dossier", "parked")).toBeDefined();
    });

    test("then all is purged but what is held or paused", async () => {
      await fill();
      clock.advance(KEPT_MS);
      while ((await ledger.purge(2)) > 0);
      expect(await ledger.stats()).toEqual([]);
      expect(await claim("committed")).toMatchObject({ kind: "claimed", attempt: 1 });
      expect(await ledger.findNote(SCOPE, "dossier", "parked")).toBeUndefined();
      expect(await ledger.findNote(SCOPE, "held", "late")).toBeDefined();
      expect(await ledger.findNote(SCOPE, "paused", "p")).toBeDefined();
    });

    test("a newer state of the object keeps all older events of it stale", async () => {
      await fill();
      clock.advance(days(30));
      const newer = { ...(await held("newer", at("03"))), digest: "d", object: at("03") };
      await ledger.commit(SCOPE, [newer]);
      clock.advance(days(30));
      while ((await ledger.purge(2)) > 0);
      expect(await claim("object", at("02"))).toMatchObject({ kind: "stale" });
    });
  });
}
