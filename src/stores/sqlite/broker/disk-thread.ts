// Disk thread: waits for the disk on another thread. While it syncs a commit, the main thread
// continues to read requests and send answers.
//   D1. Requests are answered in order; a failed one makes all later ones fail.
//   D2. The thread is the only writer. It opens the file on request, and not before.
//   D3. A thread that ends by itself fails all current and later requests.
//   D4. From the request to open the file, a thread counts as having it open, until it has closed
//       it or has ended. So a thread that is still starting is never mistaken for one without a
//       file.

import { Worker } from "node:worker_threads";
import type { Write } from "./broker-statements.ts";

/** What tests and small disks set to see a full disk, or a checkpoint, sooner. */
export interface WriterLimits {
  readonly pageCountMax?: number | undefined;
  readonly checkpointPages?: number | undefined;
  readonly commitsPerLook?: number | undefined;
}

export type DiskRequest =
  | {
      readonly kind: "open";
      readonly path: string;
      readonly limits: WriterLimits;
      /** 1 from here on; the thread sets it to 0 after closing the file. */
      readonly isOpen: Int32Array;
    }
  | {
      readonly kind: "write";
      readonly writes: readonly Write[];
      /** The disk is full: the commit may use the reserve (E4 of disk-thread-entry.ts). */
      readonly full: boolean;
      /** False if more parts of the same transaction follow. */
      readonly isLast: boolean;
    }
  | { readonly kind: "close" };

export interface DiskAnswer {
  readonly failure: {
    readonly message: string;
    readonly code: string | undefined;
    readonly errcode: number | undefined;
  } | null;
}

/** Merging the log into the file is the slowest part of closing. */
const CLOSE_MS_MAX = 60_000;
const ENTRY = `./disk-thread-entry.${import.meta.url.endsWith(".ts") ? "ts" : "js"}`;

interface Waiter {
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

export class DiskThread {
  readonly #worker: Worker;
  readonly #waiters: Waiter[] = [];
  readonly #isOpen = new Int32Array(new SharedArrayBuffer(4));
  #ended: Error | null = null;

  /** Tests pass another `entry` for a thread that misbehaves. */
  constructor(entry = new URL(ENTRY, import.meta.url)) {
    this.#worker = new Worker(entry);
    this.#worker.on("message", (answer: DiskAnswer) => this.#settle(answer));
    this.#worker.on("error", (error: Error) => this.#end(error));
    this.#worker.on("exit", () => this.#end(new DiskThreadEnded()));
    this.#worker.unref(); // An idle broker does not keep a program running; its server does.
  }

  open(path: string, limits: WriterLimits = {}): Promise<void> {
    Atomics.store(this.#isOpen, 0, this.#ended === null ? 1 : 0); // D4
    return this.#request({ kind: "open", path, limits, isOpen: this.#isOpen });
  }

  /**
   * Resolves once all writes are on disk, as one transaction. A part that is not the last resolves
   * when it is in the transaction.
   */
  write(writes: readonly Write[], { full = false, isLast = true } = {}): Promise<void> {
    return this.#request({ kind: "write", writes, full, isLast });
  }

  #request(request: DiskRequest): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#ended !== null) {
        reject(this.#ended);
        return;
      }
      this.#worker.ref();
      this.#waiters.push({ resolve, reject });
      this.#worker.postMessage(request);
    });
  }

  /** Closes the file and ends the thread; resolves when done, also after failures. */
  async close(): Promise<void> {
    await this.#request({ kind: "close" }).catch(() => {});
    await this.#worker.terminate();
  }

  /**
   * Closes the file synchronously; false if that takes too long. Required before reading the file
   * other than through SQLite: closing any other handle on it would drop this thread's locks.
   */
  closeNow(msMax = CLOSE_MS_MAX): boolean {
    void this.close();
    return Atomics.wait(this.#isOpen, 0, 1, msMax) !== "timed-out";
  }

  #settle({ failure }: DiskAnswer): void {
    const waiter = this.#waiters.shift(); // D1
    if (this.#waiters.length === 0) this.#worker.unref();
    if (failure === null) waiter?.resolve();
    else waiter?.reject(Object.assign(new Error(failure.message), failure));
  }

  #end(error: Error): void {
    this.#ended ??= error; // D3
    Atomics.store(this.#isOpen, 0, 0); // D4: the end of a thread closes its files.
    for (const waiter of this.#waiters.splice(0)) waiter.reject(this.#ended);
  }
}

/** Has a code, like every failure of the operating system; a broken invariant has none. */
class DiskThreadEnded extends Error {
  readonly code = "ERR_DISK_THREAD_ENDED";

  constructor() {
    super("the writing thread has ended");
  }
}
