// Shadow world: live writes, replays into shadows, promotions and drops on the production table
// sink, in a seeded order. Objects overlap in keys, so every promotion is also an election.
//   W1. After each step the live tables have the rows that a plain model has: per object its
//       newest event, per key the highest rank. A promotion replaces the rows of an event that is
//       still the newest of its object, and loses no other write.
//   W2. A difference predicts what a promotion changes, if nothing is written in between.
//   W3. A promotion happens once.
//   W4. A shadow that is dropped leaves no table behind.
//   W5. Fences follow no order: the clocks of the consumers differ.

import { createSeededRandom, type SeededRandom } from "../../src/core/seeded-random.ts";
import type { TableSinkSpec } from "../../src/core/table-spec.ts";
import { epochMs } from "../../src/core/units.ts";
import { asRecordKey, fenceOf } from "../../src/ledger/record-state.ts";
import type { Shadow } from "../../src/ports/shadow.ts";
import type { Effect, EffectOrigin } from "../../src/ports/sink.ts";
import type { SinkDatabase } from "../../src/sinks/table/databases/database.ts";
import { SQLITE } from "../../src/sinks/table/databases/dialect.ts";
import { openSqliteDatabase } from "../../src/sinks/table/databases/sqlite-database.ts";
import { createPlans, type TablePlans } from "../../src/sinks/table/plan.ts";
import { rankTie } from "../../src/sinks/table/rank-tie.ts";
import { createTableShadow } from "../../src/sinks/table/shadow/shadow-tables.ts";

const OBJECTS = ["a", "b", "c", "d"];
const KEYS = ["k1", "k2", "k3", "k4", "k5"];
const STEPS = 14;
const FENCE_MAX = 10_000;
const NEVER = new AbortController().signal;

interface Event {
  readonly object: string;
  readonly sequencer: number;
  readonly time: number;
  readonly removed: boolean;
  readonly rows: ReadonlyMap<string, number>;
}

/** A row with the event that wrote it. */
interface Cell {
  readonly n: number;
  readonly by: Event;
}

/** What an object shows: its newest event, and rows that a redrive added to it. */
interface Shown {
  readonly event: Event;
  readonly rows: ReadonlyMap<string, Cell>;
  readonly added: boolean;
}

interface Replay {
  readonly shadow: Shadow;
  readonly shown: ReadonlyMap<string, Shown>;
}

function keyOf({ object, sequencer }: Event) {
  return asRecordKey(
    `k1:${(sequencer * 31 + object.charCodeAt(0)).toString(16).padStart(13, "0")}`,
  );
}

class ShadowWorld {
  readonly #random: SeededRandom;
  readonly #spec: TableSinkSpec;
  readonly #database: SinkDatabase;
  readonly #events: Event[] = [];
  readonly #live = new Map<string, Shown>();
  #plans: TablePlans | null = null;
  #replays: Replay[] = [];
  #sequence = 0;
  #shadows = 0;

  constructor(random: SeededRandom) {
    this.#random = random;
    this.#spec = {
      kind: "tables",
      tables: { item: { columns: { id: "text", n: "integer" }, key: ["id"] } },
      database: null,
      onReplaced: random.below(3) === 0 ? "keep" : "delete",
    };
    this.#database = openSqliteDatabase(":memory:");
  }

  async start(): Promise<void> {
    this.#plans = await this.#planOf("item");
  }

  async #planOf(table: string): Promise<TablePlans> {
    const { item } = this.#spec.tables;
    if (item === undefined) throw new Error("the world has one table");
    const spec = { ...this.#spec, tables: { [table]: item } };
    return createPlans(spec, SQLITE, await this.#database.prepare(spec.tables));
  }

  async step(): Promise<string[]> {
    const roll = this.#random.below(10);
    if (roll < 4) await this.#write();
    else if (roll < 5) await this.#addRows();
    else if (roll < 7) await this.#replay();
    else if (roll < 9) return await this.#promote();
    else return await this.#drop();
    return [];
  }

  /** A live event, which may be older than what its object shows. */
  async #write(): Promise<void> {
    this.#sequence += 1;
    const late = this.#random.below(5) === 0;
    const event: Event = {
      object: this.#random.pick(OBJECTS) ?? "a",
      sequencer: late ? this.#random.between(1, this.#sequence) : this.#sequence,
      time: this.#random.between(1, 6),
      removed: this.#random.below(6) === 0,
      rows: this.#rows(),
    };
    if (this.#events.some((each) => keyOf(each) === keyOf(event))) return;
    this.#events.push(event);
    await this.#apply(this.#plans, event, event.rows, "item");
    this.#shows(this.#live, event, event.rows);
  }

  #rows(): Map<string, number> {
    const keys = KEYS.filter(() => this.#random.below(2) === 0);
    return new Map(keys.map((key) => [key, this.#random.below(100)]));
  }

  async #apply(
    plans: TablePlans | null,
    event: Event,
    rows: ReadonlyMap<string, number>,
    table: string,
    addsTo?: Event,
  ): Promise<void> {
    const effects = (event.removed ? [] : [...rows]).map(([id, n]): Effect => {
      return { kind: "upsert", table, row: { id, n } };
    });
    const origin: EffectOrigin = {
      key: keyOf(event),
      eventTime: epochMs(event.time),
      object: {
        bucket: "files",
        key: event.object,
        sequencer: event.sequencer.toString(16).toUpperCase().padStart(4, "0"),
        removed: event.removed,
        ...(addsTo !== undefined && { addsTo: keyOf(addsTo) }),
      },
    };
    const fence = fenceOf(this.#random.between(1, FENCE_MAX)); // W5
    await this.#database.transact(plans?.plan(effects, origin) ?? [], NEVER, fence);
  }

  /** M1 of statements.ts, in plain words. */
  #shows(shown: Map<string, Shown>, event: Event, rows: ReadonlyMap<string, number>): void {
    const before = shown.get(event.object);
    if (before !== undefined && before.event.sequencer > event.sequencer) return;
    shown.set(event.object, { event, rows: this.#merged(before, event, rows), added: false });
  }

  #merged(before: Shown | undefined, event: Event, rows: ReadonlyMap<string, number>) {
    if (event.removed) return new Map<string, Cell>();
    const keeps = this.#spec.onReplaced === "keep";
    return new Map([...(keeps ? (before?.rows ?? []) : []), ...cellsOf(event, rows)]);
  }

  /** A quarantine redrive adds a row to the version that its object shows. */
  async #addRows(): Promise<void> {
    const object = this.#random.pick(OBJECTS) ?? "a";
    const before = this.#live.get(object);
    if (before === undefined || before.event.removed) return;
    const id = this.#random.pick(KEYS) ?? "k1";
    const rows = new Map([[id, this.#random.below(100)]]);
    await this.#apply(this.#plans, before.event, rows, "item", before.event);
    const cells = new Map([...before.rows, ...cellsOf(before.event, rows)]);
    this.#live.set(object, { ...before, rows: cells, added: true });
  }

  /** Runs some past events again, with other values. */
  async #replay(): Promise<void> {
    this.#shadows += 1;
    const id = `00000${this.#shadows}`;
    const database = this.#database;
    const shadow = createTableShadow(
      this.#spec,
      {
        dialect: "sqlite",
        store: {
          run: (writes) => database.transact(writes, NEVER),
          read: (write) => database.read(write),
        },
        open: async () => ({ ...database, close: async () => undefined }),
        sinkOf: () => {
          throw new Error("the world plans by itself");
        },
        close: async () => undefined,
      },
      { id, run: `run ${id}` },
    );
    await shadow.open();
    const table = shadow.tables.get("item") ?? "";
    const plans = await this.#planOf(table);
    const events = this.#events.filter(() => this.#random.below(3) > 0);
    const shown = new Map<string, Shown>();
    for (const event of events) {
      const rows = this.#random.below(2) === 0 ? this.#rows() : event.rows;
      await this.#apply(plans, event, rows, table);
      this.#shows(shown, event, rows);
    }
    await shadow.seal();
    this.#replays.push({ shadow, shown });
  }

  async #promote(): Promise<string[]> {
    const replay = this.#random.pick(this.#replays);
    if (replay === undefined) return [];
    const before = await this.rows();
    const [difference] = await replay.shadow.diff(100);
    const isFirst = (await replay.shadow.state()) === "ready";
    const attempts = this.#random.below(3) === 0 ? 2 : 1;
    const promotions = Array.from({ length: attempts }, () => replay.shadow.promote());
    const results = await Promise.allSettled(promotions);
    const count = results.filter(({ status }) => status === "fulfilled").length;
    if (count > 1 || (count > 0 && !isFirst)) return ["once: a run was promoted twice"]; // W3
    if (!isFirst) return [];
    const [failed] = results.filter((each) => each.status === "rejected");
    if (count === 0) return [`promote: ${String(failed?.reason)}`];
    for (const [object, { event, rows }] of replay.shown) {
      const live = this.#live.get(object);
      const isSame = live?.event.sequencer === event.sequencer;
      const applies =
        live === undefined || (isSame ? !live.added : live.event.sequencer < event.sequencer);
      if (!applies) continue;
      const merged = this.#spec.onReplaced === "keep" ? [...(live?.rows ?? []), ...rows] : rows;
      this.#live.set(object, { event, rows: new Map(event.removed ? [] : merged), added: false });
    }
    return differenceProblems(before, await this.rows(), difference?.samples ?? []);
  }

  async #drop(): Promise<string[]> {
    const replay = this.#random.pick(this.#replays);
    if (replay === undefined) return [];
    await replay.shadow.drop();
    this.#replays = this.#replays.filter((each) => each !== replay);
    const [table = ""] = replay.shadow.tables.values();
    const statement = `SELECT name FROM sqlite_schema WHERE name LIKE '%${table}%'`;
    const remaining = await this.#database.read({ statement, params: [] });
    return remaining.length === 0 ? [] : [`leftovers: ${remaining.length} of ${table}`]; // W4
  }

  async rows(): Promise<Map<string, number>> {
    const rows = await this.#database.read({ statement: "SELECT id, n FROM item", params: [] });
    return new Map(rows.map(({ id, n }) => [String(id), Number(n)]));
  }

  /** W1 */
  async problems(): Promise<string[]> {
    const best = new Map<string, { readonly rank: readonly number[]; readonly n: number }>();
    for (const { rows } of this.#live.values()) {
      for (const [id, { n, by }] of rows) {
        const rank = [by.time, rankTie(keyOf(by))];
        const other = best.get(id);
        if (other === undefined || isHigher(rank, other.rank)) best.set(id, { rank, n });
      }
    }
    const actual = await this.rows();
    const wrong = KEYS.filter((id) => actual.get(id) !== best.get(id)?.n);
    return wrong.map((id) => `rows: ${id} is ${actual.get(id)}, not ${best.get(id)?.n}`);
  }

  close(): Promise<void> {
    return this.#database.close();
  }
}

function cellsOf(by: Event, rows: ReadonlyMap<string, number>): [string, Cell][] {
  return [...rows].map(([id, n]) => [id, { n, by }]);
}

function isHigher(a: readonly number[], b: readonly number[]): boolean {
  const at = a.findIndex((value, index) => value !== b[index]);
  return at >= 0 && (a[at] ?? 0) > (b[at] ?? 0);
}

/** W2 */
function differenceProblems(
  before: ReadonlyMap<string, number>,
  after: ReadonlyMap<string, number>,
  samples: readonly { readonly kind: string; readonly key: object; readonly replayed: unknown }[],
): string[] {
  const predicted = new Map(before);
  for (const { kind, key, replayed } of samples) {
    const { id } = key as { readonly id: string };
    if (kind === "removed") predicted.delete(id);
    else predicted.set(id, Number((replayed as { readonly n: number }).n));
  }
  const wrong = KEYS.filter((id) => predicted.get(id) !== after.get(id));
  return wrong.map((id) => `diff: ${id} became ${after.get(id)}, not ${predicted.get(id)}`);
}

/** The violations of one seed, one sentence each. */
export async function runShadowSeed(seed: number): Promise<string[]> {
  const world = new ShadowWorld(createSeededRandom(`shadow ${seed}`));
  await world.start();
  try {
    for (let at = 0; at < STEPS; at += 1) {
      const problems = [...(await world.step()), ...(await world.problems())];
      if (problems.length > 0) return problems;
    }
    return [];
  } finally {
    await world.close();
  }
}
