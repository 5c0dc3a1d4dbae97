// The broker's durable store: one SQLite file, one process, one transaction per commit.
//   Q1. A commit resolves only after SQLite has synced it (WAL, synchronous=FULL).
//   Q2. After any failed commit the connection is gone: what reached the disk is unknown until
//       load() reads it anew, and until then every call fails the same way.
//   Q3. Nothing is written to a folder before all that a start reads has been verified.
//   Q4. The folder is locked from the first moment to close(), over failures and reloads, too.

import { accessSync, constants, existsSync } from "node:fs";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { TidegateError } from "../../core/errors.ts";
import type { ObjectReads } from "../../core/object-change.ts";
import type {
  BrokerStore,
  Change,
  MessageContent,
  StoreSnapshot,
} from "../../ports/broker-store.ts";
import { BROKER_FILE, createBrokerFile, openReader, openWriter } from "./broker-schema.ts";
import { readSnapshot, verifyTables } from "./broker-snapshot.ts";
import { type BrokerStatements, prepareStatements } from "./broker-statements.ts";
import { checkBrokerFiles, corrupt } from "./file-check.ts";
import { type FolderLock, lockedError, lockFolder } from "./folder-lock.ts";
import { guardObjects } from "./object-guard.ts";
import { contentCheck } from "./row-check.ts";
import { isBusy, isDamage } from "./sqlite-fault.ts";

export interface SqliteBrokerStoreOptions {
  readonly folder: string;
  /** Lets a test fill the "disk" after this many pages. */
  readonly pageCountMax?: number;
}

/** Damage met at the start refuses the start; met later, it is for the next load() to judge. */
type Phase = "opening" | "working";

/** Locks the folder (TG_STORE_LOCKED if another process has it); files are opened by `load`. */
export function createSqliteBrokerStore(options: SqliteBrokerStoreOptions): BrokerStore {
  return new SqliteBrokerStore(options);
}

class SqliteBrokerStore implements BrokerStore {
  readonly objects: ObjectReads = guardObjects((work) => this.#readObjects(work));
  readonly #folder: string;
  readonly #path: string;
  readonly #pageCountMax: number | undefined;
  readonly #lock: FolderLock;
  #reader: DatabaseSync | null = null;
  #writer: DatabaseSync | null = null;
  #statements: BrokerStatements | null = null;
  /** Why the store cannot be used now; mended by load() unless closed. */
  #failure: TidegateError | null = null;
  #closed = false;

  constructor(options: SqliteBrokerStoreOptions) {
    this.#folder = options.folder;
    this.#path = join(options.folder, BROKER_FILE);
    this.#pageCountMax = options.pageCountMax;
    this.#lock = lockFolder(options.folder); // Q4
  }

  load(): StoreSnapshot {
    if (this.#closed) throw closedError();
    this.#disconnect();
    this.#failure = null;
    return this.#guard(() => {
      this.#checkFolder();
      const reader = openReader(this.#path);
      this.#reader = reader;
      verifyTables(reader, this.#path);
      return readSnapshot(reader, this.#path, {
        guard: (work) => this.#guard(work),
        drained: () => void this.#connect(),
      });
    });
  }

  async commit(changes: readonly Change[]): Promise<void> {
    const statements = this.#connect();
    try {
      statements.begin();
      for (const change of changes) statements.apply(change);
      statements.commit(); // Q1
    } catch (error) {
      throw this.#fail(error, "working"); // Q2
    }
  }

  read(seq: number): MessageContent | undefined {
    const statements = this.#connect();
    try {
      const stored = statements.content(seq);
      if (stored === undefined) {
        if (!statements.hasHead(seq)) return undefined;
        throw corrupt(this.#path, `the content of message ${seq} is missing`);
      }
      const content: MessageContent = { id: stored.id, body: stored.body, detail: stored.detail };
      if (contentCheck(seq, content) === stored.check) return content;
      throw corrupt(this.#path, `the content of message ${seq} is not what was written`);
    } catch (error) {
      // Damage to one message is told of that message; all others can still be read.
      if (error instanceof TidegateError) throw error;
      if (isDamage(error)) throw corrupt(this.#path, `message ${seq} cannot be read`, error);
      throw this.#fail(error, "working");
    }
  }

  #readObjects<T>(work: (rows: ObjectReads) => T): T {
    const { objects } = this.#connect();
    try {
      return work(objects);
    } catch (error) {
      // As with messages: damage to one object is told of that object.
      if (error instanceof TidegateError) throw error;
      if (isDamage(error)) throw corrupt(this.#path, "an object cannot be read", error);
      throw this.#fail(error, "working");
    }
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#disconnect();
    this.#lock.release();
  }

  #checkFolder(): void {
    if (existsSync(this.#path)) {
      checkBrokerFiles(this.#path);
      accessSync(this.#path, constants.W_OK);
      return;
    }
    if (existsSync(`${this.#path}-wal`)) throw corrupt(this.#path, "only its log is left");
    createBrokerFile(this.#folder);
  }

  /** The writing connection, opened once the reading one has verified everything (Q3). */
  #connect(): BrokerStatements {
    if (this.#statements !== null) return this.#statements;
    if (this.#closed) throw closedError();
    if (this.#failure !== null) throw this.#failure;
    return this.#guard(() => {
      this.#reader?.close();
      this.#reader = null;
      this.#writer = openWriter(this.#path, this.#pageCountMax);
      this.#lock.keep();
      this.#statements = prepareStatements(this.#writer, (what) => {
        throw corrupt(this.#path, `${what} is not what was written`);
      });
      return this.#statements;
    });
  }

  #guard<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw this.#fail(error, "opening");
    }
  }

  #fail(error: unknown, phase: Phase): unknown {
    this.#disconnect();
    // A broken invariant is told as it is, but leaves the store as unusable as a broken disk does.
    this.#failure = this.#failureOf(error, phase);
    return isOperating(error) ? this.#failure : error;
  }

  #failureOf(error: unknown, phase: Phase): TidegateError {
    if (error instanceof TidegateError) return error;
    if (isDamage(error) && phase === "opening") {
      return corrupt(this.#path, (error as Error).message, error);
    }
    if (isBusy(error)) return lockedError(this.#folder, error);
    const reason = error instanceof Error ? error.message : String(error);
    const message = `The data folder ${this.#folder} cannot be used now: ${reason}.`;
    return new TidegateError("TG_STORE_UNAVAILABLE", message, { cause: error });
  }

  /** Closing a connection rolls back what it had begun. */
  #disconnect(): void {
    const open = [this.#reader, this.#writer];
    this.#reader = null;
    this.#writer = null;
    this.#statements = null;
    for (const database of open) {
      try {
        database?.close();
      } catch {
        // The error that led here is the one to tell; the file is checked again by load().
      }
    }
  }
}

function isOperating(error: unknown): boolean {
  return error instanceof TidegateError || (error instanceof Error && "code" in error);
}

function closedError(): TidegateError {
  return new TidegateError("TG_CLOSED", "The broker's store is closed.");
}
