// Scheduler: virtual time, and the one order in which everything happens.
//   S1. Events run by time, and those of one instant in the order they were scheduled. One runs at
//       a time, and all promise jobs it caused have ended before the next one runs (`drain`).
//   S2. Nothing here, or in the code that runs on it, reads real time: a run is a function of what
//       was scheduled.
//   S3. Every event that ran is part of the trace.

import type { TraceHash } from "./trace-hash.ts";

/** The end of a real event-loop turn: resolves once all pending promise jobs have run. */
export type Drain = () => Promise<void>;

export interface Scheduled {
  readonly at: number;
  readonly order: number;
  readonly label: number;
  /** Null once it has run or was cancelled. */
  work: (() => void) | null;
}

export class Scheduler {
  readonly #heap: Scheduled[] = [];
  /** Events that are due immediately, in order. Most events are, and they need no heap. */
  #instant: Scheduled[] = [];
  #instantAt = 0;
  readonly #trace: TraceHash;
  readonly #drain: Drain;
  #order = 0;
  #ran = 0;
  #now: number;

  constructor(options: {
    readonly startAt: number;
    readonly trace: TraceHash;
    readonly drain: Drain;
  }) {
    this.#now = options.startAt;
    this.#trace = options.trace;
    this.#drain = options.drain;
  }

  get now(): number {
    return this.#now;
  }

  /** How many events ran. */
  get ran(): number {
    return this.#ran;
  }

  /** Runs `work` at `at`, or now if that has passed; `label` identifies it in the trace. */
  at(at: number, label: number, work: () => void): Scheduled {
    const event = { at: Math.max(at, this.#now), order: this.#order, label, work };
    this.#order += 1;
    if (event.at === this.#now) this.#instant.push(event);
    else this.#push(event);
    return event;
  }

  after(span: number, label: number, work: () => void): Scheduled {
    return this.at(this.#now + span, label, work);
  }

  /** Runs events up to `until`, or up to the first event after which `stop` returns true. */
  async run(until: number, stop: () => boolean = never): Promise<void> {
    await this.#drain();
    for (;;) {
      const next = this.#next();
      if (next === undefined || next.at > until) break;
      this.#take(next);
      const { work } = next;
      if (work === null) continue;
      next.work = null;
      this.#now = next.at;
      this.#ran += 1;
      this.#trace.fold(next.at | 0); // S3
      this.#trace.fold(next.label);
      work();
      await this.#drain(); // S1
      if (stop()) return;
    }
    this.#now = Math.max(this.#now, until);
  }

  /** The first event of both queues; immediate ones were scheduled at or before this instant. */
  #next(): Scheduled | undefined {
    const soon = this.#instant[this.#instantAt];
    const later = this.#heap[0];
    if (soon === undefined || later === undefined) return soon ?? later;
    return isBefore(later, soon) ? later : soon;
  }

  #take(next: Scheduled): void {
    if (next !== this.#instant[this.#instantAt]) {
      this.#pop();
      return;
    }
    this.#instantAt += 1;
    if (this.#instantAt < this.#instant.length) return;
    this.#instant = [];
    this.#instantAt = 0;
  }

  #push(event: Scheduled): void {
    const heap = this.#heap;
    let index = heap.length;
    heap.push(event);
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const above = heap[parent] as Scheduled;
      if (isBefore(above, event)) break;
      heap[index] = above;
      index = parent;
    }
    heap[index] = event;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop() as Scheduled;
    const { length } = heap;
    if (length === 0) return;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= length) break;
      if (child + 1 < length && isBefore(heap[child + 1] as Scheduled, heap[child] as Scheduled)) {
        child += 1;
      }
      if (isBefore(last, heap[child] as Scheduled)) break;
      heap[index] = heap[child] as Scheduled;
      index = child;
    }
    heap[index] = last;
  }
}

function isBefore(one: Scheduled, two: Scheduled): boolean {
  return one.at < two.at || (one.at === two.at && one.order < two.order);
}

function never(): boolean {
  return false;
}
