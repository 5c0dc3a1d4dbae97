// WaitingReceives: the long polls. The longest wait is served first.
//   W1. A long poll is answered when a message becomes deliverable, because it was sent, became
//       visible again or ended its delay; or without messages when its time is over.
//   W2. `nextWakeAt` is when the next of these can happen without any request.
//   W3. Thousands may wait, mostly for nothing: a step pays for the queues that changed and the
//       long polls that end, never for all. A queue with long polls reports every change.

import type { Result } from "../../../core/result.ts";
import { type EpochMs, epochMs } from "../../../core/units.ts";
import type { Fault } from "../fault.ts";
import { type HeapEntry, IndexedHeap } from "../indexed-heap.ts";
import type { ReceivedCopy, ReceiveInput } from "../operations.ts";
import type { QueueState, QueueWatcher } from "./queue.ts";

export interface WaitingReceive extends HeapEntry {
  readonly id: number;
  readonly queue: QueueState;
  readonly input: ReceiveInput;
  readonly deadline: EpochMs;
}

/** The answer of a long poll. */
export interface WaitAnswer {
  readonly id: number;
  readonly outcome: Result<{ deliveries: ReceivedCopy[] }, Fault>;
}

/** The long polls of one queue. */
interface Line extends HeapEntry {
  readonly queue: QueueState;
  /** Longest wait first. */
  readonly receives: Map<number, WaitingReceive>;
  /** When time alone changes the queue, as of the last look. */
  changesAt: number;
}

export class WaitingReceives implements QueueWatcher {
  readonly #byId = new Map<number, WaitingReceive>();
  readonly #lines = new Map<QueueState, Line>();
  readonly #deadlines = new IndexedHeap<WaitingReceive>((a, b) => a.deadline < b.deadline);
  readonly #changes = new IndexedHeap<Line>((a, b) => a.changesAt < b.changesAt);
  /** Queues with long polls that changed since their long polls were last answered (W3). */
  readonly #touched = new Set<QueueState>();
  /** Queues whose last look was cut short: the next step looks again. */
  readonly #unfinished = new Set<QueueState>();
  #answers: WaitAnswer[] = [];
  #lastId = 0;

  get size(): number {
    return this.#byId.size;
  }

  add(queue: QueueState, input: ReceiveInput, deadline: EpochMs): number {
    this.#lastId += 1;
    const receive = { position: 0, id: this.#lastId, queue, input, deadline };
    this.#byId.set(receive.id, receive);
    this.#deadlines.push(receive);
    this.#lineFor(queue).receives.set(receive.id, receive);
    this.#touched.add(queue);
    return receive.id;
  }

  /** Removes a long poll that was answered or abandoned. */
  remove(id: number): void {
    const receive = this.#byId.get(id);
    if (receive === undefined) return;
    this.#byId.delete(id);
    this.#deadlines.remove(receive);
    const line = this.#lineFor(receive.queue);
    line.receives.delete(id);
    if (line.receives.size > 0) return;
    this.#lines.delete(line.queue);
    this.#changes.remove(line);
    this.#touched.delete(line.queue);
    this.#unfinished.delete(line.queue);
    line.queue.watcher = null;
  }

  /** Removes a long poll and stores its answer, which `takeAnswers` returns. */
  answer(id: number, outcome: WaitAnswer["outcome"]): void {
    this.remove(id);
    this.#answers.push({ id, outcome });
  }

  takeAnswers(): WaitAnswer[] {
    const answers = this.#answers;
    if (answers.length > 0) this.#answers = [];
    return answers;
  }

  /** Marks the queue as changed: its long polls may be answered now. */
  touch(queue: QueueState): void {
    if (this.#lines.has(queue)) this.#touched.add(queue);
  }

  isTouched(queue: QueueState): boolean {
    return this.#touched.has(queue);
  }

  /** Marks queues that time alone has changed until `now`, and those left unfinished. */
  wake(now: EpochMs): void {
    for (const queue of this.#unfinished) this.#touched.add(queue);
    this.#unfinished.clear();
    for (let line = this.#changes.top; line !== undefined; line = this.#changes.top) {
      if (line.changesAt > now) break;
      this.#touched.add(line.queue);
      this.#setChangesAt(line, Number.POSITIVE_INFINITY); // Until its long polls are answered.
    }
  }

  /** The changed queues, including those that change during the iteration. */
  touched(): IterableIterator<QueueState> {
    return this.#touched.values();
  }

  /** Marks the long polls of the queue as answered, as far as one step may go. */
  answered(queue: QueueState): void {
    this.#touched.delete(queue);
    const line = this.#lines.get(queue);
    if (line === undefined) return;
    if (queue.unfinished) this.#unfinished.add(queue);
    this.#setChangesAt(line, queue.changesAt);
  }

  /** The long polls of a queue, longest wait first; they may be removed during the iteration. */
  waitersOf(queue: QueueState): Iterable<WaitingReceive> {
    return this.#lines.get(queue)?.receives.values() ?? [];
  }

  /** A long poll whose time is over at `now`, if there is one. */
  overdue(now: EpochMs): WaitingReceive | undefined {
    const top = this.#deadlines.top;
    return top !== undefined && top.deadline <= now ? top : undefined;
  }

  nextWakeAt(): EpochMs | null {
    if (this.#unfinished.size > 0) return epochMs(0);
    for (const queue of this.#touched) {
      if (queue.unfinished) return epochMs(0);
      this.#setChangesAt(this.#lineFor(queue), queue.changesAt);
    }
    const deadline = this.#deadlines.top?.deadline;
    if (deadline === undefined) return null;
    return epochMs(Math.min(deadline, this.#changes.top?.changesAt ?? deadline));
  }

  #lineFor(queue: QueueState): Line {
    const existing = this.#lines.get(queue);
    if (existing !== undefined) return existing;
    const line = { position: 0, queue, receives: new Map(), changesAt: Number.POSITIVE_INFINITY };
    this.#lines.set(queue, line);
    this.#changes.push(line);
    queue.watcher = this;
    return line;
  }

  #setChangesAt(line: Line, changesAt: number): void {
    if (line.changesAt === changesAt) return;
    line.changesAt = changesAt;
    this.#changes.update(line);
  }
}
