// Key index: finds a record's row by its key at a cost that hardly grows with what is remembered.
// Keys are random, and a B-tree of random keys dirties one page per key. So new keys are kept in
// memory (the tail) and written to the `ledger_key` table late, sorted, a slice per transaction:
// neighbours then share pages. The records themselves are the log from which a tail is read back.
//   X1. A row with an id above `ledger_indexed.up_to` may be missing in `ledger_key`; every row up
//       to it is there. Rows above the mark that we know of are in the tail.
//   X2. Ids only grow and are never reused, so a process learns what others added by reading the
//       rows above the last id it has seen, at the start of each transaction.
//   X3. Index and tail give candidates; the row itself says whether it is the key (hashes collide).

import type { DatabaseSync, StatementSync } from "node:sqlite";
import { present } from "../../../core/assert.ts";

/** How many keys stay in memory, and how fast they leave it. */
export interface TailLimits {
  /** The tail is moved when it holds a share of all rows, within these bounds. */
  readonly keysMin: number;
  readonly keysMax: number;
  /** Keys moved per transaction, at least. */
  readonly sliceMin: number;
}

/** A sixteenth of all rows makes sorted runs long enough for neighbours to share pages. */
const TAIL_SHARE = 16;
/** Keys moved per key added, so that a run ends before the next is due. */
const SLICE_PER_KEY = 2;
const TAIL_LIMITS: TailLimits = { keysMin: 16_384, keysMax: 262_144, sliceMin: 256 };

/** A 47-bit hash: SQLite keeps it in six bytes, and a JavaScript number holds it exactly. */
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
  /** One id, or several in the rare case that hashes collide. */
  readonly #tail = new Map<number, number | number[]>();
  /** Added in the transaction under way, to be taken back if it fails. */
  #added: TailEntry[] = [];
  #lastId: number;
  #tailSize = 0;
  #tailLimit: number;
  /** The hashes being moved to the table, sorted; the last row they cover; how far it has come. */
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

  /** Learns of the rows that others have added (X2). */
  refresh(): void {
    for (const row of this.#newRows.iterate(this.#lastId)) {
      this.#put(Number(row.hash), Number(row.id));
    }
  }

  #put(hash: number, id: number): void {
    const known = this.#tail.get(hash);
    this.#tail.set(hash, known === undefined ? id : [id].concat(known));
    this.#tailSize += 1;
    this.#lastId = id;
  }

  /** The rows of the tail that have this hash. */
  #recent(hash: number): readonly number[] {
    const known = this.#tail.get(hash);
    if (known === undefined) return [];
    return typeof known === "number" ? [known] : known;
  }

  #keep(hash: number, ids: readonly number[]): void {
    this.#tailSize -= this.#recent(hash).length - ids.length;
    if (ids.length === 0) this.#tail.delete(hash);
    else this.#tail.set(hash, ids.length === 1 ? present(ids[0], "an id") : [...ids]);
  }

  /** Forgets the rows of a hash that the table holds. */
  #dropUpTo(hash: number, upTo: number): void {
    const ids = this.#recent(hash);
    const kept = ids.filter((id) => id > upTo);
    if (kept.length < ids.length) this.#keep(hash, kept);
  }

  /** The first candidate row that `accept` takes for the key (X3), or null. */
  find<T>(hash: number, accept: (id: number) => T | null): T | null {
    for (const id of this.#recent(hash)) {
      const row = accept(id);
      if (row !== null) return row;
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

  /** The id for a row about to be inserted in the transaction under way. */
  add(hash: number): number {
    const id = this.#lastId + 1;
    this.#put(hash, id);
    this.#added.push({ hash, id });
    return id;
  }

  /** A point within the transaction to which `undo` can go back. */
  mark(): number {
    return this.#added.length;
  }

  /** Forgets what was added since `mark`, as its rows were rolled back. */
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

  /** Moves a slice of the tail to the table, within the transaction under way. */
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

  /** Freezes what is settled, in order of hashes; drops what another process has moved. */
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

  /** The transaction is durable: so are its additions and its slice. */
  settle(): void {
    this.#added = [];
    if (this.#run.length === 0 || this.#runAt < this.#run.length) return;
    for (const hash of this.#run) this.#dropUpTo(hash, this.#runUpTo);
    this.#run = new Float64Array();
    const rows = this.#lastId - Number(this.#oldest.get()?.first ?? 0);
    const { keysMin, keysMax } = this.#limits;
    this.#tailLimit = Math.min(keysMax, Math.max(keysMin, Math.floor(rows / TAIL_SHARE)));
  }

  /** The transaction was rolled back; a run begins again, as moving a key twice is harmless. */
  rollBack(): void {
    this.undo(0);
    this.#runAt = 0;
  }
}
