// Reader thread: reads the records of an audit from a SQLite ledger in a second thread, while the
// first one reads bucket and sink and compares. A SQLite file is read by the thread that asks.
//   R1. The thread has its own connection, which cannot write.
//   R2. The thread starts after some pages: a small ledger is read before a thread has started.
//   R3. Cursors of pages mean the same in both threads. So each page is read by the thread if that
//       is ready, and else by the caller's own reader. A thread that ends is not replaced.
//   R4. Errors keep their code on the way between the threads.

import { Worker } from "node:worker_threads";
import type { RecordLister } from "../../audit/merged-keys.ts";
import { type ErrorCode, TidegateError } from "../../core/errors.ts";
import type { ListPage } from "../../ports/ledger.ts";
import type { LedgerScope } from "../../ports/record.ts";
import { type FlatPage, unpackRecords } from "./reader-pages.ts";

export interface ReaderThreadData {
  /** The ledger's file. */
  readonly path: string;
}

export interface ReaderThreadCall {
  readonly id: number;
  readonly scope: LedgerScope;
  readonly query: { readonly bucket: string; readonly prefix: string };
  readonly page: ListPage;
}

export type ReaderThreadAnswer =
  | "ready"
  | ({ readonly id: number } & (
      | { readonly values: FlatPage; readonly next: string | null }
      | { readonly failure: { readonly message: string; readonly code: ErrorCode | null } }
    ));

type Answer = Exclude<ReaderThreadAnswer, "ready">;
/** Null: the thread is not ready, or it ended (R3). */
type FlatAnswer = { readonly values: FlatPage; readonly next: string | null } | null;

interface Waiter {
  readonly resolve: (page: FlatAnswer) => void;
  readonly reject: (error: unknown) => void;
}

export interface AuditReader extends RecordLister {
  /** Starts the thread now; true when it reads pages, false if it ended. */
  started(): Promise<boolean>;
  close(): Promise<void>;
}

const ENTRY = `./reader-thread-entry.${import.meta.url.endsWith(".ts") ? "ts" : "js"}`;
/** Pages of records that are read before a thread starts (R2). */
const PAGES_BEFORE = 10;

export interface AuditReaderOptions {
  readonly pagesBefore?: number;
  /** Tests pass another file. */
  readonly entry?: URL;
}

/** Reads records in a second thread; `own` reads in this one. */
export function createAuditReader(
  own: RecordLister,
  data: ReaderThreadData,
  { pagesBefore = PAGES_BEFORE, entry = new URL(ENTRY, import.meta.url) }: AuditReaderOptions = {},
): AuditReader {
  const thread = new ReaderThread(data, entry);
  let pages = 0;
  return {
    async listRecords(scope, query, page) {
      pages += 1;
      if (pages > pagesBefore) void thread.start(); // R2
      const { bucket, prefix } = query;
      const answer = await thread.ask({ scope, query: { bucket, prefix }, page });
      if (answer === null) return own.listRecords(scope, query, page); // R3
      return { records: unpackRecords(bucket, answer.values), next: answer.next };
    },
    started: () => thread.start(),
    close: () => thread.close(),
  };
}

class ReaderThread {
  readonly #data: ReaderThreadData;
  readonly #entry: URL;
  readonly #waiters = new Map<number, Waiter>();
  #worker: Worker | null = null;
  #starting: Promise<boolean> | null = null;
  #isReady = false;
  #calls = 0;

  constructor(data: ReaderThreadData, entry: URL) {
    this.#data = data;
    this.#entry = entry;
  }

  /** Resolves when the thread is ready, or has ended. */
  start(): Promise<boolean> {
    this.#starting ??= new Promise((resolve) => this.#open(resolve)); // R3
    return this.#starting;
  }

  #open(resolve: (isReady: boolean) => void): void {
    const worker = new Worker(this.#entry, { workerData: this.#data });
    worker.on("message", (answer: ReaderThreadAnswer) => {
      if (answer !== "ready") return this.#settle(answer);
      this.#isReady = true;
      resolve(true);
    });
    const end = () => {
      this.#end(); // R3
      resolve(false);
    };
    worker.on("error", end);
    worker.on("exit", end);
    this.#worker = worker;
  }

  ask(call: Omit<ReaderThreadCall, "id">): Promise<FlatAnswer> {
    const worker = this.#worker;
    if (worker === null || !this.#isReady) return Promise.resolve(null); // R3
    this.#calls += 1;
    const id = this.#calls;
    return new Promise((resolve, reject) => {
      worker.postMessage({ ...call, id });
      this.#waiters.set(id, { resolve, reject });
    });
  }

  async close(): Promise<void> {
    const worker = this.#worker;
    this.#starting ??= Promise.resolve(false);
    this.#end();
    await worker?.terminate();
  }

  #settle(answer: Answer): void {
    const waiter = this.#waiters.get(answer.id);
    this.#waiters.delete(answer.id);
    if ("values" in answer) {
      waiter?.resolve(answer);
      return;
    }
    const { message, code } = answer.failure;
    waiter?.reject(code === null ? new Error(message) : new TidegateError(code, message)); // R4
  }

  #end(): void {
    this.#worker = null;
    for (const { resolve } of this.#waiters.values()) resolve(null); // R3
    this.#waiters.clear();
  }
}
