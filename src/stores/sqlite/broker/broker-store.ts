// Broker store: the durable store of the broker, one SQLite file, one process, one transaction per
// commit.
//   Q1. A commit resolves only after SQLite has synced it (WAL, synchronous=FULL).
//   Q2. After a failed commit the connection is closed. What reached the disk is unknown until
//       load() reads it again; until then every call fails the same way.
//   Q3. Nothing is written to a folder before everything that a start reads is verified.
//   Q4. The folder stays locked from the constructor to close(), also across failures and reloads.
//   Q5. A commit may start while others are in flight; they are written in order. A failure belongs
//       to the writer that met it: a commit that fails after a reload is rejected, and does not
//       affect the reloaded state.
//   Q6. Nothing is acknowledged on top of a log that another connection left behind, a failed one
//       of this process included, before the log is renewed (renew-log.ts). That holds for a full
//       disk as well: nothing shows whether a sync failed while SQLite looked at the log again.
//       The reserve covers the copy.
//   Q7. A start is refused while any other process has the file open, even if that process's lock
//       file was deleted. The engine commits before it is ready, so a running broker has it open.
//   Q8. While the disk is full, a commit that frees space may use the reserve (reserve.ts), and the
//       log is folded and cut often.
//   Q9. Without space to renew a data file in doubt, only the log is renewed (N8 of renew-log.ts).
//       The disk then counts as full: reads and commits that free space work, and the log grows.
//       Once there is space, the store fails, so that the next load renews the file.

import { accessSync, constants, existsSync, realpathSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { assert, present } from "../../../core/assert.ts";
import { reasonOf, TidegateError } from "../../../core/errors.ts";
import type { Change, MessageContent } from "../../../ports/broker/broker-change.ts";
import type { BrokerStore, StoreSnapshot, StoreSpace } from "../../../ports/broker/broker-store.ts";
import type { ObjectReads } from "../../../ports/broker/object-change.ts";
import { isFoldOpen } from "../fold-mark.ts";
import { isInUse, renewLog, renewLogAlone, warnOfRenewal } from "../renew-log.ts";
import { isBusy, isDamage, isFull } from "../sqlite-code.ts";
import {
  BROKER_FILE,
  COMPACT_SUFFIX,
  createBrokerFile,
  formatOf,
  openReader,
  openVerifier,
} from "./broker-schema.ts";
import { readSnapshot, verifyTables } from "./broker-snapshot.ts";
import { type BrokerReads, prepareReads } from "./broker-statements.ts";
import { BrokerWriter } from "./broker-writer.ts";
import { CommitPoster } from "./commit-poster.ts";
import { fileBehind } from "./data-file.ts";
import { DiskThread, type WriterLimits } from "./disk-thread.ts";
import { checkBrokerFiles, corrupt } from "./file-check.ts";
import { type FolderLock, lockedError, lockFolder } from "./folder-lock.ts";
import { guardObjects } from "./object-guard.ts";
import { prepareObjectReads } from "./object-rows.ts";
import { OBJECT_SCHEMA_VERSION } from "./object-schema.ts";
import { isWithinReserve, Reserve, releaseReserve } from "./reserve.ts";
import { probeSpace } from "./space-probe.ts";

export interface SqliteBrokerStoreOptions {
  readonly folder: string;
  /** Lets a test fill the "disk" after this many pages. */
  readonly pageCountMax?: number;
  /** Lets a test run checkpoints after fewer pages of log. */
  readonly checkpointPages?: number;
  /** Holds a reserve of disk space, so that a full disk can be emptied. Default: false. */
  readonly reserve?: boolean;
  /** Starts the writing thread immediately, while the folder is still being verified. */
  readonly threadAhead?: boolean;
}

/** One being written, and one waiting for it. */
const COMMITS_IN_FLIGHT_MAX = 2;

/** Damage found at the start rejects the start; damage found later is left to the next load(). */
type Phase = "opening" | "working";

/** Locks the folder (TG_STORE_LOCKED if another process has it); `load` opens the files. */
export function createSqliteBrokerStore(options: SqliteBrokerStoreOptions): BrokerStore {
  return new SqliteBrokerStore(options);
}

class SqliteBrokerStore implements BrokerStore {
  readonly objects: ObjectReads = guardObjects((work) => this.#readObjects(work));
  readonly #folder: string;
  /** The real path of the file: SQLite keeps the log beside the file, not beside a link to it. */
  #path: string;
  readonly #limits: WriterLimits;
  readonly #lock: FolderLock;
  /** The folder of the real file: its disk is the one that fills. */
  readonly #home: string;
  readonly #reserve: Reserve | null;
  readonly space?: StoreSpace;
  /** Reads the state at a start; cannot change anything. */
  #verifier: DatabaseSync | null = null;
  /** Reads committed data while the thread writes. */
  #reader: DatabaseSync | null = null;
  #prepared: BrokerReads | null = null;
  #objectReads: ObjectReads | null = null;
  #thread: DiskThread | null = null;
  /** Settles once the thread has opened the file. */
  #opened: Promise<void> | null = null;
  #writer: BrokerWriter | null = null;
  readonly #commitPoster = new CommitPoster();
  #commitsInFlight = 0;
  /** Whether every visible frame of the log is known to be durable (Q6). */
  #isLogTrusted = false;
  /** Why the store is unavailable; load() clears it unless the store is closed. */
  #failure: TidegateError | null = null;
  #closing: Promise<void> | null = null;

  constructor(options: SqliteBrokerStoreOptions) {
    this.#folder = options.folder;
    this.#path = join(options.folder, BROKER_FILE);
    const { pageCountMax, checkpointPages } = options;
    this.#lock = lockFolder(options.folder); // Q4
    this.#home = existsSync(this.#path) ? dirname(realpathSync(this.#path)) : options.folder;
    this.#reserve = options.reserve === true ? new Reserve(this.#home) : null;
    if (this.#reserve !== null) this.space = this.#reserve;
    const limits = checkpointPages === undefined ? this.#reserve?.limits : { checkpointPages };
    this.#limits = { pageCountMax, ...limits };
    if (options.threadAhead === true) this.#thread = new DiskThread();
  }

  load(): StoreSnapshot {
    if (this.#closing !== null) throw closedError();
    assert(this.#commitsInFlight === 0, "no commit is in flight while the store is loaded");
    this.#disconnect();
    if (!this.#dropThread()) throw this.#fail(stuckError(), "opening");
    const failedBefore = this.#failure !== null;
    this.#failure = null;
    return this.#guard(() => {
      if (failedBefore) {
        this.#lock.renew(); // Q4
        if (this.#reserve?.held !== true) probeSpace(this.#home);
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
    assert(this.#commitsInFlight < COMMITS_IN_FLIGHT_MAX, "at most two commits are in flight");
    this.#commitsInFlight += 1;
    let writer: BrokerWriter | null = null;
    try {
      writer = this.#connect();
      const writes = writer.encode(changes);
      const thread = this.#openThread();
      // The thread works in order, so the commit need not wait until the file is open.
      await this.#commitPoster.post(thread, writes, this.#reserve?.full === true); // Q1
      writer.endCommit();
    } catch (error) {
      if (writer !== null && writer !== this.#writer) throw this.#errorFor(error, "working"); // Q5
      throw this.#fail(error, "working"); // Q2
    } finally {
      this.#commitsInFlight -= 1;
    }
  }

  read(seq: number): MessageContent | undefined {
    const writer = this.#connect();
    try {
      const content = writer.read(seq);
      if (content !== null) return content;
      throw corrupt(this.#path, `the content of message ${seq} is missing`);
    } catch (error) {
      // Damage to one message fails that message only; all others stay readable.
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
      // As with messages: damage to one object fails that object only.
      if (error instanceof TidegateError) throw error;
      if (isDamage(error)) throw corrupt(this.#path, "an object cannot be read", error);
      throw this.#fail(error, "working");
    }
  }

  /** Null while the file has the first format, which has no objects. */
  #preparedObjects(): ObjectReads | null {
    if (this.#objectReads !== null) return this.#objectReads;
    this.#reads();
    const reader = present(this.#reader, "the reading connection");
    if (formatOf(reader) < OBJECT_SCHEMA_VERSION) return null;
    this.#objectReads = prepareObjectReads(reader, (what) => {
      throw corrupt(this.#path, `${what} fails its checksum`);
    });
    return this.#objectReads;
  }

  /** A commit in flight finishes first and resolves as usual. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#commitPoster.idle();
    this.#disconnect();
    await this.#reserve?.close();
    await this.#thread?.close(); // The last connection to close merges the log into the file.
    this.#lock.release();
  }

  #checkFolder(): void {
    this.#path = fileBehind(join(this.#folder, BROKER_FILE));
    if (existsSync(this.#path)) {
      checkBrokerFiles(this.#path);
      accessSync(this.#path, constants.W_OK);
      return;
    }
    if (existsSync(`${this.#path}-wal`)) throw corrupt(this.#path, "only its log exists");
    createBrokerFile(this.#folder);
  }

  /** The writing thread; the first commit makes it open the file (Q3). */
  #openThread(): DiskThread {
    this.#thread ??= new DiskThread();
    if (this.#opened === null) {
      this.#opened = this.#thread.open(this.#path, this.#limits);
      this.#opened.catch(() => {}); // The next request to the thread reports it.
    }
    return this.#thread;
  }

  #connect(): BrokerWriter {
    if (this.#writer !== null) return this.#writer;
    if (this.#closing !== null) throw closedError();
    if (this.#failure !== null) throw this.#failure;
    this.#verifier?.close();
    this.#verifier = null;
    this.#guard(() => this.#renewLog(this.#path));
    assert(this.#commitsInFlight <= 1, "a writer starts before any other commit"); // Q5
    this.#lock.keep();
    rmSync(`${this.#path}${COMPACT_SUFFIX}`, { force: true }); // Left behind by a crash.
    this.#reserve?.begin();
    this.#writer = new BrokerWriter(() => this.#reads());
    return this.#writer;
  }

  #renewLog(path: string): void {
    if (this.#isLogTrusted) return;
    const outcome = this.#renewed(path); // Q6
    if (outcome === "in-use" || (outcome === "no-log" && existsSync(path) && isInUse(path))) {
      throw lockedError(this.#folder, undefined); // Q7
    }
    this.#isLogTrusted = true;
  }

  #renewed(path: string): ReturnType<typeof renewLog> {
    try {
      return this.#withReserve(() => renewLog(path, warnOfRenewal));
    } catch (error) {
      const { neededBytes } = error as { neededBytes?: number };
      if (neededBytes === undefined || this.#reserve === null || !isFoldOpen(path)) throw error;
      const outcome = this.#withReserve(() => renewLogAlone(path)); // Q9
      this.#reserve.awaitBytes(neededBytes, error, () => {
        const message = "there is space to renew the data file; it is opened again";
        this.#fail(new TidegateError("TG_STORE_FULL", message), "working");
      });
      return outcome;
    }
  }

  /** Runs `work`; on a full disk, runs it again in the space of the reserve (Q8). */
  #withReserve<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      if (!isFull(error) || !isWithinReserve(this.#home, error)) throw error;
      if (!releaseReserve(this.#home)) throw error;
      return work();
    }
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
    this.#isLogTrusted = false; // Q6
    if (isFull(error)) this.#reserve?.noteFull(); // Q8
    // A broken invariant is thrown as it is, but makes the store as unusable as a broken disk does.
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
    if (isFull(error) && phase === "working") {
      const message = `the disk of data folder ${this.#folder} is full: ${reasonOf(error)}`;
      return new TidegateError("TG_STORE_FULL", message, { cause: error });
    }
    const message = `data folder ${this.#folder} is unavailable: ${reasonOf(error)}`;
    return new TidegateError("TG_STORE_UNAVAILABLE", message, { cause: error });
  }

  /**
   * Makes the thread close the file, which a failed thread has already done; false if it does not.
   * Then the thread stays: no one may read the file or release the folder's lock before it closed.
   */
  #dropThread(): boolean {
    if (this.#thread !== null && this.#opened === null && this.#failure === null) return true;
    if (this.#thread?.closeNow() === false) return false;
    this.#thread = null;
    this.#opened = null;
    return true;
  }

  /** Closes the reading connections. */
  #disconnect(): void {
    const open = [this.#verifier, this.#reader];
    this.#verifier = null;
    this.#reader = null;
    this.#prepared = null;
    this.#objectReads = null;
    this.#writer = null;
    for (const database of open) {
      try {
        database?.close();
      } catch {
        // Report the error that led here; load() checks the file again.
      }
    }
  }
}

function isOperating(error: unknown): boolean {
  return error instanceof TidegateError || (error instanceof Error && "code" in error);
}

function stuckError(): Error {
  const code = "ERR_DISK_THREAD_STUCK";
  return Object.assign(new Error("the writing thread does not close the file"), { code });
}

function closedError(): TidegateError {
  return new TidegateError("TG_CLOSED", "the broker's store is closed");
}
