// Record rows: reads and writes of single records and objects within a transaction.

import type { DatabaseSync, StatementSync } from "node:sqlite";
import { present } from "../../../core/assert.ts";
import type { EpochMs } from "../../../core/units.ts";
import { epochMs } from "../../../core/units.ts";
import type { FastCommit } from "../../../ledger/fast-commit.ts";
import { fromAppliedText, toAppliedText } from "../../../ledger/object-order.ts";
import type { InputColumns } from "../../../ledger/record-input.ts";
import { fromInputColumns, toInputColumns } from "../../../ledger/record-input.ts";
import { asRecordKey } from "../../../ledger/record-state.ts";
import type { RecordColumns } from "../../../ledger/rows/record-columns.ts";
import { columnValues, fromColumns } from "../../../ledger/rows/record-columns.ts";
import type { SearchedText } from "../../../ledger/search-records.ts";
import type { LedgerInstant } from "../../../ledger/store-time.ts";
import type {
  LedgerScope,
  ObjectRef,
  ObjectState,
  RecordInput,
  RecordKey,
  StoredRecord,
} from "../../../ports/record.ts";
import { hashKey, rankOf } from "./key-hash.ts";
import type { KeyIndex } from "./key-index.ts";

export interface StoredRow {
  readonly id: number;
  readonly record: StoredRecord;
  readonly input: RecordInput;
  readonly log: string;
}

/** A record as it is saved. */
export interface SavedRow {
  readonly record: StoredRecord;
  readonly input: RecordInput;
  readonly log: string;
}

export const RECORD_COLUMNS = `state, fence, attempts, seen_at AS seenAt, changed_at AS changedAt,
  expires_at AS expiresAt, lease_until AS leaseUntil, owner, digest, detail`;
export const INPUT_COLUMNS = `event_time AS eventTime, bucket, object_key AS objectKey, input`;

export class RecordRows {
  readonly #db: DatabaseSync;
  readonly #index: KeyIndex;
  readonly #select: StatementSync;
  readonly #selectLive: StatementSync;
  readonly #insert: StatementSync;
  readonly #update: StatementSync;
  readonly #updateEvent: StatementSync;
  readonly #commitClaim: StatementSync;
  readonly #selectObject: StatementSync;
  readonly #putObject: StatementSync;
  readonly #selectScope: StatementSync;
  readonly #insertScope: StatementSync;

  constructor(db: DatabaseSync, index: KeyIndex) {
    this.#db = db;
    this.#index = index;
    this.#select = db.prepare(`
      SELECT ${RECORD_COLUMNS}, ${INPUT_COLUMNS}, log
      FROM ledger_record WHERE id = ? AND scope = ? AND key = ?`);
    this.#selectLive = db.prepare(
      "SELECT 1 FROM ledger_record WHERE id = ? AND scope = ? AND key = ? AND expires_at > ?",
    );
    this.#insert = db.prepare(
      `INSERT INTO ledger_record
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.#update = db.prepare(`
      UPDATE ledger_record SET state = ?, fence = ?, attempts = ?, seen_at = ?, changed_at = ?,
        expires_at = ?, lease_until = ?, owner = ?, digest = ?, detail = ?, log = ?, input = ?
      WHERE id = ?`);
    this.#updateEvent = db.prepare(
      "UPDATE ledger_record SET event_time = ?, bucket = ?, object_key = ? WHERE id = ?",
    );
    this.#commitClaim = db.prepare(`
      UPDATE ledger_record SET state = 'committed', changed_at = ?, expires_at = ?,
        lease_until = 0, owner = NULL, digest = ?, detail = ?, log = log || ?
      WHERE id = ? AND scope = ? AND key = ? AND state = 'claimed' AND fence = ?
        AND expires_at > ?`);
    this.#selectObject = db.prepare(`
      SELECT sequencer, applied_key AS appliedKey, expires_at AS expiresAt, applied
      FROM ledger_object WHERE scope = ? AND bucket = ? AND key = ?`);
    this.#putObject = db.prepare(
      "INSERT OR REPLACE INTO ledger_object VALUES (?, ?, ?, ?, ?, ?, ?)",
    );
    this.#selectScope = db.prepare(
      "SELECT id FROM ledger_scope WHERE pipeline = ? AND generation = ?",
    );
    this.#insertScope = db.prepare(
      "INSERT INTO ledger_scope (pipeline, generation) VALUES (?, ?) RETURNING id",
    );
  }

  /** The number of a scope, or null if nothing was ever written in it. */
  findScope({ pipeline, generation }: LedgerScope): number | null {
    const row = this.#selectScope.get(pipeline, generation);
    return row === undefined ? null : Number(row.id);
  }

  /** The number of a scope; creates the scope if it is missing. */
  openScope(scope: LedgerScope): number {
    const existing = this.findScope(scope);
    if (existing !== null) return existing;
    const row = this.#insertScope.get(scope.pipeline, scope.generation);
    return Number(present(row, "the number of a new scope").id);
  }

  find(scopeId: number, key: RecordKey): StoredRow | null {
    return this.#index.find(hashKey(scopeId, key), (id) => {
      const row = this.#select.get(id, scopeId, key);
      if (row === undefined) return null;
      const columns = row as unknown as RecordColumns & InputColumns & { readonly log: string };
      const input = fromInputColumns(columns);
      return { id, record: fromColumns(columns), input, log: columns.log };
    });
  }

  /** Runs the work of a batch, whose keys are looked up together. */
  withPrefetched<T>(
    scopeId: number,
    items: readonly { readonly key: RecordKey }[],
    work: () => T,
  ): T {
    if (items.length === 1) return work();
    return this.#index.withPrefetched(
      items.map(({ key }) => hashKey(scopeId, key)),
      work,
    );
  }

  /** Those of `keys` that have a record that has not expired. */
  findLive(scope: LedgerScope, keys: readonly RecordKey[], now: EpochMs): ReadonlySet<RecordKey> {
    const scopeId = this.findScope(scope);
    if (scopeId === null) return new Set();
    const isLive = (key: RecordKey) =>
      this.#index.find(hashKey(scopeId, key), (id) =>
        this.#selectLive.get(id, scopeId, key, now) === undefined ? null : true,
      );
    const items = keys.map((key) => ({ key }));
    return this.withPrefetched(scopeId, items, () => new Set(keys.filter(isLive)));
  }

  /** The newest records that have the text in a name of their input. */
  search(scopeId: number, text: SearchedText, now: EpochMs, limit: number): RecordKey[] {
    const rows = this.#db
      .prepare(`SELECT key FROM ledger_record WHERE scope = ? AND expires_at > ?
        AND (instr('s3://' || bucket || '/' || object_key, ?) > 0 OR instr(input, ?) > 0)
        ORDER BY id DESC LIMIT ?`)
      .all(scopeId, now, text.url, text.inJson, limit);
    return rows.map(({ key }) => asRecordKey(String(key)));
  }

  insert(scopeId: number, key: RecordKey, { record, input, log }: SavedRow): void {
    const hash = hashKey(scopeId, key);
    const id = this.#index.add(hash);
    const from = toInputColumns(input);
    this.#insert.run(
      id,
      scopeId,
      hash,
      rankOf(key),
      key,
      ...columnValues(record),
      log,
      from.eventTime,
      from.bucket,
      from.objectKey,
      from.input,
    );
  }

  update(stored: StoredRow, { record, input, log }: SavedRow): void {
    const { id } = stored;
    const from = toInputColumns(input);
    this.#update.run(...columnValues(record), log, from.input, id);
    if (isSameEvent(stored.input, input)) return; // Y2 of ledger-tables.ts
    this.#updateEvent.run(from.eventTime, from.bucket, from.objectKey, id);
  }

  /** The fast path in one statement: true if the claim with that fence was committed. */
  commitClaim(
    scopeId: number,
    { key, fence, digest, detail, added }: FastCommit,
    { now, expiry, expiresAt }: LedgerInstant & { readonly expiresAt: EpochMs },
  ): boolean {
    const done = this.#index.find(hashKey(scopeId, key), (id) => {
      const { changes } = this.#commitClaim.run(
        now,
        expiresAt,
        digest,
        detail,
        added,
        id,
        scopeId,
        key,
        fence,
        expiry,
      );
      return changes === 1 ? true : null;
    });
    return done === true;
  }

  findObject(scopeId: number, bucket: string, key: string): ObjectState | null {
    const row = this.#selectObject.get(scopeId, bucket, key);
    if (row === undefined) return null;
    return {
      sequencer: String(row.sequencer),
      appliedKey: asRecordKey(String(row.appliedKey)),
      expiresAt: epochMs(Number(row.expiresAt)),
      ...fromAppliedText(row.applied === null ? null : String(row.applied)),
    };
  }

  putObject(scopeId: number, ref: ObjectRef, object: ObjectState): void {
    const { sequencer, appliedKey, expiresAt } = object;
    const applied = toAppliedText(object);
    this.#putObject.run(scopeId, ref.bucket, ref.key, sequencer, appliedKey, expiresAt, applied);
  }
}

function isSameEvent(a: RecordInput, b: RecordInput): boolean {
  return (
    a.eventTime === b.eventTime &&
    a.object?.bucket === b.object?.bucket &&
    a.object?.key === b.object?.key
  );
}
