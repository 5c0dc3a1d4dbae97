// TopicArchive: the messages that a FIFO topic keeps for replays, oldest first.
//   A1. Entries enter in order of number and of time, and leave from the front.
//   A2. Only numbers and instants are in memory; the messages are on disk.

import type { EpochMs } from "../../../core/units.ts";

/** Dead entries at the front are cut off once there are this many. */
const SLACK_MAX = 1_024;

export class TopicArchive {
  #seqs: number[] = [];
  #times: number[] = [];
  #first = 0;

  get size(): number {
    return this.#seqs.length - this.#first;
  }

  get lastSeq(): number {
    return this.size === 0 ? 0 : (this.#seqs.at(-1) as number);
  }

  oldest(): EpochMs | null {
    return this.size === 0 ? null : (this.#times[this.#first] as EpochMs);
  }

  add(seq: number, at: EpochMs): void {
    this.#seqs.push(seq);
    this.#times.push(at);
  }

  /** The first entries after `afterSeq`, at most `limit`. */
  after(afterSeq: number, limit: number): { seq: number; at: EpochMs }[] {
    let low = this.#first;
    let high = this.#seqs.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#seqs[middle] as number) <= afterSeq) low = middle + 1;
      else high = middle;
    }
    const end = Math.min(low + limit, this.#seqs.length);
    const entries: { seq: number; at: EpochMs }[] = [];
    for (let index = low; index < end; index += 1) {
      entries.push({ seq: this.#seqs[index] as number, at: this.#times[index] as EpochMs });
    }
    return entries;
  }

  /** Removes messages published at or before `through`; returns at most `limit` numbers. */
  expire(through: EpochMs, limit: number): number[] {
    const gone: number[] = [];
    while (gone.length < limit && this.size > 0 && this.#times[this.#first]! <= through) {
      gone.push(this.#seqs[this.#first] as number);
      this.#first += 1;
    }
    if (this.#first > SLACK_MAX && this.#first * 2 > this.#seqs.length) {
      this.#seqs = this.#seqs.slice(this.#first);
      this.#times = this.#times.slice(this.#first);
      this.#first = 0;
    }
    return gone;
  }

  /** Removes everything; returns the numbers. */
  clear(): number[] {
    const gone = this.#seqs.slice(this.#first);
    this.#seqs = [];
    this.#times = [];
    this.#first = 0;
    return gone;
  }
}
