// Batch rows: the statements on the tables of batches.

import type { DatabaseSync } from "node:sqlite";
import type { EpochMs } from "../../../core/units.ts";
import {
  fromBatchColumns,
  fromItemColumns,
  toBatchColumns,
} from "../../../ledger/outbox/batch-columns.ts";
import type { ExpectedItem, JobBatch, NamePage } from "../../../ports/batches.ts";

const LIST = `SELECT * FROM tidegate_batch
  WHERE target = ? AND name > ? AND expires_at > ? ORDER BY name LIMIT ?`;
const OPEN = `SELECT name, key FROM tidegate_batch_item
  WHERE batch = ? AND done = 0 AND name > ? ORDER BY name LIMIT ?`;
const COUNT_DONE = "SELECT count(*) AS n FROM tidegate_batch_item WHERE batch = ? AND done = 1";
const PURGE = `DELETE FROM tidegate_batch WHERE (target, name) IN
  (SELECT target, name FROM tidegate_batch WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)`;
const PURGE_ITEMS = `DELETE FROM tidegate_batch_item WHERE (batch, name) IN
  (SELECT batch, name FROM tidegate_batch_item WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)`;

export class SqliteBatchRows {
  readonly #statements;

  constructor(db: DatabaseSync) {
    this.#statements = {
      find: db.prepare("SELECT * FROM tidegate_batch WHERE target = ? AND name = ?"),
      save: db.prepare("INSERT OR REPLACE INTO tidegate_batch VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"),
      list: db.prepare(LIST),
      add: db.prepare("INSERT OR IGNORE INTO tidegate_batch_item VALUES (?, ?, ?, 0, ?)"),
      open: db.prepare(OPEN),
      done: db.prepare("UPDATE tidegate_batch_item SET done = 1 WHERE batch = ? AND name = ?"),
      countDone: db.prepare(COUNT_DONE),
      purge: db.prepare(PURGE),
      purgeItems: db.prepare(PURGE_ITEMS),
    };
  }

  find(target: string, name: string): JobBatch | undefined {
    const row = this.#statements.find.get(target, name);
    return row === undefined ? undefined : fromBatchColumns(row);
  }

  save(target: string, batch: JobBatch): void {
    this.#statements.save.run(...toBatchColumns(target, batch));
  }

  list(target: string, { after, limit, expiry }: NamePage & { expiry: EpochMs }): JobBatch[] {
    return this.#statements.list.all(target, after ?? "", expiry, limit).map(fromBatchColumns);
  }

  add(id: string, items: readonly ExpectedItem[], expiresAt: EpochMs): void {
    for (const { name, key } of items) this.#statements.add.run(id, name, key, expiresAt);
  }

  open(id: string, { after, limit }: NamePage): ExpectedItem[] {
    return this.#statements.open.all(id, after ?? "", limit).map(fromItemColumns);
  }

  done(id: string, items: readonly ExpectedItem[]): void {
    for (const { name } of items) this.#statements.done.run(id, name);
  }

  countDone(id: string): number {
    return Number(this.#statements.countDone.get(id)?.n);
  }

  purge(limit: number, expiry: EpochMs): number {
    const batches = Number(this.#statements.purge.run(expiry, limit).changes);
    return batches + Number(this.#statements.purgeItems.run(expiry, limit - batches).changes);
  }
}
