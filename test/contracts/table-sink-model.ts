// A model of the table sink, and the histories that are compared with it: the newest event of each
// object counts, and the latest writer of each row.

import { rmSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import type { SinkWrite } from "../../src/core/sink-write.ts";
import { addMs, durationMs, hours } from "../../src/core/units.ts";
import type { Fence } from "../../src/ports/record.ts";
import type { Effect, EffectOrigin, SinkStore } from "../../src/ports/sink.ts";
import { createTableSink } from "../../src/sinks/table/index.ts";
import { createSqliteLedger } from "../../src/stores/sqlite/ledger/ledger.ts";
import { createManualClock } from "../support/manual-clock.ts";
import { turn } from "../support/stores/real-ports.ts";
import {
  claim,
  commitDirect,
  type DeliveredEvent,
  originOf,
  SCOPE,
  specOf,
  T0,
} from "../support/stores/table-sink-world.ts";

export const TABLES = { t: { columns: { id: "text", v: "integer" }, key: ["id"] } } as const;

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
export const anyEvents: fc.Arbitrary<DeliveredEvent[]> = fc
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
      drafts.map(({ object, at, removed, effects }, index): DeliveredEvent => {
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
export function model(events: readonly DeliveredEvent[]): Record<string, unknown>[] {
  const newest = new Map<string, DeliveredEvent>();
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

export function tableOf(path: string): Record<string, unknown>[] {
  const db = new DatabaseSync(path);
  const rows = db.prepare("SELECT id, v FROM t ORDER BY id").all();
  db.close();
  return rows.map((row) => ({ ...row }));
}

/** Steps over events: which, and how far it gets. */
export const anySteps = fc.array(
  fc.record({
    which: fc.nat(7),
    how: fc.constantFrom("direct", "claim", "stage", "commit", "expire"),
  }),
  { maxLength: 30 },
);

/** Changes the writes of a commit, as a bug would. */
export type Flaw = (writes: readonly SinkWrite[]) => readonly SinkWrite[];

export interface HistoryOptions {
  readonly flaw?: Flaw;
}

type Steps = readonly { readonly which: number; readonly how: string }[];

/** Takes events through a ledger in any interleaving, staged or not; returns the table. */
export async function tableAfter(
  path: string,
  events: readonly DeliveredEvent[],
  steps: Steps,
  options: HistoryOptions = {},
): Promise<Record<string, unknown>[]> {
  const { flaw = (writes) => writes } = options;
  const clock = createManualClock(T0);
  const ledger = createSqliteLedger({ clock, turn }, { path });
  const store = ledger.sinkStore as SinkStore;
  const sink = createTableSink(specOf(TABLES), { dialect: "sqlite", path });
  await sink.prepare();
  const held = new Map<number, { fence: Fence; writes: readonly SinkWrite[] }[]>();
  const commitOf = (origin: EffectOrigin, writes: readonly SinkWrite[]) => {
    const { key, object } = origin;
    return { key, digest: "d", ...(object !== null && { object }), writes: flaw(writes) };
  };
  /** The merge of rows that are staged one by one, with a value of their attempt for some. */
  const staged = async (event: DeliveredEvent, fence: Fence) => {
    const origin = originOf(event);
    const about = { key: origin.key, fence, owner: "w", startedAt: clock.now() };
    const stage = sink.stage?.({ ...about, expiresAt: addMs(clock.now(), hours(9)) }, store);
    for (const effect of event.effects ?? []) await stage?.add([effect]);
    await stage?.seal();
    return event.effects?.length ? (stage?.merge(origin) ?? []) : sink.plan([], origin);
  };
  const everything = events.flatMap((_, which) =>
    (["expire", "direct"] as const).map((how) => ({ which, how })),
  );
  for (const { which, how } of [...steps, ...everything]) {
    const event = events[which];
    if (event === undefined) continue;
    const origin = originOf(event);
    const direct = commitOf(origin, sink.plan(event.effects ?? [], origin));
    clock.advance(durationMs(1));
    if (how === "direct") await commitDirect(ledger, clock, direct);
    if (how === "expire") clock.advance(durationMs(60_000));
    if (how === "claim" || how === "stage") {
      const fence = await claim(ledger, clock, direct);
      if (fence === null) continue;
      const writes = how === "claim" ? direct.writes : await staged(event, fence);
      held.set(which, [...(held.get(which) ?? []), { fence, writes }]);
    }
    // The oldest claim first: it may be a zombie's.
    const attempt = how === "commit" ? held.get(which)?.shift() : undefined;
    if (attempt === undefined) continue;
    const { fence, writes } = attempt;
    await ledger.commit(SCOPE, [{ ...commitOf(origin, writes), fence }]);
  }
  await ledger.close();
  const table = tableOf(path);
  rmSync(path);
  return table;
}
