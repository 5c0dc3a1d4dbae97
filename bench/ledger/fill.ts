// Fill: writes committed records straight into the tables of a ledger, many times faster than the
// ledger, which syncs and looks every key up. A fill is not a measurement.
//   F1. The transitions, columns and statements are the ledger's own, so that a filled record reads
//       like one that the ledger wrote. A test compares both.
//   F2. The ledger is closed meanwhile, and has no records of the scope.

import { DatabaseSync } from "node:sqlite";
import pg from "pg";
import { present } from "../../src/core/assert.ts";
import type { EpochMs } from "../../src/core/units.ts";
import { stepCall } from "../../src/ledger/record-call.ts";
import { grownLog } from "../../src/ledger/record-log.ts";
import { ABSENT, RETENTION_MS_DEFAULT } from "../../src/ledger/record-state.ts";
import type { DirectCommit } from "../../src/ports/ledger.ts";
import type { LedgerScope } from "../../src/ports/record.ts";
import { insertRecords, type KeyedRecord } from "../../src/stores/postgres/record-rows.ts";
import { ownLockLimit } from "../../src/stores/postgres/time-limits.ts";
import { KeyIndex } from "../../src/stores/sqlite/ledger/key-index.ts";
import { RecordRows } from "../../src/stores/sqlite/ledger/record-rows.ts";

/** The records of a fill: record `n` of `size`, and when it was committed. */
export interface FilledRecords {
  readonly size: number;
  readonly recordOf: (n: number) => DirectCommit;
  readonly committedAt: (n: number) => EpochMs;
}

/** Records per transaction. */
const SQLITE_BATCH = 20_000;
const POSTGRES_BATCH = 5_000;
const CACHE_KIB = 262_144;

/** F1 */
function rowOf({ recordOf, committedAt }: FilledRecords, n: number): KeyedRecord {
  const { key, owner, receivedAt, startedAt, input, digest, effects = null } = recordOf(n);
  const now = committedAt(n);
  const times = { now, expiry: now, retentionMs: RETENTION_MS_DEFAULT };
  const step = stepCall(
    { key, record: ABSENT, storedInput: null, object: null, ref: null, ...times },
    { call: "commit-direct", owner, receivedAt, startedAt, input, digest, effects },
  );
  const log = grownLog(null, step.entries, now);
  const record = present(step.record, "the record of a first commit");
  return { key, record, input: present(step.input, "the input of a first commit"), log };
}

function* batchesOf(records: FilledRecords, batch: number): Generator<KeyedRecord[]> {
  for (let first = 0; first < records.size; first += batch) {
    const count = Math.min(batch, records.size - first);
    yield Array.from({ length: count }, (_, n) => rowOf(records, first + n));
  }
}

/** Fills the SQLite file of a closed ledger (F2), without syncs. */
export function fillSqlite(path: string, scope: LedgerScope, records: FilledRecords): void {
  const db = new DatabaseSync(path);
  try {
    db.exec("PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF;");
    db.exec(`PRAGMA cache_size = -${CACHE_KIB};`);
    const index = new KeyIndex(db);
    const rows = new RecordRows(db, index);
    const scopeId = rows.openScope(scope);
    for (const batch of batchesOf(records, SQLITE_BATCH)) {
      db.exec("BEGIN IMMEDIATE");
      for (const { key, ...saved } of batch) rows.insert(scopeId, key, saved);
      index.moveSlice();
      db.exec("COMMIT");
      index.committed();
    }
  } finally {
    db.close();
  }
}

/** Fills the tables of a closed ledger in PostgreSQL (F2), and vacuums them. */
export async function fillPostgres(
  url: string,
  { pipeline, generation }: LedgerScope,
  records: FilledRecords,
): Promise<void> {
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  try {
    const { rows } = await pool.query(
      `INSERT INTO tidegate_ledger_scope (pipeline, generation) VALUES ($1, $2) RETURNING id`,
      [pipeline, generation],
    );
    for (const batch of batchesOf(records, POSTGRES_BATCH)) {
      await insertRecords(pool, Number(rows[0].id), batch, ownLockLimit(pool));
    }
    // A server does it by itself, at any time during a measurement.
    await pool.query("VACUUM ANALYZE tidegate_ledger_record");
  } finally {
    await pool.end();
  }
}
