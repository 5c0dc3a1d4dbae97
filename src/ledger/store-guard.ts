// Store guard: wraps every call to a store on a server.
//   G1. After close, every call fails; a second close does nothing.
//   G2. A failure is thrown as its TidegateError.

import { TidegateError } from "../core/errors.ts";

export interface StoreGuard {
  guard<T>(work: () => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

export interface GuardedStore {
  /** "ledger" or "outbox", for messages. */
  readonly name: string;
  /** The TidegateError for an error of the driver, or the error itself if it is a bug. */
  faultOf(error: unknown): unknown;
  /** Closes the connections. */
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

/** Waits for the last step of opening; if it fails, nothing stays open. */
export async function openedOrClosed(
  step: Promise<void>,
  close: () => Promise<void>,
): Promise<void> {
  try {
    await step;
  } catch (error) {
    await close();
    throw error;
  }
}
