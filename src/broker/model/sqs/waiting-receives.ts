// WaitingReceives: the long polls. Who waits longest is served first.
//   W1. A waiting receive is answered when something can be delivered, whether it was sent, became
//       visible again or ended its delay; or with nothing when its time is over.
//   W2. `nextWakeAt` is when the next of these can happen without anybody asking for anything.
//   W3. Thousands may wait, mostly for nothing: a step pays for the queues that changed and the
//       receives that end, never for all. A queue that somebody waits for tells of every change.

import type { Result } from "../../../core/result.ts";
import { type EpochMs, epochMs } from "../../../core/units.ts";
import type { Fault } from "../fault.ts";
import type { ReceivedCopy, ReceiveInput } from "../operations.ts";
import { type HeapEntry, IndexedHeap } from "../placed-heap.ts";
import type { QueueState, QueueWatcher } from "./queue.ts";

export interface WaitingReceive extends HeapEntry {
  readonly id: number;
  readonly queue: QueueState;
  readonly input: ReceiveInput;
  readonly deadline: EpochMs;
}

/** What came of a receive that waited. */
export interface WaitAnswer {
  readonly id: number;
  readonly outcome: Result<{ deliveries: ReceivedCopy[] }, Fault>;
}

/** Those who wait for one queue. */
interface Line extends HeapEntry {
  readonly queue: QueueState;
  /** Longest wait first. */
  readonly receives: Map<number, WaitingReceive>;
  /** When time alone changes the queue, as it was when this was last looked up. */
  changesAt: number;
}

export class WaitingReceives implements QueueWatcher {
  readonly #byId = new Map<number, WaitingReceive>();
  readonly #lines = new Map<QueueState, Line>();
  readonly #deadlines = new IndexedHeap<WaitingReceive>((a, b) => a.deadline < b.deadline);
  readonly #changes = new IndexedHeap<Line>((a, b) => a.changesAt < b.changesAt);
  /** Queues that somebody waits for and that changed since they were last settled (W3). */
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
    const receive = { place: 0, id: this.#lastId, queue, input, deadline };
    this.#byId.set(receive.id, receive);
    this.#deadlines.push(receive);
    this.#lineFor(queue).receives.set(receive.id, receive);
    this.#touched.add(queue);
    return receive.id;
  }

  /** Takes a receive out of the line; it was answered, or nobody waits for it any more. */
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

  /** Takes a receive out of the line with its answer, which `takeAnswers` gives away. */
  answer(id: number, outcome: WaitAnswer["outcome"]): void {
    this.remove(id);
    this.#answers.push({ id, outcome });
  }

  takeAnswers(): WaitAnswer[] {
    const answers = this.#answers;
    if (answers.length > 0) this.#answers = [];
    return answers;
  }

  /** The queue changed; somebody who waits for it may be served now. */
  touch(queue: QueueState): void {
    if (this.#lines.has(queue)) this.#touched.add(queue);
  }

  isTouched(queue: QueueState): boolean {
    return this.#touched.has(queue);
  }

  /** Counts as changed what time alone has changed until `now`, and what was left unfinished. */
  wake(now: EpochMs): void {
    for (const queue of this.#unfinished) this.#touched.add(queue);
    this.#unfinished.clear();
    for (let line = this.#changes.top; line !== undefined; line = this.#changes.top) {
      if (line.changesAt > now) break;
      this.#touched.add(line.queue);
      this.#setChangesAt(line, Number.POSITIVE_INFINITY); // Until it is settled.
    }
  }

  /** The queues to settle. Those that change under way are among them, as often as they do. */
  touched(): IterableIterator<QueueState> {
    return this.#touched.values();
  }

  /** All who wait for the queue have been looked after, as far as a step may go. */
  settled(queue: QueueState): void {
    this.#touched.delete(queue);
    const line = this.#lines.get(queue);
    if (line === undefined) return;
    if (queue.unfinished) this.#unfinished.add(queue);
    this.#setChangesAt(line, queue.changesAt);
  }

  /** Those who wait for a queue, longest first; whoever is served may be removed under way. */
  waitersOf(queue: QueueState): Iterable<WaitingReceive> {
    return this.#lines.get(queue)?.receives.values() ?? [];
  }

  /** The receive whose time is over at `now`, if there is one. */
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
    const known = this.#lines.get(queue);
    if (known !== undefined) return known;
    const line = { place: 0, queue, receives: new Map(), changesAt: Number.POSITIVE_INFINITY };
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
