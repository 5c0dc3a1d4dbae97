// WaitingReceives: the long polls. Who waits longest is served first.
//   W1. A waiting receive is answered when something can be delivered, whether it was sent, became
//       visible again or ended its delay; or with nothing when its time is over.
//   W2. `nextWakeAt` is when the next of these can happen without anybody asking for anything.

import { type EpochMs, epochMs } from "../../core/units.ts";
import type { ReceiveInput } from "./operations.ts";
import type { Queue } from "./queue.ts";

export interface WaitingReceive {
  readonly id: number;
  readonly queue: Queue;
  readonly input: ReceiveInput;
  readonly deadline: EpochMs;
}

export class WaitingReceives {
  readonly #byId = new Map<number, WaitingReceive>();
  readonly #byQueue = new Map<Queue, Map<number, WaitingReceive>>();
  #lastId = 0;

  get size(): number {
    return this.#byId.size;
  }

  add(queue: Queue, input: ReceiveInput, deadline: EpochMs): number {
    this.#lastId += 1;
    const receive = { id: this.#lastId, queue, input, deadline };
    this.#byId.set(receive.id, receive);
    const line = this.#byQueue.get(queue) ?? new Map<number, WaitingReceive>();
    line.set(receive.id, receive);
    this.#byQueue.set(queue, line);
    return receive.id;
  }

  /** Takes a receive out of the line; it was answered, or nobody waits for it any more. */
  remove(id: number): void {
    const receive = this.#byId.get(id);
    if (receive === undefined) return;
    this.#byId.delete(id);
    const line = this.#byQueue.get(receive.queue);
    line?.delete(id);
    if (line?.size === 0) this.#byQueue.delete(receive.queue);
  }

  /** The queues somebody waits for. */
  queues(): Queue[] {
    return [...this.#byQueue.keys()];
  }

  /** Those who wait for a queue, longest first. */
  waitersOf(queue: Queue): WaitingReceive[] {
    return [...(this.#byQueue.get(queue)?.values() ?? [])];
  }

  all(): WaitingReceive[] {
    return [...this.#byId.values()];
  }

  nextWakeAt(): EpochMs | null {
    let earliest = Number.POSITIVE_INFINITY;
    for (const [queue, line] of this.#byQueue) {
      const lookAgainAt = queue.unfinished ? 0 : queue.nextDueAt;
      earliest = Math.min(earliest, lookAgainAt ?? earliest);
      for (const { deadline } of line.values()) earliest = Math.min(earliest, deadline);
    }
    return earliest === Number.POSITIVE_INFINITY ? null : epochMs(earliest);
  }
}
