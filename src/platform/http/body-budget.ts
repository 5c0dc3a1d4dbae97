// Body budget: bounds the memory of the request bodies of all connections together.
//   A1. A body is admitted with its whole length, or it waits. An admitted body needs nothing more
//       to complete, so bodies never wait for each other in a circle.
//   A2. A body of up to SMALL_BYTES needs no admission, so receives, deletes and short messages
//       always progress. The limit of connections bounds them.
//   A3. Bodies wait in order of arrival, and the socket of a waiting body is not read. At most
//       WAITING_MAX wait; the next one is refused.
//   A4. While a body waits, an admitted one must arrive with RATE_MIN bytes a second. A client that
//       is slower is cut off, so clients that stop in the middle cannot keep others out.
//   A5. A body that is longer than the whole budget is admitted when it is the only one.
//   A6. Ordinary bodies, long ones and streams have separate budgets: an upload that takes minutes,
//       or a few huge requests, do not delay ordinary requests.

import { assert } from "../../core/assert.ts";

/** Longer than almost every request, and small enough for thousands of connections. */
export const SMALL_BYTES = 8 * 1_024;
/** A message of 1 MiB fits, unless its client escapes most of it. */
const ORDINARY_BYTES = 2 * 1_024 * 1_024;
const ORDINARY_BYTES_MAX = 16 * 1_024 * 1_024;
const LONG_BYTES_MAX = 16 * 1_024 * 1_024;
/** 256 uploads; each holds less than it counts. */
const STREAMS_BYTES_MAX = 64 * 1_024 * 1_024;
const WAITING_MAX = 256;
/** Short, because it only counts while others wait. */
const RATE_WINDOW_MS = 2_000;
/** Bytes per second, to the server or from it. */
const RATE_MIN = 8 * 1_024;
const SECOND_MS = 1_000;

/** A body that waits; `admitted` is null once it was admitted or cancelled. */
export interface WaitingBody {
  readonly bytes: number;
  admitted: (() => void) | null;
}

export class BodyBudget {
  readonly #bytesMax: number;
  readonly #waiting: WaitingBody[] = [];
  #used = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get usedBytes(): number {
    return this.#used;
  }

  /** Whether a body waits, so that slow ones must leave (A4). */
  get isContended(): boolean {
    return this.#waiting.length > 0;
  }

  /** Admits a body now, if it fits and no other one waits. */
  tryAdmit(bytes: number): boolean {
    if (this.#waiting.length > 0 || !this.#fits(bytes)) return false;
    this.#used += bytes; // A1
    return true;
  }

  /** Calls `admitted` once the body fits; null if too many bodies wait (A3). */
  wait(bytes: number, admitted: () => void): WaitingBody | null {
    if (this.#waiting.length >= WAITING_MAX) return null;
    const body: WaitingBody = { bytes, admitted };
    this.#waiting.push(body);
    return body;
  }

  /** The client of a waiting body has disconnected. */
  cancel(body: WaitingBody): void {
    body.admitted = null;
    const at = this.#waiting.indexOf(body);
    if (at >= 0) this.#waiting.splice(at, 1);
    this.#admitWaiting();
  }

  /** The memory of an admitted body is free again. */
  release(bytes: number): void {
    this.#used -= bytes;
    assert(this.#used >= 0, "a body is released once (A1)");
    this.#admitWaiting();
  }

  #admitWaiting(): void {
    for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
      if (!this.#fits(first.bytes)) return;
      this.#waiting.shift();
      this.#used += first.bytes;
      const { admitted } = first;
      first.admitted = null;
      admitted?.();
    }
  }

  #fits(bytes: number): boolean {
    return this.#used + bytes <= this.#bytesMax || this.#used === 0; // A5
  }
}

/** The budgets of one listener (A6). */
export class BodyBudgets {
  readonly #ordinary: BodyBudget;
  readonly #long: BodyBudget;
  readonly #streams: BodyBudget;

  /** `bytesMax` replaces all three limits, for tests. */
  constructor(bytesMax?: number) {
    this.#ordinary = new BodyBudget(bytesMax ?? ORDINARY_BYTES_MAX);
    this.#long = new BodyBudget(bytesMax ?? LONG_BYTES_MAX);
    this.#streams = new BodyBudget(bytesMax ?? STREAMS_BYTES_MAX);
  }

  forBody(bytes: number): BodyBudget {
    return bytes <= ORDINARY_BYTES ? this.#ordinary : this.#long;
  }

  get forStreams(): BodyBudget {
    return this.#streams;
  }
}

/** How fast one client sends a body, or reads a reply. */
export class ClientRate {
  #from = Number.POSITIVE_INFINITY;
  #bytes = 0;

  /** A body or a reply begins. */
  start(now: number): void {
    this.#from = now;
    this.#bytes = 0;
  }

  /** Whether the client was too slow in the last window; `bytes` counts from start() (A4). */
  isSlow(now: number, bytes: number): boolean {
    const elapsedMs = now - this.#from;
    if (elapsedMs < RATE_WINDOW_MS) return false;
    const slow = bytes - this.#bytes < (RATE_MIN * elapsedMs) / SECOND_MS;
    this.#from = now;
    this.#bytes = bytes;
    return slow;
  }
}
