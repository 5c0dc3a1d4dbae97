// Worlds for tests of the table sink: each path to it (direct commit, claim and commit, a separate
// database) over one database, behind one `deliver`.

import type { TableSinkSpec, TablesSpec } from "../../../src/core/table-spec.ts";
import { durationMs, epochMs, seconds } from "../../../src/core/units.ts";
import { asRecordKey, fenceOf } from "../../../src/ledger/record-state.ts";
import type { Ledger } from "../../../src/ports/ledger.ts";
import type { Fence, RecordKey } from "../../../src/ports/record.ts";
import type { Effect, EffectOrigin, Sink } from "../../../src/ports/sink.ts";
import {
  createIdempotentTableSink,
  createTableSink,
  type DatabaseAddress,
} from "../../../src/sinks/table/index.ts";
import { createManualClock, type ManualClock } from "../manual-clock.ts";
import { ANY_INPUT } from "./any-input.ts";

export const SCOPE = { pipeline: "stations", generation: 0 };
export const T0 = epochMs(1_700_000_000_000);

export type SinkMode = "direct" | "claimed" | "idempotent";
export const SINK_MODES: readonly SinkMode[] = ["direct", "claimed", "idempotent"];

export const OBSERVATIONS = {
  observations: {
    columns: { station: "text", at: "integer", celsius: "real", valid: "boolean" },
    key: ["station", "at"],
  },
} as const satisfies TablesSpec;

export type DatabaseRow = Readonly<Record<string, unknown>>;

/** A database for a single test. */
export interface TestDatabase {
  readonly address: DatabaseAddress;
  openLedger(clock: ManualClock): Promise<Ledger>;
  query(sql: string): Promise<DatabaseRow[]>;
}

/** Notes every update of a row in the table `audit`, by a trigger. */
export async function auditUpdates(
  { address, query }: TestDatabase,
  table: string,
  column: string,
): Promise<void> {
  await query(`CREATE TABLE audit (${column} integer)`);
  if (address.dialect === "sqlite") {
    await query(`CREATE TRIGGER auditing AFTER UPDATE ON ${table}
      BEGIN INSERT INTO audit VALUES (new.${column}); END`);
    return;
  }
  await query(`CREATE FUNCTION auditing() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN INSERT INTO audit VALUES (new.${column}); RETURN new; END $$`);
  await query(`CREATE TRIGGER auditing AFTER UPDATE ON ${table}
    FOR EACH ROW EXECUTE FUNCTION auditing()`);
}

/** An event and the effects of a handler. */
export interface DeliveredEvent {
  readonly key: string;
  /** Event time, after T0. */
  readonly at: number;
  readonly object?: string;
  readonly sequencer?: string | null;
  readonly removed?: boolean;
  /** The key of the event to whose rows these are added. */
  readonly addsTo?: string;
  readonly effects?: readonly Effect[];
  /** Only where no ledger draws it. */
  readonly fence?: number;
}

export interface SinkWorld {
  readonly database: TestDatabase;
  readonly sink: Sink;
  deliver(event: DeliveredEvent): Promise<void>;
  query(sql: string): Promise<DatabaseRow[]>;
  close(): Promise<void>;
}

export function specOf(tables: TablesSpec, more: Partial<TableSinkSpec> = {}): TableSinkSpec {
  const given = { database: null, onReplaced: "delete", ...more } as const;
  return { kind: "tables", tables, ...given };
}

export function openSink(mode: SinkMode, spec: TableSinkSpec, address: DatabaseAddress): Sink {
  if (mode !== "idempotent") return createTableSink(spec, address);
  const database = address.dialect === "sqlite" ? address.path : address.url;
  return createIdempotentTableSink({ ...spec, database });
}

export function originOf(event: DeliveredEvent): EffectOrigin {
  const { key, at, object, sequencer = null, removed = false, addsTo } = event;
  const adds = addsTo !== undefined && { addsTo: asRecordKey(addsTo) };
  const version = { bucket: "bucket", key: object ?? "", sequencer, removed, ...adds };
  return {
    key: asRecordKey(key),
    object: object === undefined ? null : version,
    eventTime: epochMs(T0 + at),
  };
}

export async function openWorld(
  mode: SinkMode,
  spec: TableSinkSpec,
  database: TestDatabase,
): Promise<SinkWorld> {
  const clock = createManualClock(T0);
  const sink = openSink(mode, spec, database.address);
  const ledger = mode === "idempotent" ? null : await database.openLedger(clock);
  await sink.prepare();
  return {
    database,
    sink,
    query: database.query,
    async deliver(event) {
      clock.advance(durationMs(1));
      const origin = originOf(event);
      const effects = event.effects ?? [];
      if (sink.mode === "idempotent") {
        const fence = fenceOf(event.fence ?? clock.now());
        await sink.apply(effects, { ...origin, fence }, new AbortController().signal);
      } else if (ledger !== null) {
        const { key, object } = origin;
        const writes = sink.plan(effects, origin);
        const advances = object !== null && object.addsTo === undefined;
        const commit = { key, digest: "d", ...(advances && { object }), writes };
        if (mode === "direct") await commitDirect(ledger, clock, commit);
        else await claimAndCommit(ledger, clock, commit);
      }
    },
    async close() {
      await sink.close();
      await ledger?.close();
    },
  };
}

type Committed = Omit<Parameters<Ledger["commit"]>[1][number], "fence">;

export async function commitDirect(ledger: Ledger, clock: ManualClock, commit: Committed) {
  const times = { input: ANY_INPUT, receivedAt: clock.now(), startedAt: clock.now() };
  await ledger.commitDirect(SCOPE, [{ ...commit, owner: "w", ...times }]);
}

/** The fence of a claim, or null if the claim is rejected. */
export async function claim(
  ledger: Ledger,
  clock: ManualClock,
  { key, object }: { readonly key: RecordKey; readonly object?: Committed["object"] },
): Promise<Fence | null> {
  const request = {
    key,
    input: ANY_INPUT,
    receivedAt: clock.now(),
    ...(object !== undefined && { object }),
  };
  const lease = { owner: "w", leaseMs: seconds(30) };
  const [result] = await ledger.claim(SCOPE, [request], lease);
  return result?.kind === "claimed" ? result.fence : null;
}

async function claimAndCommit(ledger: Ledger, clock: ManualClock, commit: Committed) {
  const fence = await claim(ledger, clock, commit);
  if (fence !== null) await ledger.commit(SCOPE, [{ ...commit, fence }]);
}
