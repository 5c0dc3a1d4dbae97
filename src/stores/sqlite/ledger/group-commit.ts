// Group commit: all calls of one turn of the event loop share one transaction and thus one disk
// sync.
//   G1. A job's promise resolves only after its transaction is durable.
//   G2. A job whose sink statement fails is undone alone. Any other failure undoes the group and
//       rejects every job in it.

import type { DatabaseSync } from "node:sqlite";
import { assert } from "../../../core/assert.ts";
import { TidegateError } from "../../../core/errors.ts";
import type { Turn } from "../../../ports/turn.ts";
import { Checkpoints } from "../checkpoints.ts";
import { sqliteLedgerFault } from "./faults.ts";
import type { KeyIndex } from "./key-index.ts";

/** Jobs in one transaction: limits what a failure undoes and how long a reader waits. */
const GROUP_JOBS_MAX = 256;

interface Job {
  readonly work: () => unknown;
  /** Undone alone when its work throws (G2). */
  readonly alone: boolean;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

export class GroupCommit {
  readonly #db: DatabaseSync;
  readonly #index: KeyIndex;
  readonly #turn: Turn;
  readonly #path: string;
  readonly #checkpoints: Checkpoints;
  readonly #fence: () => void;
  readonly #begin;
  readonly #commit;
  #jobs: Job[] = [];
  #scheduled = false;
  #closed = false;

  constructor(
    db: DatabaseSync,
    index: KeyIndex,
    turn: Turn,
    options: {
      readonly path: string;
      readonly checkpointPages: number;
      readonly readOnly: boolean;
      /** Throws if this release may not write any more (V3 of ledger/schema-version.ts). */
      readonly fence: () => void;
    },
  ) {
    this.#db = db;
    this.#index = index;
    this.#turn = turn;
    this.#path = options.path;
    this.#fence = options.fence;
    const { path, checkpointPages: pages, readOnly } = options;
    this.#checkpoints = new Checkpoints(db, { path, pages, readOnly });
    this.#begin = db.prepare("BEGIN IMMEDIATE");
    this.#commit = db.prepare("COMMIT");
  }

  submit<T>(work: () => T, options: { readonly alone: boolean }): Promise<T> {
    if (this.#closed) {
      return Promise.reject(new TidegateError("TG_CLOSED", "the ledger is closed"));
    }
    return new Promise<T>((resolve, reject) => {
      const { alone } = options;
      this.#jobs.push({ work, alone, resolve: resolve as (value: unknown) => void, reject });
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.#turn.afterTurn(() => {
      this.#scheduled = false;
      this.flush();
      if (this.#jobs.length > 0) this.#schedule();
    });
  }

  /** Runs waiting jobs, at most one group. */
  flush(): void {
    if (this.#jobs.length === 0) return;
    const group = this.#jobs.splice(0, GROUP_JOBS_MAX);
    const answers: (() => void)[] = [];
    try {
      this.#checkpoints.check();
      this.#begin.run();
      this.#fence();
      this.#index.refresh();
      for (const job of group) answers.push(this.#runJob(job));
      this.#index.moveSlice();
      this.#commit.run();
      this.#index.committed();
    } catch (error) {
      this.#checkpoints.noteFailure(error);
      this.#rollBack();
      const fault = sqliteLedgerFault(error, this.#path);
      for (const { reject } of group) reject(fault);
      return;
    }
    assert(!this.#db.isTransaction, "no job is answered inside a transaction"); // G1
    for (const answer of answers) answer();
    this.#checkpoints.afterCommit();
  }

  /** Runs a job and returns how to settle its promise, once the transaction is durable (G1). */
  #runJob({ work, alone, resolve, reject }: Job): () => void {
    if (!alone) {
      const value = work();
      return () => resolve(value);
    }
    const mark = this.#index.mark();
    this.#db.exec("SAVEPOINT job");
    try {
      const value = work();
      this.#db.exec("RELEASE job");
      return () => resolve(value);
    } catch (error) {
      // SQLite may have rolled back everything by itself; then the whole group fails.
      if (!this.#db.isTransaction) throw error;
      this.#db.exec("ROLLBACK TO job; RELEASE job");
      this.#index.undo(mark);
      const fault = sqliteLedgerFault(error, this.#path);
      return () => reject(fault);
    }
  }

  #rollBack(): void {
    try {
      if (this.#db.isTransaction) this.#db.exec("ROLLBACK");
    } catch {
      // Report the failure that led here; the next BEGIN reports a transaction that is still open.
    }
    this.#index.rollBack();
  }

  /** Why the file has to be opened again, or null (K2 of checkpoints.ts). */
  get failure(): unknown {
    return this.#checkpoints.failure;
  }

  /** Runs what is waiting, then closes the connection. */
  close(): void {
    while (this.#jobs.length > 0) this.flush();
    this.#closed = true;
    this.#checkpoints.close();
  }
}
