// Key index: finds a record's row by key, at a cost that hardly grows with the number of records.
// Keys are random, and a B-tree of random keys dirties one page per key. New keys therefore stay in
// memory (the tail) and go to the `ledger_key` table later, sorted, one slice per transaction, so
// that neighbours share pages. While a run of keys moves, newer keys go to a tail of their own, so
// that the run ends by dropping its tail. The records are the log from which a tail is rebuilt.
//   X1. A row with an id above `ledger_indexed.up_to` may be missing in `ledger_key`; every row up
//       to it is there. The tails have the rows above the mark that this process has read.
//   X2. Ids only grow and are never reused. A process learns of rows that others added by reading
//       the rows above its last id, at the start of each transaction.
//   X3. Index and tail return candidates; only the row itself proves the key, because hashes
//       collide.
//   X4. Keys that are added in a transaction are the last ones of the newer tail until it ends.

import type { DatabaseSync, StatementSync } from "node:sqlite";
import { assert, present } from "../../../core/assert.ts";
import { KeyTail } from "./key-tail.ts";

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
/** Fewer hashes than this are looked up one by one. */
const PREFETCH_MIN = 8;
const NO_IDS: readonly number[] = [];
const TAIL_LIMITS: TailLimits = { keysMin: 16_384, keysMax: 262_144, sliceMin: 256 };

export class KeyIndex {
  readonly #db: DatabaseSync;
  readonly #limits: TailLimits;
  readonly #newRows: StatementSync;
  readonly #find: StatementSync;
  readonly #findMany: StatementSync;
  readonly #insert: StatementSync;
  readonly #setMark: StatementSync;
  readonly #oldest: StatementSync;
  #tail = new KeyTail();
  /** Keys added in the current transaction (X4). */
  #added = 0;
  #lastId: number;
  #tailLimit: number;
  /** The keys being moved: their hashes, sorted; how many have moved; the last row they cover. */
  #moving = new KeyTail();
  #run = new Float64Array();
  #runAt = 0;
  #runUpTo = 0;
  /** What the table has for the hashes of the current batch. */
  #prefetched: Map<number, readonly number[]> | null = null;

  constructor(db: DatabaseSync, limits: TailLimits = TAIL_LIMITS) {
    this.#db = db;
    this.#limits = limits;
    this.#tailLimit = limits.keysMin;
    this.#newRows = db.prepare("SELECT id, hash FROM ledger_record WHERE id > ? ORDER BY id");
    this.#find = db.prepare("SELECT id FROM ledger_key WHERE hash = ?");
    this.#findMany = db.prepare(
      "SELECT hash, id FROM ledger_key WHERE hash IN (SELECT value FROM json_each(?))",
    );
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
    assert(this.#added === 0, "rows of others are read before a transaction adds its own"); // X4
    for (const row of this.#newRows.iterate(this.#lastId)) {
      this.#put(Number(row.hash), Number(row.id));
    }
  }

  #put(hash: number, id: number): void {
    assert(id > this.#lastId, `row ${id} follows row ${this.#lastId} in the key index`); // X2
    this.#tail.add(hash, id);
    this.#lastId = id;
  }

  /**
   * Runs the work of a batch after one look at the table for all its hashes. Call it inside a
   * transaction, in which the table does not change but by `moveSlice`.
   */
  withPrefetched<T>(hashes: readonly number[], work: () => T): T {
    const missing = hashes.filter((hash) => !this.#tail.has(hash) && !this.#moving.has(hash));
    if (missing.length < PREFETCH_MIN) return work();
    const idsOf = new Map<number, readonly number[]>();
    for (const hash of missing) idsOf.set(hash, NO_IDS);
    for (const row of this.#findMany.all(JSON.stringify(missing))) {
      const hash = Number(row.hash);
      idsOf.set(hash, [...(idsOf.get(hash) ?? NO_IDS), Number(row.id)]);
    }
    this.#prefetched = idsOf;
    try {
      return work();
    } finally {
      this.#prefetched = null;
    }
  }

  /** The first candidate row that `accept` recognises as the key (X3), or null. */
  find<T>(hash: number, accept: (id: number) => T | null): T | null {
    const recent = this.#tail.find(hash, accept) ?? this.#moving.find(hash, accept);
    if (recent !== null) return recent;
    const prefetched = this.#prefetched?.get(hash);
    if (prefetched !== undefined) {
      for (const id of prefetched) {
        const row = accept(id);
        if (row !== null) return row;
      }
      return null;
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
    this.#added += 1;
    return id;
  }

  /** A point in the transaction to which `undo` can return. */
  mark(): number {
    return this.#added;
  }

  /** Removes the keys added since `mark`, whose rows were rolled back. */
  undo(mark: number): void {
    for (; this.#added > mark; this.#added -= 1) {
      const { id } = this.#tail.removeLast(); // X4
      this.#lastId = id - 1;
    }
  }

  /** Moves a slice of the tail to the table, within the current transaction. */
  moveSlice(): void {
    if (this.#run.length === 0) {
      if (this.#tail.size < this.#tailLimit) return;
      this.#startRun();
    }
    const slice = Math.max(this.#limits.sliceMin, this.#added * SLICE_PER_KEY);
    const end = Math.min(this.#run.length, this.#runAt + slice);
    for (; this.#runAt < end; this.#runAt += 1) {
      const hash = present(this.#run[this.#runAt], "a hash of the run");
      this.#moving.find(hash, (id) => {
        this.#insert.run(hash, id);
        return null;
      });
    }
    // X1: the last slice and the mark are one transaction.
    if (this.#runAt === this.#run.length) this.#setMark.run(this.#runUpTo);
  }

  /** Makes a run of the committed keys of the tail, without those that another process moved. */
  #startRun(): void {
    this.#runUpTo = this.#lastId - this.#added;
    const own = Array.from({ length: this.#added }, () => this.#tail.removeLast()).reverse(); // X4
    this.#moving = this.#tail;
    this.#tail = new KeyTail();
    for (const { hash, id } of own) this.#tail.add(hash, id);
    this.#run = this.#moving.sortedHashes(this.#readMark());
    this.#runAt = 0;
    if (this.#run.length === 0) this.#moving = new KeyTail();
  }

  /** The transaction is durable, and with it the added keys and the moved slice. */
  committed(): void {
    this.#added = 0;
    if (this.#run.length === 0 || this.#runAt < this.#run.length) return;
    this.#moving = new KeyTail();
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
