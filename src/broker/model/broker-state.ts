// BrokerState: all queues and topics of the broker, and the counters they share.
//   B1. Queue numbers and message numbers only grow and are never reused, not even after a restart:
//       upper bounds of both are committed.
//   B2. The name of a deleted queue stays reserved for a minute, as on AWS.
//   B3. Messages of purged or deleted queues, and expired ones, are garbage: they belong to no
//       queue, and their bytes on disk are erased step by step. A crash before that restores
//       nothing: on load the message is again purged, orphaned or expired.

import { assert, present } from "../../core/assert.ts";
import { SQS_DELETED_NAME_WAIT_MS } from "../../core/limits.ts";
import { RunningTime } from "../../core/running-time.ts";
import type { EpochMs } from "../../core/units.ts";
import type { MessageHead } from "../../ports/broker/broker-change.ts";
import { type MessageFaults, NO_MESSAGE_FAULTS } from "./message-faults.ts";
import type { BucketRecord } from "./s3/bucket.ts";
import { Topics } from "./sns/topics.ts";
import { MoveTasks } from "./sqs/move-tasks/move-tasks.ts";
import { type QueueRecord, QueueState } from "./sqs/queue.ts";
import { queueSettingsOf } from "./sqs/queue-settings.ts";
import { createReceiptHandles, type ReceiptHandles } from "./sqs/receipt-handle.ts";
import type { ReceiveAttempt } from "./sqs/receive-attempt.ts";
import { MessageSlab } from "./sqs/schedule/message-slab.ts";
import { WaitingReceives } from "./sqs/waiting-receives.ts";
import type { ModelStep } from "./step.ts";

export interface BrokerIdentity {
  readonly account: string;
  readonly region: string;
  readonly secret: readonly [number, number];
  /** Whether queue policies decide what topics and buckets may deliver to queues. */
  readonly enforcePolicies?: boolean;
  /** Injected faults. They outlive a state that is reloaded from the store. */
  readonly faults?: MessageFaults;
}

export class BrokerState {
  readonly identity: BrokerIdentity;
  readonly handles: ReceiptHandles;
  readonly faults: MessageFaults;
  /** By which everything expires; it outlives a state that is reloaded from the store. */
  readonly time: RunningTime;
  readonly slab = new MessageSlab();
  readonly queues = new Map<string, QueueState>();
  readonly deletedNames = new Map<string, EpochMs>();
  readonly moveTasks = new MoveTasks();
  readonly attempts = new Map<string, ReceiveAttempt>();
  readonly waiting = new WaitingReceives();
  readonly buckets = new Map<string, BucketRecord>();
  readonly topics = new Topics();
  /** Numbers of messages that exist only on disk (B3). */
  readonly garbage: number[] = [];
  readonly #byNumber = new Map<number, QueueState>();
  #sequence = 0;
  #queueNumber = 0;

  constructor(identity: BrokerIdentity, time: RunningTime = new RunningTime()) {
    this.time = time;
    this.identity = identity;
    this.handles = createReceiptHandles(identity.secret);
    this.faults = identity.faults ?? NO_MESSAGE_FAULTS;
  }

  get sequence(): number {
    return this.#sequence;
  }

  get queueNumber(): number {
    return this.#queueNumber;
  }

  /** Continues the counters of an earlier run (B1). */
  resumeAt(sequence: number, queueNumber: number): void {
    assert(sequence >= this.#sequence, "message numbers only grow");
    this.#sequence = sequence;
    this.#queueNumber = queueNumber;
  }

  nextSeq(): number {
    this.#sequence += 1;
    return this.#sequence;
  }

  nextQueueNumber(): number {
    this.#queueNumber += 1;
    return this.#queueNumber;
  }

  /** A number for something new that is stored like a queue; the counter is committed (B1). */
  takeNumber(step: ModelStep): number {
    const number = this.nextQueueNumber();
    const document = { collection: "broker", key: "queue-number", value: String(number) };
    step.emit({ kind: "put-document", document });
    return number;
  }

  arnOf(name: string): string {
    return `arn:aws:sqs:${this.identity.region}:${this.identity.account}:${name}`;
  }

  topicArnOf(name: string): string {
    return `arn:aws:sns:${this.identity.region}:${this.identity.account}:${name}`;
  }

  /** The queue of an ARN, if it belongs to this broker. */
  queueByArn(arn: string): QueueState | undefined {
    const prefix = this.arnOf("");
    return arn.startsWith(prefix) ? this.queues.get(arn.slice(prefix.length)) : undefined;
  }

  queueByNumber(number: number): QueueState | undefined {
    return this.#byNumber.get(number);
  }

  /** The queue, brought up to date. */
  open(name: string, step: ModelStep): QueueState | undefined {
    const queue = this.queues.get(name);
    if (queue !== undefined) this.advance(queue, step);
    return queue;
  }

  advance(queue: QueueState, step: ModelStep): void {
    queue.advance(step.now, (seq) => this.garbage.push(seq)); // B3
  }

  addQueue(record: QueueRecord): QueueState {
    const queue = new QueueState(this.slab, record, queueSettingsOf(record.attributes), this.time);
    this.queues.set(record.name, queue);
    this.#byNumber.set(record.number, queue);
    return queue;
  }

  /** An internal queue that has a number but no name. */
  addHiddenQueue(record: QueueRecord): QueueState {
    const queue = new QueueState(this.slab, record, queueSettingsOf(record.attributes), this.time);
    this.#byNumber.set(record.number, queue);
    return queue;
  }

  /** Removes a queue; its messages become garbage (B3). */
  removeQueue(queue: QueueState, now: EpochMs): void {
    this.discardMessages(queue, now);
    if (this.queues.get(queue.record.name) === queue) this.queues.delete(queue.record.name);
    this.#byNumber.delete(queue.record.number);
    this.waiting.touch(queue);
  }

  /** Empties a queue in memory; its messages become garbage (B3). */
  discardMessages(queue: QueueState, now: EpochMs): void {
    while (queue.total > 0) {
      const slot = queue.ages.at(queue.total - 1);
      this.garbage.push(this.slab.seq.get(slot));
      queue.remove(slot, now);
    }
  }

  /** Adds a message that was loaded from disk to its queue or archive, or to the garbage. */
  restore(head: MessageHead, now: EpochMs): void {
    const queue = this.#byNumber.get(head.queue);
    const topic = this.topics.topicByNumber(head.queue);
    if (topic?.record.archivedSince != null && head.sentAt >= topic.record.archivedSince) {
      topic.archive.add(head.seq, head.sentAt);
    } else if (queue === undefined || head.seq <= queue.record.purgedThrough) {
      this.garbage.push(head.seq);
    } else {
      const dueAt = queue.dueOf(head);
      queue.insert(dueAt === head.dueAt ? head : { ...head, dueAt }, now);
    }
  }

  /** Stores a queue's record in memory and on disk. */
  saveRecord(queue: QueueState, record: QueueRecord, step: ModelStep): void {
    queue.record = record;
    queue.settings = queueSettingsOf(record.attributes);
    this.waiting.touch(queue); // Another retention or redrive policy may unblock messages.
    step.emit({
      kind: "put-document",
      document: {
        collection: "queue",
        key: String(record.number),
        value: JSON.stringify(record),
      },
    });
  }

  /** Whether the deletion of its queue still reserves a name (B2). */
  isDeletedRecently(name: string, now: EpochMs): boolean {
    const at = this.deletedNames.get(name);
    return at !== undefined && now < this.time.due(at, SQS_DELETED_NAME_WAIT_MS);
  }

  headOf(queue: QueueState, slot: number): MessageHead {
    const { slab } = this;
    return {
      seq: slab.seq.get(slot),
      queue: queue.record.number,
      sentAt: slab.sentAt.get(slot) as EpochMs,
      dueAt: slab.dueAt.get(slot) as EpochMs,
      receivedAt: slab.receivedAt.get(slot) as EpochMs,
      firstReceivedAt: slab.firstReceivedAt.get(slot) as EpochMs,
      receiveCount: slab.receiveCount.get(slot),
      group: queue.groupOf(slot),
      arrivalCount: slab.arrivalCount.get(slot),
    };
  }

  /** The queue of a number that must exist. */
  requireNumber(number: number): QueueState {
    return present(this.#byNumber.get(number), `queue number ${number}`);
  }
}
