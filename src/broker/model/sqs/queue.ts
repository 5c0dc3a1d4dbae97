// Queue: the messages of one queue, and the state of each.
//   Q1. Every message is in the heap of ages. Hidden ones (in flight, delayed) are also in the heap
//       of deadlines. Ready ones are in the schedule.
//   Q2. Counts are maintained, never computed by counting.
//   Q3. `advance` runs before every look at the queue, so that no caller sees a hidden message that
//       is due, or a waiting one that has expired. All expired messages leave the queue at once;
//       their bytes on disk are erased later.
//   Q4. Only a message that was received can have a receipt handle, so only such messages are in
//       the index.
//   Q5. What expires is measured in running time: a leap of the clock that is not confirmed expires
//       nothing (core/store-clock.ts).
//   Q6. A new delay of a FIFO queue applies to all messages that were never received. On disk only
//       the queue's record says so, however many wait: their deadlines are recomputed on load.

import { SQS_DEDUP_WINDOW_MS } from "../../../core/limits.ts";
import { RunningTime } from "../../../core/running-time.ts";
import { addMs, type EpochMs, epochMs } from "../../../core/units.ts";
import type { MessageHead } from "../../../ports/broker/broker-change.ts";
import { DedupWindow } from "./dedup-window.ts";
import type { QueueSettings } from "./queue-settings.ts";
import { FairSchedule } from "./schedule/fair-schedule.ts";
import { FifoSchedule } from "./schedule/fifo-schedule.ts";
import { type MessageSlab, SlotState } from "./schedule/message-slab.ts";
import type { Cursor, DeliveryOrder } from "./schedule/schedule.ts";
import { SlotHeap } from "./schedule/slot-heap.ts";

/** The stored part of a queue apart from its messages. */
export interface QueueRecord {
  readonly number: number;
  readonly name: string;
  readonly createdAt: EpochMs;
  readonly modifiedAt: EpochMs;
  readonly attributes: Readonly<Record<string, string>>;
  readonly tags: Readonly<Record<string, string>>;
  /** The scope it was created with; later changes of the attribute do not change it. */
  readonly dedupPerGroup: boolean;
  readonly purgedAt: EpochMs | null;
  /** Messages numbered up to here were purged. */
  readonly purgedThrough: number;
  /** FIFO messages numbered up to here have the queue's delay instead of their own (Q6). */
  readonly delayedThrough: number;
}

/** Notified of every change of a queue. */
export interface QueueWatcher {
  touch(queue: QueueState): void;
}

export class QueueState {
  record: QueueRecord;
  settings: QueueSettings;
  readonly fifo: boolean;
  readonly dedup = new DedupWindow();
  readonly slab: MessageSlab;
  readonly time: RunningTime;
  readonly ages: SlotHeap;
  readonly #schedule: DeliveryOrder;
  readonly #deadlines: SlotHeap;
  /** Notified of every message that arrives, leaves, hides or shows, while a long poll waits. */
  watcher: QueueWatcher | null = null;
  /** True if a receive stopped before it had seen all messages: long polls must look again. */
  unfinished = false;
  readonly #received = new Map<number, number>();
  #inFlight = 0;
  #delayed = 0;

  constructor(
    slab: MessageSlab,
    record: QueueRecord,
    settings: QueueSettings,
    time: RunningTime = new RunningTime(),
  ) {
    this.slab = slab;
    this.time = time;
    this.record = record;
    this.settings = settings;
    this.fifo = settings.fifo;
    this.ages = new SlotHeap(slab.sentAt, slab.agePosition);
    this.#deadlines = new SlotHeap(slab.dueAt, slab.duePosition);
    this.#schedule = this.fifo ? new FifoSchedule(slab) : new FairSchedule(slab);
  }

  get total(): number {
    return this.ages.length;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  get delayed(): number {
    return this.#delayed;
  }

  /** AWS counts the messages of a blocked group as visible. */
  get visible(): number {
    return this.total - this.#inFlight - this.#delayed;
  }

  /** When the next hidden message is due, or null. */
  get nextDueAt(): EpochMs | null {
    const top = this.#deadlines.top;
    return top === 0 ? null : epochMs(this.slab.dueAt.get(top));
  }

  /** When the queue changes next by time alone (due or expired); Infinity if never. */
  get changesAt(): number {
    const { nextDueAt: dueAt, oldestSentAt: sentAt } = this;
    const { retentionMs } = this.settings;
    const expiresAt =
      sentAt === null ? Number.POSITIVE_INFINITY : this.time.due(sentAt, retentionMs); // Q5
    return dueAt === null ? expiresAt : Math.min(dueAt, expiresAt);
  }

  get oldestSentAt(): EpochMs | null {
    const top = this.ages.top;
    return top === 0 ? null : epochMs(this.slab.sentAt.get(top));
  }

  /** The deadline of a message that was loaded from disk (Q6). */
  dueOf(head: MessageHead): EpochMs {
    const own = !this.fifo || head.receiveCount > 0 || head.seq > this.record.delayedThrough;
    return own ? head.dueAt : addMs(head.sentAt, this.settings.delayMs);
  }

  /** Adds a message: sent, moved here, or loaded from disk. */
  insert(head: MessageHead, now: EpochMs): number {
    const slab = this.slab;
    const slot = slab.allocate();
    slab.seq.set(slot, head.seq);
    slab.sentAt.set(slot, head.sentAt);
    slab.dueAt.set(slot, head.dueAt);
    slab.receivedAt.set(slot, head.receivedAt);
    slab.firstReceivedAt.set(slot, head.firstReceivedAt);
    slab.receiveCount.set(slot, head.receiveCount);
    slab.arrivalCount.set(slot, head.arrivalCount);
    const hidden = head.receivedAt > 0 ? SlotState.inFlight : SlotState.delayed;
    const state = head.dueAt > now ? hidden : SlotState.ready;
    slab.state.set(slot, state);
    this.ages.push(slot); // Q1
    if (state !== SlotState.ready) this.#deadlines.push(slot);
    if (state === SlotState.inFlight) this.#inFlight += 1;
    if (state === SlotState.delayed) this.#delayed += 1;
    if (head.receivedAt > 0) this.#received.set(head.seq, slot); // Q4
    this.#schedule.add(slot, head.group, now);
    this.watcher?.touch(this);
    return slot;
  }

  /** The slot of a message that was received before, or 0 (Q4). */
  find(seq: number): number {
    return this.#received.get(seq) ?? 0;
  }

  groupOf(slot: number): string | null {
    return this.#schedule.groupOf(slot);
  }

  openReceive(now: EpochMs): Cursor {
    return this.#schedule.openReceive(now);
  }

  isInFlight(slot: number): boolean {
    return this.slab.state.get(slot) === SlotState.inFlight;
  }

  /** Marks a ready message as received until `dueAt`. */
  take(slot: number, now: EpochMs, dueAt: EpochMs): void {
    const slab = this.slab;
    const count = slab.receiveCount.get(slot) + 1;
    slab.receiveCount.set(slot, count);
    slab.receivedAt.set(slot, now);
    if (count === 1) slab.firstReceivedAt.set(slot, now);
    this.#received.set(slab.seq.get(slot), slot); // Q4
    this.hide(slot, SlotState.inFlight, dueAt, now);
  }

  /** Hides a message until `dueAt`, whatever its state. */
  hide(slot: number, state: 2 | 3, dueAt: EpochMs, now: EpochMs): void {
    const slab = this.slab;
    const before = slab.state.get(slot);
    slab.dueAt.set(slot, dueAt);
    this.watcher?.touch(this);
    if (before === state) {
      this.#deadlines.update(slot);
      return;
    }
    slab.state.set(slot, state);
    this.#deadlines.push(slot);
    if (state === SlotState.inFlight) this.#inFlight += 1;
    else this.#delayed += 1;
    this.#schedule.hide(slot, state === SlotState.inFlight, now);
  }

  /** Makes a hidden message ready. */
  release(slot: number, now: EpochMs): void {
    const slab = this.slab;
    const wasInFlight = this.isInFlight(slot);
    this.#deadlines.remove(slot);
    if (wasInFlight) this.#inFlight -= 1;
    else this.#delayed -= 1;
    slab.state.set(slot, SlotState.ready);
    this.#schedule.release(slot, wasInFlight, now);
    this.watcher?.touch(this);
  }

  /** Moves a ready message behind all other ready ones. */
  passOver(slot: number, now: EpochMs): void {
    this.hide(slot, SlotState.delayed, now, now);
    this.release(slot, now);
  }

  /** Removes a message from this queue. */
  remove(slot: number, now: EpochMs): void {
    const slab = this.slab;
    const state = slab.state.get(slot);
    if (state === SlotState.inFlight) this.#inFlight -= 1;
    if (state === SlotState.delayed) this.#delayed -= 1;
    if (state !== SlotState.ready) this.#deadlines.remove(slot);
    this.ages.remove(slot);
    this.#received.delete(slab.seq.get(slot));
    this.#schedule.remove(slot, state, now);
    slab.free(slot);
    this.watcher?.touch(this);
  }

  /** Brings the queue to `now` and calls `expired` for each message beyond its retention. */
  advance(now: EpochMs, expired: (seq: number) => void): void {
    for (let slot = this.#deadlines.top; slot !== 0; slot = this.#deadlines.top) {
      if (this.slab.dueAt.get(slot) > now) break;
      this.release(slot, now);
    }
    const expiredThrough = this.time.ago(now, this.settings.retentionMs); // Q5
    for (let slot = this.ages.top; slot !== 0; slot = this.ages.top) {
      if (this.slab.sentAt.get(slot) > expiredThrough) break;
      expired(this.slab.seq.get(slot));
      this.remove(slot, now);
    }
    this.dedup.expire(this.time.ago(now, SQS_DEDUP_WINDOW_MS)); // Q5
  }
}
