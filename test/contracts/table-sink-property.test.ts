// Whatever the order, the duplicates and the paths of events to the sink, its table matches the
// simplest model: the newest event of each object counts, and the latest writer of each row.

import { rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { expect, test } from "vitest";
import { durationMs } from "../../src/core/units.ts";
import { fenceOf } from "../../src/ledger/record-state.ts";
import type { Fence } from "../../src/ports/record.ts";
import type { Effect } from "../../src/ports/sink.ts";
import { createIdempotentTableSink, createTableSink } from "../../src/sinks/table/index.ts";
import { createSqliteLedger } from "../../src/stores/sqlite/ledger/ledger.ts";
import { createManualClock } from "../support/manual-clock.ts";
import { turn } from "../support/stores/real-ports.ts";
import { useTemporaryFolder } from "../support/temporary-folder.ts";
import {
  claim,
  commitDirect,
  type Delivered,
  originOf,
  SCOPE,
  specOf,
  T0,
} from "./table-sink-world.ts";

const folder = useTemporaryFolder("sink-property");
let files = 0;
const freshPath = () => {
  files += 1;
  return join(folder, `${files}.db`);
};

const RUNS = 60;
const TABLES = { t: { columns: { id: "text", v: "integer" }, key: ["id"] } } as const;

const anyEffect: fc.Arbitrary<Effect> = fc
  .oneof(
    { weight: 4, arbitrary: fc.record({ id: fc.constantFrom("a", "b", "c"), v: fc.nat(3) }) },
    { weight: 1, arbitrary: fc.record({ id: fc.constantFrom("a", "b", "c") }) },
  )
  .map((row) =>
    "v" in row
      ? { kind: "upsert", table: "t", row: { id: row.id, v: row.v } }
      : { kind: "delete", table: "t", key: row },
  );

/** Events with unique keys; those of one object have unique sequencers. */
const anyEvents: fc.Arbitrary<Delivered[]> = fc
  .array(
    fc.record({
      object: fc.option(fc.constantFrom("x", "y", "z"), { nil: null }),
      at: fc.nat(4),
      removed: fc.boolean(),
      effects: fc.array(anyEffect, { maxLength: 4 }),
    }),
    { minLength: 1, maxLength: 8 },
  )
  .chain((drafts) =>
    fc.shuffledSubarray([...drafts.keys()], { minLength: drafts.length }).map((order) =>
      drafts.map(({ object, at, removed, effects }, index): Delivered => {
        const key = `k${(index * 7) % 10}${index}`;
        if (object === null) return { key, at, effects };
        // Of different lengths, as in S3.
        const sequencer = `${(order[index] ?? 0) + 1}${"0".repeat(index % 3)}`;
        const gone = removed && index % 2 === 0;
        return { key, at, object, sequencer, removed: gone, effects: gone ? [] : effects };
      }),
    ),
  );

interface Claimant {
  readonly at: number;
  readonly key: string;
  readonly v: number | null;
}

function later(a: Claimant, b: Claimant | undefined): boolean {
  return b === undefined || a.at > b.at || (a.at === b.at && a.key > b.key);
}

/** The expected content of the table. */
function model(events: readonly Delivered[]): Record<string, unknown>[] {
  const newest = new Map<string, Delivered>();
  for (const event of events) {
    const name = event.object ?? `message ${event.key}`;
    const previous = Number(`0.${newest.get(name)?.sequencer ?? 0}`);
    if (Number(`0.${event.sequencer ?? 1}`) > previous) newest.set(name, event);
  }
  const rows = new Map<string, Claimant>();
  for (const { at, key, effects = [] } of newest.values()) {
    const own = new Map<string, number | null>();
    for (const effect of effects) {
      if (effect.kind === "upsert") own.set(String(effect.row.id), Number(effect.row.v));
      if (effect.kind === "delete") own.set(String(effect.key.id), null);
    }
    for (const [id, v] of own) {
      if (later({ at, key, v }, rows.get(id))) rows.set(id, { at, key, v });
    }
  }
  const visible = [...rows].filter(([, { v }]) => v !== null).map(([id, { v }]) => ({ id, v }));
  return visible.sort((a, b) => (a.id < b.id ? -1 : 1));
}

function tableOf(path: string): Record<string, unknown>[] {
  const db = new DatabaseSync(path);
  const rows = db.prepare("SELECT id, v FROM t ORDER BY id").all();
  db.close();
  return rows.map((row) => ({ ...row }));
}

/** Steps over events: which, and how far it gets. */
const anySteps = fc.array(
  fc.record({ which: fc.nat(7), how: fc.constantFrom("direct", "claim", "commit", "expire") }),
  { maxLength: 30 },
);

test("any interleaving of claims, commits and duplicates through a ledger ends in the same table", async () => {
  await fc.assert(
    fc.asyncProperty(anyEvents, anySteps, async (events, steps) => {
      const path = freshPath();
      const clock = createManualClock(T0);
      const ledger = createSqliteLedger({ clock, turn }, { path });
      const sink = createTableSink(specOf(TABLES), { dialect: "sqlite", path });
      await sink.prepare();
      const held = new Map<number, Fence[]>();
      const commitOf = (event: Delivered) => {
        const { key, object } = originOf(event);
        const writes = sink.plan(event.effects ?? [], originOf(event));
        return { key, digest: "d", ...(object !== null && { object }), writes };
      };
      const everything = events.flatMap((_, which) =>
        (["expire", "direct"] as const).map((how) => ({ which, how })),
      );
      for (const { which, how } of [...steps, ...everything]) {
        const event = events[which];
        if (event === undefined) continue;
        clock.advance(durationMs(1));
        if (how === "direct") await commitDirect(ledger, clock, commitOf(event));
        if (how === "expire") clock.advance(durationMs(60_000));
        if (how === "claim") {
          const fence = await claim(ledger, clock, commitOf(event));
          if (fence !== null) held.set(which, [...(held.get(which) ?? []), fence]);
        }
        // The oldest claim first: it may be a zombie's.
        const fence = how === "commit" ? held.get(which)?.shift() : undefined;
        if (fence !== undefined) await ledger.commit(SCOPE, [{ ...commitOf(event), fence }]);
      }
      await ledger.close();
      expect(tableOf(path)).toEqual(model(events));
      rmSync(path);
    }),
    { numRuns: RUNS },
  );
});

test("any order and repetition of calls with any fences ends in the same table", async () => {
  const anyCalls = fc.array(fc.record({ which: fc.nat(7), fence: fc.nat(20) }), { maxLength: 30 });
  await fc.assert(
    fc.asyncProperty(anyEvents, anyCalls, async (events, calls) => {
      const path = freshPath();
      const sink = createIdempotentTableSink(specOf(TABLES, { database: path }));
      await sink.prepare();
      const everything = [...events.keys()].map((which) => ({ which, fence: 10 }));
      for (const { which, fence } of [...calls, ...everything]) {
        const event = events[which];
        if (event === undefined) continue;
        const origin = { ...originOf(event), fence: fenceOf(fence) };
        await sink.apply(event.effects ?? [], origin, new AbortController().signal);
      }
      await sink.close();
      expect(tableOf(path)).toEqual(model(events));
      rmSync(path);
    }),
    { numRuns: RUNS },
  );
});
