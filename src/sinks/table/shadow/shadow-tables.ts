// Shadow tables: the shadow of a table sink. A replay writes to tables of its own, with the same
// columns and the same bookkeeping, and a promotion moves the result into the live tables.
//   J1. The shadow's tables are filled by the statements of the sink, under other names. So a
//       shadow decides between writers as the live tables do.
//   J2. A promotion is one transaction: the mark "promoted", the register, rows and bookkeeping
//       of all tables. It runs on a shadow that is sealed and no longer changes.
//   J3. PostgreSQL: a promotion locks the register of writers first. Events of objects wait until
//       it ends, and then see their objects as promoted.
//   J4. Statements of a handler name live tables, so a shadow rejects them.
//   J5. A message is registered with its rows (W5 of shadow-statements.ts), also if it has none.

import { TidegateError } from "../../../core/errors.ts";
import type { SinkWrite } from "../../../core/sink-write.ts";
import type { TableSinkSpec, TableSpec, TablesSpec } from "../../../core/table-spec.ts";
import type {
  RowDifference,
  Shadow,
  ShadowName,
  ShadowState,
  TableDifference,
} from "../../../ports/shadow.ts";
import type {
  Effect,
  EffectOrigin,
  RowStaging,
  Sink,
  SinkStore,
  StagedRowsRequest,
} from "../../../ports/sink.ts";
import type { DatabaseAddress, SinkDatabase } from "../databases/database.ts";
import { type Dialect, POSTGRES, SQLITE } from "../databases/dialect.ts";
import { literal, othersTable, ownersTable, quotedName, WRITERS_TABLE } from "../names.ts";
import { rankTie } from "../rank-tie.ts";
import type { TableShape } from "../shape.ts";
import { tableContent } from "./shadow-content.ts";
import {
  APPLIED_TABLE,
  differenceCounts,
  differenceSamples,
  keptObjects,
  promoteStatements,
  REPLAYED_TABLE,
  replayedStatement,
  SHADOWS_TABLE,
  type ShadowPair,
  sharedRelations,
} from "./shadow-statements.ts";

const NAME_CHARS_MAX = 48;
const PLAIN_NAME = /^[A-Za-z][A-Za-z0-9_]*$/;

/** Where the tables are, and how they are reached. */
export interface ShadowDatabase {
  readonly dialect: DatabaseAddress["dialect"];
  /** Opens a connection for creating tables. */
  open(): Promise<SinkDatabase>;
  /** Reads and writes; the ledger's own store if the tables are in its database. */
  readonly store: SinkStore;
  /** The sink of the pipeline on other tables. */
  sinkOf(spec: TableSinkSpec): Sink;
  close(): Promise<void>;
}

export function createTableShadow(
  spec: TableSinkSpec,
  database: ShadowDatabase,
  name: ShadowName,
): Shadow {
  const dialect = database.dialect === "postgres" ? POSTGRES : SQLITE;
  const { store } = database;
  const tables = shadowNames(spec.tables, name.id);
  let pairs: readonly ShadowPair[] | null = null;

  const prepared = async (): Promise<readonly ShadowPair[]> => {
    pairs ??= await preparePairs(spec, database, dialect, { id: name.id, tables });
    return pairs;
  };
  const state = () => stateOf(dialect, store, name.id);
  const run = (statements: readonly string[]) =>
    store.run(statements.map((statement) => ({ statement, params: [], once: true, long: true })));

  return {
    tables,
    sink() {
      const sink = database.sinkOf(shadowSpec(spec, tables));
      return renamed(registering(sink, store, replayedStatement(dialect, name.id)), tables);
    },
    async open() {
      await run(sharedRelations(dialect));
      await prepared();
      await run([listStatement(name, tables)]);
    },
    state,
    async seal() {
      await run([sealStatement(name)]);
    },
    async diff(samplesMax) {
      return await inTurn(await prepared(), (pair) => differenceOf(store, pair, samplesMax));
    },
    async contents() {
      return await inTurn(await prepared(), ({ live, shadow }) =>
        tableContent(dialect, store, { live: live.name, shadow }),
      );
    },
    async promote() {
      refuseUnready(name, await state());
      const pairs = await prepared();
      try {
        await store.run(promotionWrites(dialect, pairs, name)); // J2
      } catch (error) {
        refuseUnready(name, await state());
        throw error;
      }
      return await promotionOf(store, pairs, name.id);
    },
    async drop() {
      if ((await state()) === null) return;
      await run(dropStatements([...tables.values()], name.id));
    },
    close: () => database.close(),
  };
}

function listStatement({ id, run }: ShadowName, tables: ReadonlyMap<string, string>): string {
  const values = [id, run, JSON.stringify([...tables]), "open"].map(literal);
  return `INSERT INTO ${SHADOWS_TABLE} (id, run, tables, state) VALUES (${values.join(", ")})
    ON CONFLICT (id) DO NOTHING`;
}

function sealStatement({ id }: ShadowName): string {
  return `UPDATE ${SHADOWS_TABLE} SET state = 'ready'
    WHERE id = ${literal(id)} AND state = 'open'`;
}

async function inTurn<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (const item of items) results.push(await work(item));
  return results;
}

/** Readable names where they fit. */
function shadowNames(tables: TablesSpec, id: string): ReadonlyMap<string, string> {
  const entries = Object.keys(tables).map((table, at): [string, string] => {
    const readable = `shadow_${id}_${table}`;
    const fits = PLAIN_NAME.test(readable) && readable.length <= NAME_CHARS_MAX;
    return [table, fits ? readable : `shadow_${id}_${at}`];
  });
  return new Map(entries);
}

function shadowSpec(spec: TableSinkSpec, names: ReadonlyMap<string, string>): TableSinkSpec {
  const tables = Object.entries(spec.tables).map(([table, columns]): [string, TableSpec] => {
    return [names.get(table) ?? table, columns];
  });
  return { ...spec, tables: Object.fromEntries(tables) };
}

async function preparePairs(
  spec: TableSinkSpec,
  database: ShadowDatabase,
  dialect: Dialect,
  { id, tables }: { readonly id: string; readonly tables: ReadonlyMap<string, string> },
): Promise<readonly ShadowPair[]> {
  const opened = await database.open();
  try {
    const live = await opened.prepare(spec.tables);
    const copies = [...live].flatMap(([table, shape]) => {
      const shadow = tables.get(table);
      return spec.tables[table]?.existing === true && shadow !== undefined
        ? [copyOfExisting(shape, shadow)]
        : [];
    });
    if (copies.length > 0) await opened.transact(copies, new AbortController().signal);
    const shadows = await opened.prepare(shadowSpec(spec, tables).tables);
    return [...live].flatMap(([table, shape]) => {
      const shadow = shadows.get(tables.get(table) ?? "");
      const { onReplaced } = spec;
      return shadow === undefined ? [] : [{ dialect, live: shape, shadow, onReplaced, id }];
    });
  } finally {
    await opened.close();
  }
}

/** An existing table is copied as far as the pipeline writes it. */
function copyOfExisting({ columns, keyColumns, key }: TableShape, name: string): SinkWrite {
  const declared = columns.map(({ name: column, quoted, native }) =>
    [quoted, native, ...(key.includes(column) ? ["NOT NULL"] : [])].join(" "),
  );
  const primary = keyColumns.map(({ quoted }) => quoted).join(", ");
  const statement = `CREATE TABLE IF NOT EXISTS ${quotedName(name)}
    (${declared.join(", ")}, PRIMARY KEY (${primary}))`;
  return { statement, params: [], once: true };
}

async function stateOf(
  dialect: Dialect,
  store: SinkStore,
  id: string,
): Promise<ShadowState | null> {
  const isThere =
    dialect.name === "sqlite"
      ? `SELECT 1 FROM sqlite_schema WHERE name = '${SHADOWS_TABLE}'`
      : `SELECT 1 WHERE to_regclass('${SHADOWS_TABLE}') IS NOT NULL`;
  if ((await store.read({ statement: isThere, params: [] })).length === 0) return null;
  const statement = `SELECT state FROM ${SHADOWS_TABLE} WHERE id = ${literal(id)}`;
  const [row] = await store.read({ statement, params: [] });
  return row === undefined ? null : (String(row.state) as ShadowState);
}

function refuseUnready({ run }: ShadowName, state: ShadowState | null): void {
  if (state === "ready") return;
  const reason =
    state === "promoted"
      ? `the run ${run} was promoted before; its rows are live`
      : state === "open"
        ? `the run ${run} is not complete; run it to its end before you promote it`
        : `the run ${run} has no shadow; it was dropped, or it ran into the live tables`;
  throw new TidegateError("TG_REPLAY_REFUSED", reason);
}

/** J2, J3 */
function promotionWrites(
  dialect: Dialect,
  pairs: readonly ShadowPair[],
  { id, run }: ShadowName,
): readonly SinkWrite[] {
  const plain = (statement: string): SinkWrite => ({
    statement,
    params: [],
    once: true,
    long: true,
  });
  const lock = plain(`LOCK TABLE ${WRITERS_TABLE} IN SHARE ROW EXCLUSIVE MODE`);
  return [
    ...(dialect.name === "postgres" ? [lock] : []), // J3
    {
      ...plain(`UPDATE ${SHADOWS_TABLE} SET state = 'promoted'
        WHERE id = ${literal(id)} AND state = 'ready' RETURNING id`),
      required: `the run ${run} was promoted or dropped meanwhile`,
    },
    ...pairs.flatMap((pair) => promoteStatements(pair).map(plain)),
  ];
}

async function promotionOf(store: SinkStore, pairs: readonly ShadowPair[], id: string) {
  const count = async (statement: string) => {
    const [row] = await store.read({ statement, params: [] });
    return Number(row?.n ?? 0);
  };
  const names = pairs.map(({ shadow }) => literal(shadow.name)).join(", ");
  const appliedObjects = await count(
    `SELECT count(DISTINCT s.object) AS n FROM ${WRITERS_TABLE} AS s
      JOIN ${APPLIED_TABLE} AS a ON a.sid = s.id WHERE a.shadow = ${literal(id)}`,
  );
  const all = await count(
    `SELECT count(DISTINCT object) AS n FROM ${WRITERS_TABLE} WHERE table_name IN (${names})`,
  );
  const messages = await count(
    `SELECT count(*) AS n FROM ${REPLAYED_TABLE} WHERE shadow = ${literal(id)}`,
  );
  return { appliedObjects, keptObjects: all - appliedObjects, messages };
}

function dropStatements(tables: readonly string[], id: string): string[] {
  return [
    ...tables.flatMap((table) =>
      [table, othersTable(table), ownersTable(table)].map(
        (relation) => `DROP TABLE IF EXISTS ${quotedName(relation)}`,
      ),
    ),
    `DELETE FROM ${WRITERS_TABLE} WHERE table_name IN (${tables.map(literal).join(", ")})`,
    `DELETE FROM ${APPLIED_TABLE} WHERE shadow = ${literal(id)}`,
    `DELETE FROM ${REPLAYED_TABLE} WHERE shadow = ${literal(id)}`,
    `DELETE FROM ${SHADOWS_TABLE} WHERE id = ${literal(id)}`,
  ];
}

async function differenceOf(
  store: SinkStore,
  pair: ShadowPair,
  samplesMax: number,
): Promise<TableDifference> {
  const read = (statement: string) => store.read({ statement, params: [], once: true });
  const counts = { added: 0, removed: 0, changed: 0 };
  for (const { kind, n } of await read(differenceCounts(pair))) {
    counts[kind as keyof typeof counts] = Number(n);
  }
  const [count] = await read(keptObjects(pair));
  const rows = samplesMax > 0 ? await read(differenceSamples(pair, samplesMax)) : [];
  return {
    table: pair.live.name,
    shadow: pair.shadow.name,
    ...counts,
    keptObjects: Number(count?.n ?? 0),
    samples: rows.map((row) => sampleOf(pair.live, row)),
  };
}

function sampleOf(
  { keyColumns, valueColumns }: TableShape,
  row: Readonly<Record<string, unknown>>,
): RowDifference {
  const kind = row.kind as RowDifference["kind"];
  const values = (prefix: string) =>
    Object.fromEntries(valueColumns.map(({ name }, at) => [name, shown(row[`${prefix}${at}`])]));
  return {
    kind,
    key: Object.fromEntries(keyColumns.map(({ name }) => [name, shown(row[name])])),
    live: kind === "added" ? null : values("l"),
    replayed: kind === "removed" ? null : values("r"),
  };
}

function shown(value: unknown): string | number | boolean | null {
  if (value instanceof Uint8Array) return Buffer.from(value).toString("hex");
  if (value instanceof Date) return value.toISOString();
  if (typeof value === "bigint" || typeof value === "object")
    return value === null ? null : `${value}`;
  return value as string | number | boolean;
}

/** J5 */
function registering(sink: Sink, store: SinkStore, statement: string): Sink {
  const writesOf = ({ object, eventTime, key }: EffectOrigin): SinkWrite[] =>
    object === null ? [{ statement, params: [eventTime, rankTie(key)] }] : [];
  if (sink.mode === "transactional") {
    const { stage } = sink;
    return {
      ...sink,
      plan: (effects, origin) => [...sink.plan(effects, origin), ...writesOf(origin)],
      ...(stage && {
        stage: (request, into) => {
          const inner = stage(request, into);
          return { ...inner, merge: (origin) => [...inner.merge(origin), ...writesOf(origin)] };
        },
      }),
    };
  }
  const { stage } = sink;
  return {
    ...sink,
    appliesEmpty: true,
    async apply(effects, origin, signal) {
      await store.run(writesOf(origin));
      await sink.apply(effects, origin, signal);
    },
    ...(stage && {
      stage: (request: StagedRowsRequest) => {
        const inner = stage(request);
        const apply: typeof inner.apply = async (origin, signal) => {
          await store.run(writesOf(origin));
          await inner.apply(origin, signal);
        };
        return { ...inner, apply };
      },
    }),
  };
}

/** J1: the sink of a pipeline, with other tables. */
function renamed(sink: Sink, tables: ReadonlyMap<string, string>): Sink {
  const effectsOf = (effects: readonly Effect[]) => effects.map((effect) => moved(effect, tables));
  const staged = <S extends RowStaging>(stage: S): S => ({
    ...stage,
    add: (effects: readonly Effect[]) => stage.add(effectsOf(effects)),
  });
  if (sink.mode === "transactional") {
    const { stage } = sink;
    return {
      ...sink,
      plan: (effects, origin) => sink.plan(effectsOf(effects), origin),
      ...(stage && { stage: (request, store) => staged(stage(request, store)) }),
    };
  }
  const { stage } = sink;
  return {
    ...sink,
    apply: (effects, origin, signal) => sink.apply(effectsOf(effects), origin, signal),
    ...(stage && { stage: (request: StagedRowsRequest) => staged(stage(request)) }),
  };
}

function moved(effect: Effect, tables: ReadonlyMap<string, string>): Effect {
  if (effect.kind === "upsert" || effect.kind === "delete") {
    return { ...effect, table: tables.get(effect.table) ?? effect.table };
  }
  if (effect.kind !== "sql") return effect;
  const message =
    "sql() names live tables, so it cannot run in a shadow; replay this pipeline into the live tables";
  throw new TidegateError("TG_SINK_REFUSED", message); // J4
}
