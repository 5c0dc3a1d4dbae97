// Gated queue: a queue that delivers nothing until its gate opens, and counts requests.
//   G1. A round starts when the gate opens, and ends when the queue has confirmed the delete of its
//       last message.
//   G2. A receive that is waiting at the end of a round is aborted, so that it does not receive
//       messages of the next round before its clock runs.

import type { Queue } from "../../src/ports/queue-receiver.ts";

export interface RoundReport {
  readonly elapsedMs: number;
  /** Processor time of all threads of the process. */
  readonly cpuMs: number;
  /** Requests by action. */
  readonly requests: Readonly<Record<string, number>>;
}

/** Runs `work` and returns what it cost. */
export async function timed(
  work: () => Promise<Readonly<Record<string, number>>>,
): Promise<RoundReport> {
  const cpuBefore = process.cpuUsage();
  const startedAt = performance.now();
  const requests = await work();
  const elapsedMs = performance.now() - startedAt;
  const { user, system } = process.cpuUsage(cpuBefore);
  return { elapsedMs, cpuMs: (user + system) / 1_000, requests };
}

export class GatedQueue {
  readonly queue: Queue;
  readonly #waiting = new Set<() => void>();
  readonly #receives = new Set<AbortController>();
  #isOpen = false;
  #requests: Record<string, number> = {};
  #deleted = 0;
  #wanted = 0;
  #onDone: () => void = () => {};

  constructor(queue: Queue) {
    this.queue = {
      ...queue,
      receive: (request, signal) => this.#receive(queue, request, signal),
      deleteBatch: async (receipts) => {
        this.#count("DeleteMessageBatch");
        const outcomes = await queue.deleteBatch(receipts);
        this.#deleted += outcomes.filter(({ kind }) => kind === "done").length;
        if (this.#deleted >= this.#wanted) this.#close(); // G1
        return outcomes;
      },
      changeVisibility: (changes) => {
        this.#count("ChangeMessageVisibilityBatch");
        return queue.changeVisibility(changes);
      },
    };
  }

  /** Opens the gate until `count` messages are deleted. */
  round(count: number): Promise<RoundReport> {
    return timed(async () => {
      this.#requests = {};
      this.#deleted = 0;
      this.#wanted = count;
      await new Promise<void>((resolve) => {
        this.#onDone = resolve;
        this.#isOpen = true;
        for (const go of this.#waiting) go();
        this.#waiting.clear();
      });
      return this.#requests;
    });
  }

  async #receive(
    queue: Queue,
    request: Parameters<Queue["receive"]>[0],
    signal: AbortSignal,
  ): ReturnType<Queue["receive"]> {
    if (!this.#isOpen) await this.#opened(signal);
    if (signal.aborted) return [];
    this.#count("ReceiveMessage");
    const own = new AbortController();
    const follow = () => own.abort(signal.reason);
    signal.addEventListener("abort", follow);
    this.#receives.add(own);
    try {
      return await queue.receive(request, own.signal);
    } finally {
      this.#receives.delete(own);
      signal.removeEventListener("abort", follow);
    }
  }

  #opened(signal: AbortSignal): Promise<void> {
    return new Promise<void>((resolve) => {
      if (signal.aborted) return resolve();
      this.#waiting.add(resolve);
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
  }

  #close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    for (const receive of this.#receives) receive.abort(); // G2
    this.#onDone();
  }

  #count(action: string): void {
    this.#requests[action] = (this.#requests[action] ?? 0) + 1;
  }
}
