// The broker's durable store: one SQLite file, one process, one transaction per commit.
//   Q1. A commit resolves only after SQLite has synced it (WAL, synchronous=FULL).
//   Q2. After any failed commit the connection is gone: what reached the disk is unknown until
//       load() reads it anew, and until then every call fails the same way.
//   Q3. Nothing is written to a folder before all that a start reads has been verified.
//   Q6. Nothing is acknowledged on top of a log that another connection left behind, a failed one
//       of this process included, before the log is renewed (renew-log.ts). A full disk does
//       not need that: it rejects a write before any sync, and a copy would need space.
//   Q4. The folder is locked from the first moment to close(), over failures and reloads, too.
//   Q5. A commit may be asked for while others are under way; they are written in their order. What
//       a failure leaves behind belongs to the writer that met it: a commit that fails after the
//       store was read anew is told so, and changes nothing of what has come since.

import { accessSync, constants, existsSync, lstatSync, realpathSync } from "node:fs";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { assert, present } from "../../../core/assert.ts";
import type { Change, MessageContent } from "../../../core/broker-change.ts";
import { reasonOf, TidegateError } from "../../../core/errors.ts";
import type { ObjectReads } from "../../../core/object-change.ts";
import { isBusy, isDamage, isFull } from "../../../ledger/sqlite-code.ts";
import type { BrokerStore, StoreSnapshot } from "../../../ports/broker-store.ts";
import { renewLog } from "../renew-log.ts";
import {
  BROKER_FILE,
  createBrokerFile,
  formatOf,
  openReader,
  openVerifier,
} from "./broker-schema.ts";
import { readSnapshot, verifyTables } from "./broker-snapshot.ts";
import { type BrokerReads, prepareReads } from "./broker-statements.ts";
import { BrokerWriter } from "./broker-writer.ts";
import { DiskThread, type WriterLimits } from "./disk-thread.ts";
import { checkBrokerFiles, corrupt } from "./file-check.ts";
import { type FolderLock, lockedError, lockFolder } from "./folder-lock.ts";
import { guardObjects } from "./object-guard.ts";
import { prepareObjectReads } from "./object-rows.ts";
import { OBJECT_SCHEMA_VERSION } from "./object-schema.ts";
import { probeSpace } from "./space-probe.ts";

export interface SqliteBrokerStoreOptions {
  readonly folder: string;
  /** Lets a test fill the "disk" after this many pages. */
  readonly pageCountMax?: number;
  /** Lets a test run checkpoints after fewer pages of log. */
  readonly checkpointPages?: number;
  /** Starts the writing thread at once, while the folder is still being verified. */
  readonly threadAhead?: boolean;
}

/** One on its way to the disk, one that waits for it. */
const COMMITS_UNDER_WAY_MAX = 2;

/** Damage met at the start refuses the start; met later, it is for the next load() to judge. */
type Phase = "opening" | "working";

/** Locks the folder (TG_STORE_LOCKED if another process has it); files are opened by `load`. */
export function createSqliteBrokerStore(options: SqliteBrokerStoreOptions): BrokerStore {
  return new SqliteBrokerStore(options);
}

class SqliteBrokerStore implements BrokerStore {
  readonly objects: ObjectReads = guardObjects((work) => this.#readObjects(work));
  readonly #folder: string;
  /** Where the file is: SQLite keeps the log beside the file, not beside a link to it. */
  #path: string;
  readonly #limits: WriterLimits;
  readonly #lock: FolderLock;
  /** Reads what a start reads, and can change nothing. */
  #verifier: DatabaseSync | null = null;
  /** Reads what was committed, while the thread writes. */
  #reader: DatabaseSync | null = null;
  #prepared: BrokerReads | null = null;
  #objectReads: ObjectReads | null = null;
  #thread: DiskThread | null = null;
  /** Settles when the thread has opened the file. */
  #opened: Promise<void> | null = null;
  #work: BrokerWriter | null = null;
  #commitsUnderWay = 0;
  /** Whether every visible frame of the log is known to be durable (Q6). */
  #isLogTrusted = false;
  /** Why the store cannot be used now; mended by load() unless closed. */
  #failure: TidegateError | null = null;
  #closing: Promise<void> | null = null;

  constructor(options: SqliteBrokerStoreOptions) {
    this.#folder = options.folder;
    this.#path = join(options.folder, BROKER_FILE);
    const { pageCountMax, checkpointPages } = options;
    this.#limits = { pageCountMax, checkpointPages };
    this.#lock = lockFolder(options.folder); // Q4
    if (options.threadAhead === true) this.#thread = new DiskThread();
  }

  load(): StoreSnapshot {
    if (this.#closing !== null) throw closedError();
    assert(this.#commitsUnderWay === 0, "what is under way is over before the store is read");
    this.#disconnect();
    if (!this.#dropThread()) throw this.#fail(stuckError(), "opening");
    const failedBefore = this.#failure !== null;
    this.#failure = null;
    return this.#guard(() => {
      if (failedBefore) {
        probeSpace(this.#folder);
        this.#renewLog(fileBehind(this.#path)); // Before the models read what the log shows.
      }
      this.#checkFolder();
      const verifier = openVerifier(this.#path);
      this.#verifier = verifier;
      verifyTables(verifier, this.#path);
      return readSnapshot(verifier, this.#path, {
        guard: (work) => this.#guard(work),
        drained: () => void this.#connect(),
      });
    });
  }

  async commit(changes: readonly Change[]): Promise<void> {
    assert(this.#commitsUnderWay < COMMITS_UNDER_WAY_MAX, "few commits are under way");
    this.#commitsUnderWay += 1;
    let work: BrokerWriter | null = null;
    try {
      work = this.#connect();
      const writes = work.encode(changes);
      const thread = this.#openThread();
      // The thread works in order, so that nobody has to wait here until it has opened the file.
      await thread.write(writes); // Q1
      work.endCommit();
    } catch (error) {
      if (work !== null && work !== this.#work) throw this.#errorFor(error, "working"); // Q5
      throw this.#fail(error, "working"); // Q2
    } finally {
      this.#commitsUnderWay -= 1;
    }
  }

  read(seq: number): MessageContent | undefined {
    const work = this.#connect();
    try {
      const content = work.read(seq);
      if (content !== null) return content;
      throw corrupt(this.#path, `the content of message ${seq} is missing`);
    } catch (error) {
      // Damage to one message is told of that message; all others can still be read.
      if (error instanceof TidegateError) throw error;
      if (isDamage(error)) throw corrupt(this.#path, `message ${seq} cannot be read`, error);
      throw this.#fail(error, "working");
    }
  }

  #readObjects<T>(work: (rows: ObjectReads | null) => T): T {
    this.#connect();
    try {
      return work(this.#preparedObjects());
    } catch (error) {
      // As with messages: damage to one object is told of that object.
      if (error instanceof TidegateError) throw error;
      if (isDamage(error)) throw corrupt(this.#path, "an object cannot be read", error);
      throw this.#fail(error, "working");
    }
  }

  /** Null while the file is of the first format, which has no objects. */
  #preparedObjects(): ObjectReads | null {
    if (this.#objectReads !== null) return this.#objectReads;
    this.#reads();
    const reader = present(this.#reader, "the reading connection");
    if (formatOf(reader) < OBJECT_SCHEMA_VERSION) return null;
    this.#objectReads = prepareObjectReads(reader, (what) => {
      throw corrupt(this.#path, `${what} is not what was written`);
    });
    return this.#objectReads;
  }

  /** A commit that is under way is finished first, and told of as usual. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#disconnect();
    await this.#thread?.close(); // The last to close folds the log into the file.
    this.#lock.release();
  }

  #checkFolder(): void {
    this.#path = fileBehind(join(this.#folder, BROKER_FILE));
    if (existsSync(this.#path)) {
      checkBrokerFiles(this.#path);
      accessSync(this.#path, constants.W_OK);
      return;
    }
    if (existsSync(`${this.#path}-wal`)) throw corrupt(this.#path, "only its log is left");
    createBrokerFile(this.#folder);
  }

  /** The thread that writes; told to open the file by the first commit (Q3). */
  #openThread(): DiskThread {
    this.#thread ??= new DiskThread();
    if (this.#opened === null) {
      this.#opened = this.#thread.open(this.#path, this.#limits);
      this.#opened.catch(() => {}); // Told of by whatever was sent to the thread after it.
    }
    return this.#thread;
  }

  #connect(): BrokerWriter {
    if (this.#work !== null) return this.#work;
    if (this.#closing !== null) throw closedError();
    if (this.#failure !== null) throw this.#failure;
    this.#verifier?.close();
    this.#verifier = null;
    this.#guard(() => this.#renewLog(this.#path));
    this.#lock.keep();
    this.#work = new BrokerWriter(() => this.#reads());
    return this.#work;
  }

  #renewLog(path: string): void {
    if (!this.#isLogTrusted) renewLog(path); // Q6
    this.#isLogTrusted = true;
  }

  #reads(): BrokerReads {
    if (this.#reader === null) {
      this.#reader = openReader(this.#path);
      this.#prepared = prepareReads(this.#reader, this.#path);
    }
    return present(this.#prepared, "prepared reads");
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
    this.#dropThread();
    if (!isFull(error)) this.#isLogTrusted = false;
    // A broken invariant is told as it is, but leaves the store as unusable as a broken disk does.
    this.#failure = this.#failureOf(error, phase);
    return this.#errorFor(error, phase);
  }

  #errorFor(error: unknown, phase: Phase): unknown {
    return isOperating(error) ? this.#failureOf(error, phase) : error;
  }

  #failureOf(error: unknown, phase: Phase): TidegateError {
    if (error instanceof TidegateError) return error;
    if (isDamage(error) && phase === "opening") {
      return corrupt(this.#path, (error as Error).message, error);
    }
    if (isBusy(error)) return lockedError(this.#folder, error);
    const message = `The data folder ${this.#folder} cannot be used now: ${reasonOf(error)}.`;
    return new TidegateError("TG_STORE_UNAVAILABLE", message, { cause: error });
  }

  /**
   * Has the thread close the file, which one that failed has done already; false if it does not.
   * Then it stays, since nobody may look at the file (or give up the folder's lock) before it has.
   */
  #dropThread(): boolean {
    if (this.#thread !== null && this.#opened === null && this.#failure === null) return true;
    if (this.#thread?.closeNow() === false) return false;
    this.#thread = null;
    this.#opened = null;
    return true;
  }

  /** Lets go of what reads. */
  #disconnect(): void {
    const open = [this.#verifier, this.#reader];
    this.#verifier = null;
    this.#reader = null;
    this.#prepared = null;
    this.#objectReads = null;
    this.#work = null;
    for (const database of open) {
      try {
        database?.close();
      } catch {
        // The error that led here is the one to tell; the file is checked again by load().
      }
    }
  }
}

/** Follows a link. One that leads nowhere is a disk that is missing, and no folder to begin in. */
function fileBehind(path: string): string {
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return path;
  if (existsSync(path)) return realpathSync(path);
  const message = `The data file ${path} is a link that leads nowhere now.`;
  throw new TidegateError("TG_STORE_UNAVAILABLE", message);
}

function isOperating(error: unknown): boolean {
  return error instanceof TidegateError || (error instanceof Error && "code" in error);
}

function stuckError(): Error {
  const code = "ERR_DISK_THREAD_STUCK";
  return Object.assign(new Error("the thread that writes does not close the file"), { code });
}

function closedError(): TidegateError {
  return new TidegateError("TG_CLOSED", "The broker's store is closed.");
}
