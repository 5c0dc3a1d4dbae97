// Key index: finds a record's row by key, at a cost that hardly grows with the number of records.
// Keys are random, and a B-tree of random keys dirties one page per key. New keys therefore stay in
// memory (the tail) and go to the `ledger_key` table later, sorted, one slice per transaction, so
// that neighbours share pages. The records themselves are the log from which a tail is rebuilt.
//   X1. A row with an id above `ledger_indexed.up_to` may be missing in `ledger_key`; every row up
//       to it is there. The tail has the rows above the mark that this process has read.
//   X2. Ids only grow and are never reused. A process learns of rows that others added by reading
//       the rows above its last id, at the start of each transaction.
//   X3. Index and tail return candidates; only the row itself proves the key, because hashes
//       collide.

import type { DatabaseSync, StatementSync } from "node:sqlite";
import { assert, present } from "../../../core/assert.ts";

/** How many keys stay in memory, and how fast they move to the table. */
export interface TailLimits {
  /** The tail moves once it has a certain share of all rows, within these bounds. */
  readonly keysMin: number;
  readonly keysMax: number;
  /** The least number of keys moved per transaction. */
  readonly sliceMin: number;
}

/** A sixteenth of all rows makes sorted runs long enough for neighbours to share pages. */
const TAIL_SHARE = 16;
/** Keys moved per key added, so that a run ends before the next one starts. */
const SLICE_PER_KEY = 2;
const TAIL_LIMITS: TailLimits = { keysMin: 16_384, keysMax: 262_144, sliceMin: 256 };

/** A 47-bit hash: SQLite stores it in six bytes, and a JavaScript number represents it exactly. */
export function hashKey(scopeId: number, key: string): number {
  let a = 0x811c9dc5 ^ scopeId;
  let b = 0x9e3779b9 ^ scopeId;
  for (let at = 0; at < key.length; at += 1) {
    const unit = key.charCodeAt(at);
    a = Math.imul(a ^ unit, 0x01000193);
    b = Math.imul(b ^ unit, 0x85ebca6b);
    b ^= b >>> 15;
  }
  return (a >>> 0) * 0x8000 + ((b ^ (b >>> 13)) & 0x7fff);
}

interface TailEntry {
  readonly hash: number;
  readonly id: number;
}

export class KeyIndex {
  readonly #db: DatabaseSync;
  readonly #limits: TailLimits;
  readonly #newRows: StatementSync;
  readonly #find: StatementSync;
  readonly #insert: StatementSync;
  readonly #setMark: StatementSync;
  readonly #oldest: StatementSync;
  /** One id, or several in the rare case of a hash collision. */
  readonly #tail = new Map<number, number | number[]>();
  /** Added in the current transaction, to be removed if it fails. */
  #added: TailEntry[] = [];
  #lastId: number;
  #tailSize = 0;
  #tailLimit: number;
  /** The hashes being moved to the table, sorted; the last row they cover; how many have moved. */
  #run = new Float64Array();
  #runUpTo = 0;
  #runAt = 0;

  constructor(db: DatabaseSync, limits: TailLimits = TAIL_LIMITS) {
    this.#db = db;
    this.#limits = limits;
    this.#tailLimit = limits.keysMin;
    this.#newRows = db.prepare("SELECT id, hash FROM ledger_record WHERE id > ? ORDER BY id");
    this.#find = db.prepare("SELECT id FROM ledger_key WHERE hash = ?");
    this.#insert = db.prepare("INSERT OR IGNORE INTO ledger_key VALUES (?, ?)");
    this.#setMark = db.prepare("UPDATE ledger_indexed SET up_to = max(up_to, ?)");
    this.#oldest = db.prepare("SELECT min(id) AS first FROM ledger_record");
    this.#lastId = this.#readMark();
    this.refresh();
  }

  #readMark(): number {
    const row = this.#db.prepare("SELECT up_to FROM ledger_indexed").get();
    return Number(present(row, "the mark of the key index").up_to);
  }

  /** Reads the rows that other processes have added (X2). */
  refresh(): void {
    for (const row of this.#newRows.iterate(this.#lastId)) {
      this.#put(Number(row.hash), Number(row.id));
    }
  }

  #put(hash: number, id: number): void {
    assert(id > this.#lastId, `row ${id} follows row ${this.#lastId} in the key index`); // X2
    const ids = this.#tail.get(hash);
    this.#tail.set(hash, ids === undefined ? id : [id].concat(ids));
    this.#tailSize += 1;
    this.#lastId = id;
  }

  /** The rows of the tail that have this hash. */
  #recent(hash: number): readonly number[] {
    const ids = this.#tail.get(hash);
    if (ids === undefined) return [];
    return typeof ids === "number" ? [ids] : ids;
  }

  #keep(hash: number, ids: readonly number[]): void {
    this.#tailSize -= this.#recent(hash).length - ids.length;
    if (ids.length === 0) this.#tail.delete(hash);
    else this.#tail.set(hash, ids.length === 1 ? present(ids[0], "an id") : [...ids]);
  }

  /** Drops the rows of a hash that are in the table. */
  #dropUpTo(hash: number, upTo: number): void {
    const ids = this.#recent(hash);
    const remaining = ids.filter((id) => id > upTo);
    if (remaining.length < ids.length) this.#keep(hash, remaining);
  }

  /** The first candidate row that `accept` recognises as the key (X3), or null. */
  find<T>(hash: number, accept: (id: number) => T | null): T | null {
    const recent = this.#tail.get(hash);
    if (typeof recent === "number") {
      const row = accept(recent); // Nearly always; without an array for it.
      if (row !== null) return row;
    } else if (recent !== undefined) {
      for (const id of recent) {
        const row = accept(id);
        if (row !== null) return row;
      }
    }
    const first = this.#find.get(hash);
    if (first === undefined) return null;
    const row = accept(Number(first.id));
    if (row !== null) return row;
    for (const { id } of this.#find.all(hash)) {
      const other = accept(Number(id));
      if (other !== null) return other;
    }
    return null;
  }

  /** The id for a row about to be inserted in the current transaction. */
  add(hash: number): number {
    const id = this.#lastId + 1;
    this.#put(hash, id);
    this.#added.push({ hash, id });
    return id;
  }

  /** A point in the transaction to which `undo` can return. */
  mark(): number {
    return this.#added.length;
  }

  /** Removes the keys added since `mark`, whose rows were rolled back. */
  undo(mark: number): void {
    for (const { hash, id } of this.#added.splice(mark).reverse()) {
      const ids = this.#recent(hash);
      this.#keep(
        hash,
        ids.filter((other) => other !== id),
      );
      this.#lastId = id - 1;
    }
  }

  /** Moves a slice of the tail to the table, within the current transaction. */
  moveSlice(): void {
    if (this.#run.length === 0) {
      if (this.#tailSize < this.#tailLimit) return;
      this.#startRun();
    }
    const slice = Math.max(this.#limits.sliceMin, this.#added.length * SLICE_PER_KEY);
    const end = Math.min(this.#run.length, this.#runAt + slice);
    for (; this.#runAt < end; this.#runAt += 1) {
      const hash = present(this.#run[this.#runAt], "a hash of the run");
      for (const id of this.#recent(hash)) this.#insert.run(hash, id);
    }
    // X1: the last slice and the mark are one transaction.
    if (this.#runAt === this.#run.length) this.#setMark.run(this.#runUpTo);
  }

  /**
   * Fixes the committed keys of a run, sorted by hash; drops keys that another process has moved.
   */
  #startRun(): void {
    const mark = this.#readMark();
    this.#runUpTo = this.#lastId - this.#added.length;
    const run = new Float64Array(this.#tail.size);
    let size = 0;
    for (const hash of this.#tail.keys()) {
      this.#dropUpTo(hash, mark);
      if (this.#tail.has(hash)) run[size++] = hash;
    }
    this.#run = run.subarray(0, size).sort();
    this.#runAt = 0;
  }

  /** The transaction is durable, and with it the added keys and the moved slice. */
  committed(): void {
    this.#added = [];
    if (this.#run.length === 0 || this.#runAt < this.#run.length) return;
    for (const hash of this.#run) this.#dropUpTo(hash, this.#runUpTo);
    this.#run = new Float64Array();
    const rows = this.#lastId - Number(this.#oldest.get()?.first ?? 0);
    const { keysMin, keysMax } = this.#limits;
    this.#tailLimit = Math.min(keysMax, Math.max(keysMin, Math.floor(rows / TAIL_SHARE)));
  }

  /** The transaction was rolled back. The run starts over, as moving a key twice is harmless. */
  rollBack(): void {
    this.undo(0);
    this.#runAt = 0;
  }
}
