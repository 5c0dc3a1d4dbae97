// Sim tables: the tables of a simulated world: the production table sink on a SQLite database in
// memory, in the transactions of the world's ledger.
//   T1. Triggers on the table report every change of a row. What a transaction changed is added to
//       the history together with what it was: a record, a redrive, a replay, a promotion.
//   T2. All processes share one connection, so stages of dead processes stay, as in PostgreSQL.

import { TidegateError } from "../../core/errors.ts";
import type { SinkWrite } from "../../core/sink-write.ts";
import type { TableSinkSpec } from "../../core/table-spec.ts";
import { addMs, days, epochMs } from "../../core/units.ts";
import { quarantinedSets, quarantineIn } from "../../ingest/quarantine/quarantine-access.ts";
import { tables as tablesOf } from "../../ingest/spec/define-pipeline.ts";
import { recordKey } from "../../ledger/record-key.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { LedgerScope, RecordKey } from "../../ports/record.ts";
import type { SinkStore } from "../../ports/sink.ts";
import { createRowCheckers } from "../../sinks/table/check-rows.ts";
import { createMemoryTables, type MemoryTables } from "../../sinks/table/memory-tables.ts";
import { rankTie } from "../../sinks/table/rank-tie.ts";
import type { History } from "../history.ts";
import { originOf, type RecordNames } from "../record-names.ts";
import { type FileRow, type RowChange, type SimQuarantinedRow, shownRow } from "./table-events.ts";
import { fileText, rowsOfFile, type TablesTopology } from "./tables-topology.ts";

const TABLE = "item";
const COLUMNS = { id: "text", n: "integer", code: "integer" } as const;
const KEY = ["id"] as const;
/** Longer than any clock of a world is ahead. */
const SWEEP_AHEAD = days(100);
/** Values of one file are consecutive. */
const VALUES_PER_FILE = 100;

const EXISTING = `CREATE TABLE ${TABLE} (id TEXT PRIMARY KEY, n INTEGER NOT NULL CHECK (n > 0),
  code INTEGER NOT NULL, made INTEGER DEFAULT 1)`;
const TRIGGERS = [
  "CREATE TABLE audit (at INTEGER PRIMARY KEY, id TEXT, n INTEGER, code INTEGER)",
  ...["INSERT", "UPDATE"].map(
    (action) => `CREATE TRIGGER audit_${action} AFTER ${action} ON ${TABLE}
      BEGIN INSERT INTO audit (id, n, code) VALUES (new.id, new.n, new.code); END`,
  ),
  `CREATE TRIGGER audit_delete AFTER DELETE ON ${TABLE}
    BEGIN INSERT INTO audit (id) VALUES (old.id); END`,
];

interface SimFile {
  readonly name: string;
  readonly object: string;
  readonly sequencer: string;
  readonly value: string;
}

export interface SimTablesOptions {
  readonly seed: number;
  readonly topology: TablesTopology;
  readonly history: History;
  readonly names: RecordNames;
  readonly scope: LedgerScope;
  /** The process whose call the ledger serves. */
  readonly caller: { readonly actor: string };
}

export class SimTables {
  readonly spec: TableSinkSpec;
  readonly memory: MemoryTables;
  readonly topology: TablesTopology;
  /** Whether the code of consumers accepts all rows. */
  repaired = false;
  readonly #options: SimTablesOptions;
  readonly #files = new Map<string, SimFile>();
  readonly #namesBySequencer = new Map<string, string>();
  readonly #replayed = new Map<string, { readonly run: string; readonly name: string }>();
  readonly #runsByShadow = new Map<string, string>();
  /** Commits in progress that refer to quarantined rows. */
  readonly #quarantining = new Set<string>();
  #audited = 0;

  constructor(options: SimTablesOptions) {
    const { existing, onReplaced } = options.topology;
    this.#options = options;
    this.topology = options.topology;
    const table = existing
      ? ({ existing: true, key: KEY } as const)
      : ({ columns: COLUMNS, key: KEY } as const);
    this.spec = tablesOf({ [TABLE]: table }, { onReplaced });
    this.memory = createMemoryTables(this.spec);
  }

  async prepare(): Promise<void> {
    const { store, sink } = this.memory;
    const run = (statement: string) => store.run([{ statement, params: [], once: true }]);
    if (this.topology.existing) await run(EXISTING);
    await sink.prepare();
    for (const statement of TRIGGERS) await run(statement);
  }

  /** The text of a record's file. */
  textOf(file: { readonly name: string; readonly object: string }): string {
    return fileText(this.#rowsOf(file));
  }

  /** The bucket has the file; its notification is still to be sent. */
  addFile(
    file: SimFile & {
      readonly identity: string;
      readonly removed: boolean;
      readonly eventTime: number;
    },
  ): void {
    const { name, object, sequencer, identity, removed, eventTime } = file;
    const { history, scope } = this.#options;
    const tie = rankTie(recordKey(scope, identity));
    this.#files.set(name, file);
    this.#namesBySequencer.set(sequencer, name);
    const rows = removed ? [] : this.#rowsOf(file);
    const facts = { name, object, sequencer, eventTime, tie, removed, rows };
    history.add("s3", { kind: "file", ...facts });
  }

  #rowsOf(file: { readonly name: string; readonly object: string }): FileRow[] {
    const { seed, topology } = this.#options;
    return rowsOfFile(seed, file, topology, firstValueOf(file.name));
  }

  nameOfSequencer(sequencer: string | null): string {
    return this.#namesBySequencer.get(sequencer ?? "") ?? "";
  }

  /** Names the records of a replay. */
  addReplay(
    { run, shadow }: { readonly run: string; readonly shadow: string },
    records: ReadonlyMap<RecordKey, string>,
  ): void {
    this.#runsByShadow.set(shadow, run);
    for (const [key, name] of records) this.#replayed.set(key, { run, name });
  }

  /** The writes of one commit. */
  readonly run: MemoryTables["run"] = (writes, { fence, ...of }) => {
    this.memory.run(writes, { fence });
    const { key } = of as { readonly key: RecordKey };
    const { history, names, caller } = this.#options;
    const changes = this.#newChanges();
    const quarantines = this.#quarantining.has(key);
    const write = { kind: "table-write", quarantines, changes } as const;
    const name = names.ofKey(key);
    const replay = this.#replayed.get(key);
    if (replay !== undefined) {
      history.add(caller.actor, { ...write, what: "replay", ...replay });
      return;
    }
    const origin = originOf(name);
    this.#addEffect(name, fence);
    const what = origin === name ? "record" : "redrive";
    history.add(caller.actor, { ...write, what, name: origin, run: "" });
  };

  /** The checkers of effects know a record's rows as one value. */
  #addEffect(name: string, fence: number): void {
    const { history, caller } = this.#options;
    const { object = null, sequencer = null, value = name } = this.#files.get(name) ?? {};
    const effect = { kind: "effect", sink: "transactional", accepted: true } as const;
    history.add(caller.actor, { ...effect, name, fence, value, object, sequencer });
  }

  /** Transactions outside of commits: stages, shadows and promotions. */
  get store(): SinkStore {
    const { store } = this.memory;
    return {
      read: (write) => store.read(write),
      run: async (writes) => {
        const { actor } = this.#options.caller;
        await store.run(writes);
        const run = this.#promotedBy(writes);
        const changes = this.#newChanges();
        const write = { kind: "table-write", name: "", quarantines: false, changes } as const;
        const { history } = this.#options;
        if (run !== null) history.add(actor, { ...write, what: "promotion", run });
        else if (changes.length > 0) history.add(actor, { ...write, what: "other", run: "" });
      },
    };
  }

  #promotedBy(writes: readonly SinkWrite[]): string | null {
    const mark = writes.find(({ statement }) => /SET state = 'promoted'/.test(statement));
    if (mark === undefined) return null;
    const [, shadow = ""] = /\bid = '([0-9a-f]+)'/.exec(mark.statement) ?? [];
    return this.#runsByShadow.get(shadow) ?? shadow;
  }

  #newChanges(): RowChange[] {
    const rows = this.memory.select("SELECT at, id, n, code FROM audit WHERE at > ? ORDER BY at", [
      this.#audited,
    ]);
    this.#audited = Number(rows.at(-1)?.at ?? this.#audited);
    return rows.map(rowChange);
  }

  /** The ledger, which says before each commit whether it refers to quarantined rows. */
  observed(ledger: Ledger): Ledger {
    const begin = (commits: readonly { readonly key: string; readonly effects?: string }[]) => {
      this.#quarantining.clear();
      for (const { key, effects = null } of commits) {
        if (quarantineIn(effects) !== null) this.#quarantining.add(key);
      }
    };
    return {
      ...ledger,
      commit: (scope, commits) => {
        begin(commits);
        return ledger.commit(scope, commits);
      },
      commitDirect: (scope, commits) => {
        begin(commits);
        return ledger.commitDirect(scope, commits);
      },
    };
  }

  /** Adds the tables to the history. */
  async look(phase: "drained" | "end", ledger: Ledger, now: number): Promise<void> {
    const { memory } = this;
    const { history } = this.#options;
    await memory.sink.sweepStages?.(memory.store, addMs(epochMs(now), SWEEP_AHEAD));
    history.add("world", {
      kind: "tables",
      phase,
      rows: this.rowsOf(TABLE),
      quarantined: await this.quarantined(ledger),
      leftovers: this.#leftovers(),
      misjudged: await this.#misjudged(),
    });
  }

  async #misjudged(): Promise<string[]> {
    const [checker] = createRowCheckers(this.memory.store, "sqlite", this.spec.tables);
    const check = await checker?.check(new AbortController().signal);
    return (check?.findings ?? []).map(({ kind, object, key }) => `${key ?? object} ${kind}`);
  }

  /** The rows that the ledger lists as quarantined. */
  async quarantined(ledger: Ledger): Promise<SimQuarantinedRow[]> {
    const { scope, names } = this.#options;
    const all: SimQuarantinedRow[] = [];
    for await (const { ref, rows } of quarantinedSets(ledger, scope)) {
      const name = originOf(names.ofKey(ref.of));
      for (const { line, reason, row } of rows)
        all.push({ name, id: String(row.id), line, reason });
    }
    return all;
  }

  /** The rows of the table, or of its shadow. */
  rowsOf(table: string): RowChange[] {
    return this.memory.select(`SELECT id, n, code FROM "${table}" ORDER BY id`, []).map(rowChange);
  }

  #leftovers(): string[] {
    const statement = `SELECT name FROM sqlite_schema WHERE type = 'table'
      UNION ALL SELECT name FROM sqlite_temp_schema WHERE type = 'table' ORDER BY name`;
    const names = this.memory.select(statement, []).map(({ name }) => String(name));
    return names.filter((name) => /shadow_|_tg_stage_/.test(name));
  }
}

function rowChange(row: Readonly<Record<string, unknown>>): RowChange {
  const { id, n, code } = row;
  return [String(id), n === null ? null : shownRow(Number(n), Number(code))];
}

/** Names of records are unique, so their values are. */
function firstValueOf(name: string): number {
  const digits = /\d+$/.exec(name)?.[0];
  const number = digits === undefined ? PROBES.indexOf(name) : Number(digits) + PROBES.length;
  if (number < 0) throw new TidegateError("TG_VALUE_INVALID", `unknown record "${name}"`);
  return 1 + number * VALUES_PER_FILE;
}

/** The records whose names have no number. */
const PROBES = ["probe-quick", "probe-slow"];
