// Admission: which operations run while the disk is full.
//   A1. Operations that need space wait until the store has looked for some. Then they run, or are
//       rejected with TG_STORE_FULL. They never change the state in memory, so nothing is reloaded.
//   A2. The commit that met the full disk was not written (S5 of broker-store.ts). Its operations
//       that need no space run again on the reloaded state, without a pause. So a delete succeeds
//       even if it shared a commit with the send that filled the disk. If the next commit fails the
//       same way, the reserve was not enough, and it is handled as any failure.
//   A3. With a disk that is not full, this costs one look per batch.

import { diskFullError, isDiskFull } from "../../../core/errors.ts";
import type { StoreSpace } from "../../../ports/broker/broker-store.ts";
import type { BrokerHealth } from "../broker.ts";
import type { PendingOperation } from "../pending-operation.ts";
import { needsSpace } from "./space-needs.ts";

export class Admission {
  readonly #space: StoreSpace | undefined;
  readonly #onRegained: (waiting: readonly PendingOperation[]) => void;
  readonly #onRefused: () => void;
  #waiting: PendingOperation[] = [];
  #looking = false;
  /** Commits in a row that met the full disk (A2). */
  #fullCommits = 0;

  constructor(
    space: StoreSpace | undefined,
    listeners: {
      /** There is space again; these operations may run now. */
      readonly onRegained: (waiting: readonly PendingOperation[]) => void;
      /** The disk is still full; waiting operations were rejected. */
      readonly onRefused: () => void;
    },
  ) {
    this.#space = space;
    this.#onRegained = listeners.onRegained;
    this.#onRefused = listeners.onRefused;
  }

  get full(): boolean {
    return this.#space?.full === true; // A3
  }

  /** A state that only the full disk discarded is reloaded for the next operation (A2). */
  health(isLoaded: boolean): BrokerHealth {
    if (!isLoaded && !this.hasReserve) return "failing";
    return this.full || !isLoaded ? "full" : "ok";
  }

  /** Whether the store is looking for space. */
  get looking(): boolean {
    return this.#looking;
  }

  /** The operations that may run now; the others wait for a look at the disk (A1). */
  admit(operations: PendingOperation[]): PendingOperation[] {
    if (!this.full) return operations;
    this.#look();
    const admitted: PendingOperation[] = [];
    for (const operation of operations) {
      if (needsSpace(operation)) this.#waiting.push(operation);
      else admitted.push(operation);
    }
    return admitted;
  }

  /** Call it once for each state that a commit failed on, and with null after a success. */
  noteCommit(error: unknown): void {
    this.#fullCommits = isDiskFull(error) ? this.#fullCommits + 1 : 0;
  }

  /** Whether the store is expected to work again immediately (A2). */
  get hasReserve(): boolean {
    return this.#fullCommits === 1;
  }

  /** Removes the operations from a failed batch that run again after `error` (A2). */
  takeRepeatable(failed: Set<PendingOperation>, error: unknown): PendingOperation[] {
    if (!isDiskFull(error) || !this.hasReserve) return [];
    const repeatable = [...failed].filter((operation) => !needsSpace(operation));
    for (const operation of repeatable) failed.delete(operation);
    return repeatable;
  }

  #look(): void {
    if (this.#looking || this.#space === undefined) return;
    this.#looking = true;
    this.#space.regain().then(
      (regained) => this.#end(regained, diskFullError()),
      (error: unknown) => this.#end(false, error),
    );
  }

  #end(regained: boolean, error: unknown): void {
    this.#looking = false;
    const waiting = this.#waiting;
    this.#waiting = [];
    if (regained) {
      this.#onRegained(waiting);
      return;
    }
    for (const operation of waiting) operation.reject(error); // A1
    this.#onRefused();
  }
}
