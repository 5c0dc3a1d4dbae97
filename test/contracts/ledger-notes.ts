// The part of the ledger's contract about notes; describeLedger binds it to every store.

import { describe, expect, test } from "vitest";
import { days, durationMs, epochMs, minutes, seconds } from "../../src/core/units.ts";
import { NOTE_CHARS_MAX } from "../../src/ledger/batches.ts";
import { asRecordKey } from "../../src/ledger/record-state.ts";
import type {
  FailedAttempt,
  Ledger,
  NoteInput,
  NoteKind,
  NotePage,
} from "../../src/ports/ledger.ts";
import type { Fence, LedgerScope } from "../../src/ports/record.ts";
import type { ManualClock } from "../support/manual-clock.ts";
import { FAR_AHEAD } from "../support/manual-clock.ts";
import { ANY_INPUT } from "../support/stores/any-input.ts";
import { openBeforeEach, type StoreBinding } from "../support/stores/opened-store.ts";

const SCOPE: LedgerScope = { pipeline: "orders", generation: 1 };
const T0 = FAR_AHEAD;
const FAILURE = { errorClass: "schema", fingerprint: "f00d", message: "no column named id" };
const ALL: NotePage = { after: null, limit: 1_000 };

const note = (name: string, more: Partial<NoteInput> = {}): NoteInput => ({
  kind: "dossier",
  name,
  at: T0,
  count: 1,
  body: `of ${name}`,
  ...more,
});

export function describeLedgerNotes(binding: StoreBinding<Ledger>): void {
  describe(`the notes of the ledger on ${binding.name}`, () => {
    let clock: ManualClock;
    let ledger: Ledger;
    let again: () => Promise<Ledger>;
    openBeforeEach(binding, T0, (opened) => {
      ({ clock, store: ledger, again } = opened);
    });

    const find = (name: string, kind: NoteKind = "dossier") => ledger.findNote(SCOPE, kind, name);
    const names = async (kind: NoteKind = "dossier", page: Partial<NotePage> = {}) =>
      (await ledger.listNotes(SCOPE, kind, { ...ALL, ...page })).map(({ name }) => name);
    const claim = async (name: string): Promise<Fence> => {
      const lease = { owner: "w", leaseMs: seconds(30) };
      const asked = [{ key: asRecordKey(name), input: ANY_INPUT, receivedAt: clock.now() }];
      const [result] = await ledger.claim(SCOPE, asked, lease);
      if (result?.kind !== "claimed") throw new Error(`expected a claim, got ${result?.kind}`);
      return result.fence;
    };
    const failed = (name: string, fence: Fence | null, added: NoteInput): FailedAttempt => ({
      key: asRecordKey(name),
      fence,
      owner: "w",
      input: ANY_INPUT,
      receivedAt: T0,
      permanent: true,
      failure: FAILURE,
      note: added,
    });

    test("counts add up; instant and body are those of the newest", async () => {
      await ledger.addNotes(SCOPE, [note("a", { at: epochMs(T0 + 5), count: 2, body: "first" })]);
      await ledger.addNotes(SCOPE, [note("a", { at: epochMs(T0 + 4), count: 3, body: "older" })]);
      expect(await find("a")).toEqual(note("a", { at: epochMs(T0 + 5), count: 5, body: "first" }));
      await ledger.addNotes(SCOPE, [note("a", { at: epochMs(T0 + 5), count: 0, body: "equal" })]);
      expect(await find("a")).toEqual(note("a", { at: epochMs(T0 + 5), count: 5, body: "equal" }));
      await ledger.addNotes(SCOPE, [note("a", { at: epochMs(T0 + 6), count: 1, body: "" })]);
      expect(await find("a")).toEqual(note("a", { at: epochMs(T0 + 6), count: 6, body: "" }));
    });

    test("a name may occur twice in a batch, and the order of the batch decides", async () => {
      await ledger.addNotes(SCOPE, [
        note("a", { body: "one" }),
        note("b", { at: epochMs(T0 + 1), body: "newer" }),
        note("a", { body: "two" }),
        note("b", { body: "older" }),
        note("a", { kind: "duplicates", body: "another kind" }),
      ]);
      expect(await find("a")).toEqual(note("a", { count: 2, body: "two" }));
      expect(await find("b")).toEqual(note("b", { at: epochMs(T0 + 1), count: 2, body: "newer" }));
      expect(await find("a", "duplicates")).toMatchObject({ count: 1, body: "another kind" });
      await ledger.addNotes(SCOPE, []);
    });

    test("kinds, pipelines and generations are separate", async () => {
      const other = { pipeline: "orders", generation: 2 };
      await ledger.addNotes(SCOPE, [note("a"), note("b", { kind: "watermark" })]);
      await ledger.addNotes(other, [note("c")]);
      expect(await names()).toEqual(["a"]);
      expect(await names("watermark")).toEqual(["b"]);
      expect(await names("duplicates")).toEqual([]);
      expect(await find("c")).toBeUndefined();
      expect(await ledger.findNote(other, "dossier", "c")).toEqual(note("c"));
      expect(await ledger.stats()).toEqual([]);
    });

    test("a list is in the byte order of names, page by page", async () => {
      // In UTF-16 the last two would swap; a space and "#" test how stores join names.
      const sorted = ["A", "a", "a b", "a#b", "ab", "b", "ä", "\uffee", "\u{1f600}"];
      await ledger.addNotes(
        SCOPE,
        sorted.toReversed().map((name) => note(name)),
      );
      expect(await names()).toEqual(sorted);
      expect(await names("dossier", { limit: 4 })).toEqual(sorted.slice(0, 4));
      for (const [at, after] of sorted.entries()) {
        expect(await names("dossier", { after, limit: 2 })).toEqual(sorted.slice(at + 1, at + 3));
      }
      expect(await names("dossier", { after: "aa" })).toEqual(sorted.slice(4));
    });

    test("a batch and a page of the maximum size are accepted", async () => {
      const many = Array.from({ length: 1_000 }, (_, n) => note(`n${String(n).padStart(4, "0")}`));
      await ledger.addNotes(SCOPE, many);
      expect(await ledger.listNotes(SCOPE, "dossier", ALL)).toEqual(many);
      await ledger.removeNotes(
        SCOPE,
        "dossier",
        many.map(({ name }) => name),
      );
      expect(await names()).toEqual([]);
    });

    test("the longest body, name and count are stored unchanged", async () => {
      const long = note("€".repeat(256), {
        body: "€".repeat(NOTE_CHARS_MAX),
        count: 1_000_000_000,
      });
      await ledger.addNotes(SCOPE, [long, note("z")]);
      expect(await find(long.name)).toEqual(long);
      const fence = await claim("a");
      await ledger.fail(SCOPE, [failed("a", fence, long)]);
      expect(await find(long.name)).toEqual({ ...long, count: 2_000_000_000 });
      expect(await ledger.listNotes(SCOPE, "dossier", { after: "z", limit: 1 })).toEqual([
        { ...long, count: 2_000_000_000 },
      ]);
    });

    test("a removed note is gone, and starts over when it is added again", async () => {
      await ledger.addNotes(SCOPE, [
        note("a", { at: epochMs(T0 + 9), count: 7 }),
        note("b"),
        note("a", { kind: "duplicates" }),
      ]);
      await ledger.removeNotes(SCOPE, "dossier", ["a", "never there", "a"]);
      await ledger.removeNotes(SCOPE, "dossier", []);
      expect(await names()).toEqual(["b"]);
      expect(await names("duplicates")).toEqual(["a"]);
      await ledger.addNotes(SCOPE, [note("a")]);
      expect(await find("a")).toEqual(note("a"));
    });

    test("a held note never expires: it is the only copy of a message", async () => {
      await ledger.addNotes(SCOPE, [note("a"), note("a", { kind: "held" })]);
      clock.advance(days(3_650));
      expect(await names()).toEqual([]);
      expect(await names("held")).toEqual(["a"]);
      await ledger.purge(100);
      expect(await ledger.findNote(SCOPE, "held", "a")).toEqual(note("a", { kind: "held" }));
    });

    test("a pause never expires, and is gone once it is removed", async () => {
      await ledger.addNotes(SCOPE, [note("pipeline", { kind: "paused" })]);
      clock.advance(days(3_650));
      await ledger.purge(100);
      expect(await ledger.findNote(SCOPE, "paused", "pipeline")).toBeDefined();
      await ledger.removeNotes(SCOPE, "paused", ["pipeline"]);
      expect(await ledger.findNote(SCOPE, "paused", "pipeline")).toBeUndefined();
    });

    test("an expired note counts as absent, purged or not; an addition extends it", async () => {
      await ledger.addNotes(SCOPE, [note("a"), note("b", { at: epochMs(T0 + 9) }), note("c")]);
      clock.advance(days(20));
      await ledger.addNotes(SCOPE, [note("c", { at: epochMs(T0 - 1), body: "older" })]);
      clock.advance(durationMs(days(25) - 1));
      expect(await names()).toEqual(["a", "b", "c"]);
      clock.advance(durationMs(1));
      expect(await names()).toEqual(["c"]);
      expect(await names("dossier", { limit: 1 })).toEqual(["c"]);
      expect(await find("a")).toBeUndefined();
      await ledger.addNotes(SCOPE, [note("b", { at: epochMs(T0), body: "older, yet new" })]);
      expect(await find("b")).toEqual(note("b", { body: "older, yet new" }));
      expect(await ledger.purge(100)).toBe(1);
      expect(await ledger.purge(100)).toBe(0);
      expect(await names()).toEqual(["b", "c"]);
      expect(await find("c")).toEqual(note("c", { count: 2 }));
      clock.advance(days(45));
      expect(await ledger.purge(1)).toBe(1);
      expect(await ledger.purge(100)).toBe(1);
      expect(await ledger.purge(100)).toBe(0);
    });

    test("a note with a claim is written when the claim is granted, and only then", async () => {
      const asked = (key: string, body: string) => ({
        key: asRecordKey(key),
        input: ANY_INPUT,
        receivedAt: T0,
        note: note(`of ${key}`, { kind: "tried", body }),
      });
      const lease = { owner: "w", leaseMs: seconds(30) };
      const first = await ledger.claim(SCOPE, [asked("a", "one"), asked("b", "two")], lease);
      expect(first.map(({ kind }) => kind)).toEqual(["claimed", "claimed"]);
      expect(await names("tried")).toEqual(["of a", "of b"]);
      const other = { owner: "another", leaseMs: seconds(30) };
      const second = await ledger.claim(SCOPE, [asked("a", "refused"), asked("c", "three")], other);
      expect(second.map(({ kind }) => kind)).toEqual(["busy", "claimed"]);
      expect(await find("of a", "tried")).toMatchObject({ count: 1, body: "one" });
      clock.advance(minutes(1));
      const [again] = await ledger.claim(SCOPE, [asked("a", "again")], other);
      expect(again).toMatchObject({ kind: "claimed", attempt: 2 });
      expect(await find("of a", "tried")).toMatchObject({ count: 2, body: "again" });
    });

    describe("with a failure", () => {
      test("a note is written when the failure is, and not when it is repeated", async () => {
        const fence = await claim("a");
        const attempt = failed("a", fence, note("a", { body: "broke" }));
        expect(await ledger.fail(SCOPE, [attempt])).toMatchObject([{ kind: "parked" }]);
        expect(await find("a")).toEqual(note("a", { body: "broke" }));
        clock.advance(seconds(1));
        expect(await ledger.fail(SCOPE, [attempt])).toMatchObject([{ kind: "parked" }]);
        expect(await find("a")).toEqual(note("a", { body: "broke" }));
      });

      test("a fenced failure leaves no note", async () => {
        const old = await claim("a");
        clock.advance(minutes(1));
        await claim("a");
        const fenced = [failed("a", old, note("a")), failed("b", old, note("b"))];
        const results = await ledger.fail(SCOPE, fenced);
        expect(results).toEqual([{ kind: "fenced" }, { kind: "fenced" }]);
        expect(await names()).toEqual([]);
        await ledger.commitDirect(SCOPE, [
          {
            key: asRecordKey("c"),
            owner: "w",
            input: ANY_INPUT,
            receivedAt: T0,
            startedAt: T0,
            digest: "d",
          },
        ]);
        const late = await ledger.fail(SCOPE, [failed("c", null, note("c"))]);
        expect(late).toEqual([{ kind: "fenced" }]);
        expect(await names()).toEqual([]);
      });

      test("failures of one batch may share a note, which follows the order of the batch", async () => {
        const fences = [await claim("a"), await claim("b"), await claim("c")];
        const shared = (at: number, body: string) => note("shared", { at: epochMs(T0 + at), body });
        const results = await ledger.fail(SCOPE, [
          failed("a", fences[0] ?? null, shared(1, "one")),
          failed("b", fences[1] ?? null, shared(1, "two")),
          failed("c", fences[2] ?? null, shared(0, "older")),
          failed("d", null, note("own")),
        ]);
        expect(results.map(({ kind }) => kind)).toEqual(["parked", "parked", "parked", "parked"]);
        expect(await find("shared")).toEqual({ ...shared(1, "two"), count: 3 });
        expect(await find("own")).toEqual(note("own"));
      });

      test("an expired note under a failure starts over", async () => {
        await ledger.addNotes(SCOPE, [note("a", { at: epochMs(T0 + 9), count: 9 })]);
        clock.advance(days(45));
        await ledger.fail(SCOPE, [failed("a", await claim("a"), note("a"))]);
        expect(await find("a")).toEqual(note("a"));
        clock.advance(days(44));
        expect(await find("a")).toEqual(note("a"));
      });
    });

    test("no concurrent addition to a note is lost", async () => {
      const second = await again();
      const adding = Array.from({ length: 24 }, (_, n) =>
        (n % 2 === 0 ? ledger : second).addNotes(SCOPE, [
          note("a", { at: epochMs(T0 + ((n * 7) % 24)), body: String((n * 7) % 24) }),
          note("b", { kind: "duplicates", count: n }),
        ]),
      );
      const failing = Array.from({ length: 4 }, (_, n) =>
        (n % 2 === 0 ? ledger : second).fail(SCOPE, [
          failed(`direct ${n}`, null, note("a", { body: "late" })),
        ]),
      );
      await Promise.all([...adding, ...failing]);
      expect(await find("a")).toEqual(note("a", { at: epochMs(T0 + 23), count: 28, body: "23" }));
      expect(await find("b", "duplicates")).toMatchObject({ count: 276 });
      expect(await second.findNote(SCOPE, "dossier", "a")).toEqual(await find("a"));
    });

    test("a note out of bounds is rejected with its batch, and nothing is written", async () => {
      const bad: Partial<NoteInput>[] = [
        ...[{ name: "" }, { name: "n".repeat(257) }, { name: "a\0" }, { name: "\ud800" }],
        ...[{ kind: "other" as NoteKind }, { count: -1 }, { count: 0.5 }, { count: 1e10 }],
        ...[{ at: epochMs(-1) }, { at: epochMs(Number.NaN) }, { body: "a\0" }, { body: "\udc00" }],
        { body: "b".repeat(NOTE_CHARS_MAX + 1) },
      ];
      const refused = { code: "TG_VALUE_INVALID" };
      const fence = await claim("a");
      for (const part of bad) {
        const what = JSON.stringify(part).slice(0, 80);
        const adding = ledger.addNotes(SCOPE, [note("good"), note("bad", part)]);
        await expect(adding, what).rejects.toMatchObject(refused);
        const failing = ledger.fail(SCOPE, [failed("a", fence, note("bad", part))]);
        await expect(failing, what).rejects.toMatchObject(refused);
      }
      const many = Array.from({ length: 1_001 }, (_, n) => `${n}`);
      const calls = [
        () =>
          ledger.addNotes(
            SCOPE,
            many.map((name) => note(name)),
          ),
        () => ledger.removeNotes(SCOPE, "dossier", many),
        () => ledger.removeNotes(SCOPE, "dossier", ["good", ""]),
        () => ledger.removeNotes(SCOPE, "other" as NoteKind, ["good"]),
        () => ledger.findNote(SCOPE, "dossier", ""),
        () => ledger.findNote({ pipeline: "a b", generation: 1 }, "dossier", "a"),
        () => ledger.listNotes(SCOPE, "dossier", { after: null, limit: 0 }),
        () => ledger.listNotes(SCOPE, "dossier", { after: null, limit: 1_001 }),
        () => ledger.listNotes(SCOPE, "dossier", { after: "", limit: 1 }),
      ];
      for (const call of calls) await expect(call()).rejects.toMatchObject(refused);
      expect(await names()).toEqual([]);
      expect((await ledger.show(SCOPE, asRecordKey("a")))?.record.kind).toBe("claimed");
    });

    test("a closed ledger rejects notes", async () => {
      await ledger.close();
      await expect(ledger.addNotes(SCOPE, [note("a")])).rejects.toMatchObject({
        code: "TG_CLOSED",
      });
    });
  });
}
