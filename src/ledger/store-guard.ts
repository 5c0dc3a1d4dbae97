// Store guard: what every call of a store on a server passes.
//   G1. Once the store is closed nothing passes; closing twice is closing once.
//   G2. What fails comes out as the operating failure that it is.

import { TidegateError } from "../core/errors.ts";

export interface StoreGuard {
  guard<T>(work: () => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

export interface GuardedStore {
  /** "ledger" or "outbox", for messages. */
  readonly name: string;
  /** The operating failure behind an error of the driver, or the error itself if it is none. */
  faultOf(error: unknown): unknown;
  /** Gives up the connections. */
  release(): void | Promise<void>;
}

export function createStoreGuard({ name, faultOf, release }: GuardedStore): StoreGuard {
  let closed = false;
  return {
    async guard(work) {
      if (closed) throw new TidegateError("TG_CLOSED", `the ${name} is closed`); // G1
      try {
        return await work();
      } catch (error) {
        throw faultOf(error); // G2
      }
    },
    async close() {
      if (closed) return;
      closed = true;
      await release();
    },
  };
}
