// Disk thread: where the broker waits for the disk, so that nobody else has to. While a commit is
// being synced, the main thread goes on reading requests and sending answers.
//   D1. Requests are answered in their order; one that failed makes all later ones fail.
//   D2. The thread is the only one that writes. It opens the file when told to, and not before.
//   D3. A thread that ends by itself fails whatever waits for it, now and later.
//   D4. From the moment it is told to open the file, a thread counts as having it open, until it
//       has closed it or has ended: nobody can mistake a thread that is still starting for one
//       that has no file.

import { Worker } from "node:worker_threads";
import type { Write } from "./broker-statements.ts";

/** What tests set to see a full disk, or a checkpoint, sooner. */
export interface WriterLimits {
  readonly pageCountMax?: number | undefined;
  readonly checkpointPages?: number | undefined;
}

export type DiskRequest =
  | {
      readonly kind: "open";
      readonly path: string;
      readonly limits: WriterLimits;
      /** 1 from here on; the thread sets it to 0 when it has closed the file. */
      readonly isOpen: Int32Array;
    }
  | { readonly kind: "write"; readonly writes: readonly Write[] }
  | { readonly kind: "close" };

export interface DiskAnswer {
  readonly failure: {
    readonly message: string;
    readonly code: string | undefined;
    readonly errcode: number | undefined;
  } | null;
}

/** Folding the log into the file is the longest that closing takes. */
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

  /** Another `entry` serves tests that need a thread which misbehaves. */
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

  /** Resolves when all of the writes are on disk, as one transaction. */
  write(writes: readonly Write[]): Promise<void> {
    return this.#request({ kind: "write", writes });
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

  /** Closes the file and ends the thread; resolves when it has, whatever came before. */
  async close(): Promise<void> {
    await this.#request({ kind: "close" }).catch(() => {});
    await this.#worker.terminate();
  }

  /**
   * Closes the file and returns when that is done; false if it took too long. Whoever looks at the
   * file other than through SQLite has to, since closing any other handle on it would drop the
   * locks of this one.
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
    Atomics.store(this.#isOpen, 0, 0); // D4: what a thread had open is closed as it ends.
    for (const waiter of this.#waiters.splice(0)) waiter.reject(this.#ended);
  }
}

/** Has a code, as every failure of the machine has; a broken invariant of ours has none. */
class DiskThreadEnded extends Error {
  readonly code = "ERR_DISK_THREAD_ENDED";

  constructor() {
    super("the thread that writes has ended");
  }
}
