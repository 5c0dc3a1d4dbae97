// Drives the same random history through every store and expects the same answers: claims,
// renewals, expiries, commits, failures, notes, purges, and crashes between calls.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { days, durationMs, epochMs, seconds } from "../../src/core/units.ts";
import { asRecordKey, fenceOf } from "../../src/ledger/record-state.ts";
import type { ClaimResult, FailedAttempt, Ledger, NoteInput } from "../../src/ports/ledger.ts";
import type { Fence, LedgerScope, ObjectRef } from "../../src/ports/record.ts";
import { createDynamoLedger } from "../../src/stores/dynamodb/ledger.ts";
import { createMemoryLedger } from "../../src/stores/memory/ledger.ts";
import { createPostgresLedger } from "../../src/stores/postgres/ledger.ts";
import { createSqliteLedger } from "../../src/stores/sqlite/ledger/ledger.ts";
import { createManualClock, FAR_AHEAD } from "../support/manual-clock.ts";
import { ANY_INPUT } from "../support/stores/any-input.ts";
import { useDynamo, usePostgres } from "../support/stores/database-servers.ts";
import { random, turn } from "../support/stores/real-ports.ts";

const HISTORIES = Number(process.env.TIDEGATE_HISTORIES ?? 40);
/** Every answer of DynamoDB Local takes milliseconds. */
const DYNAMO_SHARE = 1 / 4;
const KEYS = ["a", "b", "c", "d"].map(asRecordKey);
const OBJECTS = ["x", "y"];
const NOTES = ["n", "n#", "\u{1f600}"];

const clock = createManualClock(FAR_AHEAD);
const folder = mkdtempSync(join(tmpdir(), "tidegate-differential-"));
const postgres = await usePostgres();
const dynamo = await useDynamo();
const open: Ledger[] = [];
afterAll(async () => {
  for (const ledger of open) await ledger.close();
  rmSync(folder, { recursive: true, force: true });
});

type Opener = () => Promise<Ledger>;
const stores = new Map<string, Opener>();
const path = join(folder, "ledger.db");
// A tail of a few keys, so that a history writes, reads and restarts the index.
const tailLimits = { keysMin: 3, keysMax: 5, sliceMin: 1 };
stores.set("SQLite", async () => createSqliteLedger({ clock, turn }, { path, tailLimits }));
if (postgres.available) {
  const { url } = postgres;
  stores.set("PostgreSQL", () => createPostgresLedger({ clock }, { url, connectionsMax: 2 }));
}
if (dynamo.available) {
  const options = dynamo.freshOptions();
  stores.set("DynamoDB", () => createDynamoLedger({ clock, random }, options));
}

/** The next move; keys by index, fences by how many claims ago they were drawn. */
type Happening =
  | { readonly kind: "claim" | "direct"; readonly of: readonly Asked[] }
  | {
      readonly kind: "renew" | "commit" | "fail" | "release";
      readonly of: readonly Asked[];
      readonly flag: boolean;
    }
  | { readonly kind: "reopen"; readonly of: readonly Asked[] }
  | { readonly kind: "note"; readonly notes: readonly NoteInput[] }
  | { readonly kind: "forget"; readonly names: readonly string[] }
  | { readonly kind: "wait"; readonly ms: number }
  | { readonly kind: "purge" | "crash" };

interface Asked {
  readonly key: number;
  readonly fencesBack: number;
  readonly object: number | null;
  readonly sequencer: string | null;
  readonly state: string | null;
  readonly listed: boolean;
  readonly isCurrent: boolean;
  /** Goes with a failure. */
  readonly note: NoteInput | null;
}

const anyNote = (): fc.Arbitrary<NoteInput> =>
  fc.record({
    kind: fc.constantFrom("dossier", "duplicates"),
    name: fc.constantFrom(...NOTES),
    at: fc.nat(3).map(epochMs),
    count: fc.nat(5),
    body: fc.constantFrom("", "one", "two", "three"),
  });
const anyAsked = (): fc.Arbitrary<Asked> =>
  fc.record({
    key: fc.nat(KEYS.length - 1),
    fencesBack: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, fc.nat(2)),
    object: fc.option(fc.nat(OBJECTS.length - 1)),
    sequencer: fc.option(fc.constantFrom("01", "02", "0200", "03", "04A"), { freq: 8 }),
    state: fc.option(fc.constantFrom("v:1", "v:2", "e:1:a", "e:1:b")),
    listed: fc.boolean(),
    isCurrent: fc.boolean(),
    note: fc.option(anyNote()),
  });
const some = () => fc.array(anyAsked(), { minLength: 1, maxLength: 4 });
const someNotes = () => fc.array(anyNote(), { minLength: 1, maxLength: 4 });
const someNames = () => fc.array(fc.constantFrom(...NOTES), { minLength: 1, maxLength: 2 });
const anyHappening = (): fc.Arbitrary<Happening> =>
  fc.oneof(
    { weight: 5, arbitrary: fc.record({ kind: fc.constant("claim"), of: some() }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant("direct"), of: some() }) },
    {
      weight: 7,
      arbitrary: fc.record({
        kind: fc.constantFrom("renew", "commit", "commit", "fail", "release"),
        of: some(),
        flag: fc.boolean(),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("reopen"), of: some() }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant("note"), notes: someNotes() }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("forget"), names: someNames() }) },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant("wait"),
        ms: fc.constantFrom(1, 9_999, 10_000, 40_000, days(20), days(45)),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom("purge", "crash") }) },
  ) as fc.Arbitrary<Happening>;

const failure = { errorClass: "c", fingerprint: "f", message: "it broke" };

/** One ledger under test, with the fences it returned; a crash reopens it. */
class Subject {
  readonly #opener: Opener;
  readonly #scope: LedgerScope;
  #fences = new Map<number, Fence[]>();
  /** What the last claim of each key has to confirm. */
  #confirms = new Map<number, string>();
  ledger: Ledger;

  constructor(ledger: Ledger, opener: Opener, scope: LedgerScope) {
    this.ledger = ledger;
    this.#opener = opener;
    this.#scope = scope;
  }

  #fence({ key, fencesBack }: Asked): Fence {
    return this.#fences.get(key)?.at(-1 - fencesBack) ?? fenceOf(7);
  }

  #confirmed(asked: Asked | undefined): Pick<ObjectRef, "confirmed"> {
    const basis = asked && this.#confirms.get(asked.key);
    return basis === undefined ? {} : { confirmed: { basis, isCurrent: asked?.isCurrent ?? true } };
  }

  async crash(): Promise<void> {
    this.ledger = await this.#opener();
    open.push(this.ledger);
  }

  #failures(of: readonly Asked[], permanent: boolean): FailedAttempt[] {
    return of.map((asked) => ({
      key: KEYS[asked.key] ?? asRecordKey("none"),
      fence: asked.sequencer === "03" ? null : this.#fence(asked),
      owner: "w",
      input: ANY_INPUT,
      receivedAt: clock.now(),
      permanent,
      failure,
      ...(asked.note && { note: asked.note }),
    }));
  }

  async meet(happening: Happening): Promise<unknown> {
    const { ledger } = this;
    const scope = this.#scope;
    const now = clock.now();
    const of = "of" in happening ? happening.of : [];
    const named = of.map((asked) => ({
      key: KEYS[asked.key] ?? asRecordKey("none"),
      fence: this.#fence(asked),
      input: ANY_INPUT,
      receivedAt: now,
      owner: "w",
      ...objectOf(asked),
    }));
    const without = named.map(({ key, fence }) => ({ key, fence }));
    switch (happening.kind) {
      case "claim": {
        const results = await ledger.claim(scope, named, { owner: "w", leaseMs: seconds(10) });
        this.#rememberFences(of, results);
        return results;
      }
      case "direct":
        return await ledger.commitDirect(
          scope,
          named.map((item) => ({ ...item, startedAt: now, digest: `direct ${item.key}` })),
        );
      case "renew":
        return await ledger.renew(scope, without, seconds(happening.flag ? 10 : 60));
      case "commit":
        return await ledger.commit(
          scope,
          named.map(({ key, fence, object }, at) => ({
            key,
            fence,
            digest: `of ${fence}`,
            ...(object && { object: { ...object, ...this.#confirmed(of[at]) } }),
            ...(happening.flag && { effects: "some" }),
          })),
        );
      case "fail":
        return await ledger.fail(scope, this.#failures(of, happening.flag));
      case "release":
        return await ledger.release(scope, without);
      case "reopen":
        return await ledger.reopen(
          scope,
          named.map(({ key }) => key),
        );
      case "note":
        return await ledger.addNotes(scope, happening.notes);
      case "forget":
        return await ledger.removeNotes(scope, "dossier", happening.names);
      case "crash":
        return await this.crash();
      case "purge":
        return void (await ledger.purge(1_000));
      case "wait":
        return;
    }
  }

  #rememberFences(of: readonly Asked[], results: readonly ClaimResult[]): void {
    for (const [at, result] of results.entries()) {
      const key = of[at]?.key ?? 0;
      if (result.kind !== "claimed") continue;
      if (result.confirm !== undefined) this.#confirms.set(key, result.confirm);
      this.#fences.set(key, [...(this.#fences.get(key) ?? []), result.fence]);
    }
  }

  async view(): Promise<unknown> {
    const shown = [];
    for (const key of KEYS) shown.push((await this.ledger.show(this.#scope, key)) ?? null);
    for (const key of OBJECTS) {
      shown.push((await this.ledger.showObject(this.#scope, "in", key)) ?? null);
    }
    for (const kind of ["dossier", "duplicates"] as const) {
      for (const name of NOTES) {
        shown.push((await this.ledger.findNote(this.#scope, kind, name)) ?? null);
      }
      for (const after of [null, "n"]) {
        shown.push(await this.ledger.listNotes(this.#scope, kind, { after, limit: 2 }));
      }
    }
    const stats = await this.ledger.stats();
    return [shown, stats.filter(({ generation }) => generation === this.#scope.generation)];
  }
}

function objectOf({ object, sequencer, state, listed }: Asked): { object?: ObjectRef } {
  if (object === null) return {};
  const named = { bucket: "in", key: OBJECTS[object] ?? "x", ...(state !== null && { state }) };
  const isListed = listed && state !== null;
  return { object: isListed ? { ...named, sequencer: null, listed } : { ...named, sequencer } };
}

describe.each([...stores])("the same history on memory and on %s", (name, opener) => {
  test("gives the same answers, histories and counts", async () => {
    let generation = 0;
    let current = await opener();
    open.push(current);
    const memory = createMemoryLedger({ clock });
    const histories = fc.array(anyHappening(), { minLength: 5, maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(histories, async (history) => {
        generation += 1;
        const scope = { pipeline: "differential", generation };
        const model = new Subject(memory, async () => memory, scope);
        const subject = new Subject(current, opener, scope);
        for (const happening of history) {
          if (happening.kind === "wait") clock.advance(durationMs(happening.ms));
          const expected = await model.meet(happening);
          expect(await subject.meet(happening), JSON.stringify(happening)).toEqual(expected);
        }
        expect(await subject.view()).toEqual(await model.view());
        current = subject.ledger;
      }),
      { numRuns: Math.ceil(name === "DynamoDB" ? HISTORIES * DYNAMO_SHARE : HISTORIES) },
    );
  });
});
