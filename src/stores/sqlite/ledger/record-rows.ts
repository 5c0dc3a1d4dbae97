// Record rows: reads and writes of single records and objects within a transaction.

import type { DatabaseSync, StatementSync } from "node:sqlite";
import { present } from "../../../core/assert.ts";
import type { EpochMs } from "../../../core/units.ts";
import { epochMs } from "../../../core/units.ts";
import type { FastCommit } from "../../../ledger/fast-commit.ts";
import type { RecordColumns } from "../../../ledger/record-columns.ts";
import { fromColumns, toColumns } from "../../../ledger/record-columns.ts";
import { asRecordKey } from "../../../ledger/record-state.ts";
import type {
  LedgerScope,
  ObjectRef,
  ObjectState,
  RecordKey,
  StoredRecord,
} from "../../../ports/record.ts";
import type { KeyIndex } from "./key-index.ts";
import { hashKey } from "./key-index.ts";

export interface StoredRow {
  readonly id: number;
  readonly record: StoredRecord;
  readonly log: string;
}

export class RecordRows {
  readonly #index: KeyIndex;
  readonly #select: StatementSync;
  readonly #insert: StatementSync;
  readonly #update: StatementSync;
  readonly #commitClaim: StatementSync;
  readonly #selectObject: StatementSync;
  readonly #putObject: StatementSync;
  readonly #selectScope: StatementSync;
  readonly #insertScope: StatementSync;

  constructor(db: DatabaseSync, index: KeyIndex) {
    this.#index = index;
    this.#select = db.prepare(`
      SELECT state, fence, attempts, seen_at AS seenAt, changed_at AS changedAt,
        expires_at AS expiresAt, lease_until AS leaseUntil, owner, digest, detail, log
      FROM ledger_record WHERE id = ? AND scope = ? AND key = ?`);
    this.#insert = db.prepare(
      "INSERT INTO ledger_record VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    );
    this.#update = db.prepare(`
      UPDATE ledger_record SET state = ?, fence = ?, attempts = ?, seen_at = ?, changed_at = ?,
        expires_at = ?, lease_until = ?, owner = ?, digest = ?, detail = ?, log = ?
      WHERE id = ?`);
    this.#commitClaim = db.prepare(`
      UPDATE ledger_record SET state = 'committed', changed_at = ?, expires_at = ?,
        lease_until = 0, owner = NULL, digest = ?, detail = ?, log = log || ?
      WHERE id = ? AND scope = ? AND key = ? AND state = 'claimed' AND fence = ?
        AND expires_at > ?`);
    this.#selectObject = db.prepare(`
      SELECT sequencer, applied_key AS appliedKey, expires_at AS expiresAt
      FROM ledger_object WHERE scope = ? AND bucket = ? AND key = ?`);
    this.#putObject = db.prepare("INSERT OR REPLACE INTO ledger_object VALUES (?, ?, ?, ?, ?, ?)");
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
      const columns = row as unknown as RecordColumns & { readonly log: string };
      return { id, record: fromColumns(columns), log: columns.log };
    });
  }

  insert(scopeId: number, key: RecordKey, record: StoredRecord, log: string): void {
    const hash = hashKey(scopeId, key);
    const id = this.#index.add(hash);
    const row = toColumns(record);
    const { state, fence, attempts, seenAt, changedAt, expiresAt, leaseUntil } = row;
    const { owner, digest, detail } = row;
    this.#insert.run(
      id,
      scopeId,
      hash,
      key,
      state,
      fence,
      attempts,
      seenAt,
      changedAt,
      expiresAt,
      leaseUntil,
      owner,
      digest,
      detail,
      log,
    );
  }

  update(id: number, record: StoredRecord, log: string): void {
    const row = toColumns(record);
    const { state, fence, attempts, seenAt, changedAt, expiresAt, leaseUntil } = row;
    this.#update.run(
      state,
      fence,
      attempts,
      seenAt,
      changedAt,
      expiresAt,
      leaseUntil,
      row.owner,
      row.digest,
      row.detail,
      log,
      id,
    );
  }

  /** The fast path in one statement: true if the claim with that fence was committed. */
  commitClaim(
    scopeId: number,
    { key, fence, digest, detail, added }: FastCommit,
    { now, expiresAt }: { readonly now: EpochMs; readonly expiresAt: EpochMs },
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
        now,
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
    };
  }

  putObject(scopeId: number, ref: ObjectRef, object: ObjectState): void {
    const { sequencer, appliedKey, expiresAt } = object;
    this.#putObject.run(scopeId, ref.bucket, ref.key, sequencer, appliedKey, expiresAt);
  }
}
