// Page thread: the pages of a ledger, read in a thread of their own. A SQLite file is read by the
// thread that asks, and in `tidegate dev` that thread also runs the pipeline.
//   T1. The thread has its own connection, which cannot write.
//   T2. It starts with the first read, so a console that is not opened costs nothing. A thread that
//       ended fails the reads that wait for it, and the next read starts another.
//   T3. Errors keep their code on the way between the threads.

import { Worker } from "node:worker_threads";
import { type ErrorCode, TidegateError } from "../../core/errors.ts";
import type { LedgerPages } from "./ledger-pages.ts";
import type { ReplayOwner } from "./replay-pages.ts";

export interface PageThreadData {
  readonly url: string;
  readonly owner: ReplayOwner | null;
}

export interface PageCall {
  readonly id: number;
  readonly method: keyof LedgerPages;
  readonly given: readonly unknown[];
}

export type PageAnswer = { readonly id: number } & (
  | { readonly value: unknown }
  | { readonly failure: { readonly message: string; readonly code: ErrorCode | null } }
);

export interface PageThread {
  readonly pages: LedgerPages;
  close(): Promise<void>;
}

interface Waiter {
  readonly resolve: (value: never) => void;
  readonly reject: (error: unknown) => void;
}

const ENTRY = `./page-thread-entry.${import.meta.url.endsWith(".ts") ? "ts" : "js"}`;
const CLOSED = "the console is closed";

/**
 * Reads of a ledger, in another thread: each method by its name. Every name is a method, also `then`,
 * so never return `pages` from an async function. Tests pass another `entry`.
 */
export function createPageThread(
  data: PageThreadData,
  entry = new URL(ENTRY, import.meta.url),
): PageThread {
  const thread = new ReadThread(data, entry);
  const pages = new Proxy({} as LedgerPages, {
    get(_, method: keyof LedgerPages) {
      return (...given: unknown[]) => thread.call(method, given);
    },
  });
  return { pages, close: () => thread.close() };
}

class ReadThread {
  readonly #data: PageThreadData;
  readonly #entry: URL;
  readonly #waiters = new Map<number, Waiter>();
  #worker: Worker | null = null;
  #calls = 0;
  #closed = false;

  constructor(data: PageThreadData, entry: URL) {
    this.#data = data;
    this.#entry = entry;
  }

  call(method: keyof LedgerPages, given: readonly unknown[]): Promise<never> {
    if (this.#closed) return Promise.reject(unavailable(CLOSED));
    this.#worker ??= this.#start(); // T2
    const worker = this.#worker;
    this.#calls += 1;
    const call: PageCall = { id: this.#calls, method, given };
    return new Promise((resolve, reject) => {
      worker.postMessage(call); // Throws if an argument cannot be copied; then nothing waits.
      this.#waiters.set(call.id, { resolve, reject });
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    const worker = this.#worker;
    this.#end(worker, CLOSED);
    await worker?.terminate();
  }

  #start(): Worker {
    const worker = new Worker(this.#entry, { workerData: this.#data });
    worker.on("message", (answer: PageAnswer) => this.#settle(answer));
    worker.on("error", (error: Error) => this.#end(worker, error.message));
    worker.on("exit", () => this.#end(worker, "the console's reading thread ended"));
    worker.unref();
    return worker;
  }

  #settle(answer: PageAnswer): void {
    const waiter = this.#waiters.get(answer.id);
    this.#waiters.delete(answer.id);
    if ("value" in answer) {
      waiter?.resolve(answer.value as never);
      return;
    }
    const { message, code } = answer.failure;
    waiter?.reject(code === null ? new Error(message) : new TidegateError(code, message)); // T3
  }

  #end(worker: Worker | null, reason: string): void {
    if (worker !== this.#worker) return; // Another thread has replaced it.
    this.#worker = null; // T2
    for (const { reject } of this.#waiters.values()) reject(unavailable(reason));
    this.#waiters.clear();
  }
}

function unavailable(reason: string): TidegateError {
  return new TidegateError("TG_LEDGER_UNAVAILABLE", reason);
}
