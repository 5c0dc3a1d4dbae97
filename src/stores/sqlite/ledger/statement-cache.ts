// Statement cache: prepared statements by text; it evicts the least recently used.

import type { DatabaseSync, StatementSync } from "node:sqlite";

export class StatementCache {
  readonly #db: DatabaseSync;
  readonly #max: number;
  /** In the order of their last use, oldest first. */
  readonly #statements = new Map<string, StatementSync>();

  constructor(db: DatabaseSync, max: number) {
    this.#db = db;
    this.#max = max;
  }

  get size(): number {
    return this.#statements.size;
  }

  get(text: string): StatementSync {
    const statement = this.#statements.get(text) ?? this.#db.prepare(text);
    this.#statements.delete(text);
    this.#statements.set(text, statement);
    if (this.#statements.size > this.#max) {
      const [oldest] = this.#statements.keys();
      if (oldest !== undefined) this.#statements.delete(oldest);
    }
    return statement;
  }
}
