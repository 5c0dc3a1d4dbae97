// Disk thread: where the broker waits for the disk, so that nobody else has to. While a commit is
// being synced, the main thread goes on reading requests and sending answers.
//   D1. Requests are answered in their order; one that failed makes all later ones fail.
//   D2. The thread is the only one that writes. It opens the file when told to, and not before.
//   D3. A thread that ends by itself fails whatever waits for it.

import { Worker } from "node:worker_threads";
import type { Write } from "./broker-statements.ts";

export type DiskRequest =
  | {
      readonly kind: "open";
      readonly path: string;
      readonly pageCountMax: number | undefined;
      /** Is set to 1 while the thread has the file open. */
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

interface Waiter {
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

export class DiskThread {
  readonly #worker: Worker;
  readonly #waiters: Waiter[] = [];
  readonly #isOpen = new Int32Array(new SharedArrayBuffer(4));
  #ended: Error | null = null;

  constructor() {
    const suffix = import.meta.url.endsWith(".ts") ? "ts" : "js";
    this.#worker = new Worker(new URL(`./disk-thread-entry.${suffix}`, import.meta.url));
    this.#worker.on("message", (answer: DiskAnswer) => this.#settle(answer));
    this.#worker.on("error", (error: Error) => this.#end(error));
    this.#worker.on("exit", () => this.#end(new Error("the thread that writes has ended")));
    this.#worker.unref(); // An idle broker does not keep a program running; its server does.
  }

  open(path: string, pageCountMax: number | undefined): Promise<void> {
    return this.#request({ kind: "open", path, pageCountMax, isOpen: this.#isOpen });
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
   * Closes the file and returns when that is done. Whoever looks at the file other than through
   * SQLite has to, since closing any other handle on it would drop the locks of this one.
   */
  closeNow(): void {
    void this.close();
    Atomics.wait(this.#isOpen, 0, 1, CLOSE_MS_MAX);
  }

  #settle({ failure }: DiskAnswer): void {
    const waiter = this.#waiters.shift(); // D1
    if (this.#waiters.length === 0) this.#worker.unref();
    if (failure === null) waiter?.resolve();
    else waiter?.reject(Object.assign(new Error(failure.message), failure));
  }

  #end(error: Error): void {
    this.#ended ??= error; // D3
    for (const waiter of this.#waiters.splice(0)) waiter.reject(this.#ended);
  }
}
