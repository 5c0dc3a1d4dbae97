// State of the reference broker: plain arrays and linear scans.
//   R1. The code is neither fast nor clever, so that it can be compared with AWS's documents.
//   R2. A message array is in order of arrival. For a FIFO queue that is the order of each group.
//   R3. All state is plain data, so that a restart is a copy of it.
//   R4. A refusal message that begins with "~" means "contains the rest": AWS documents the error,
//       but not its complete message.

import type { MessageAttribute } from "../../../src/broker/model/operations.ts";
import type { EpochMs } from "../../../src/core/units.ts";

export interface RefMessage {
  /** Never reused; a move to another queue makes a new one. */
  readonly serial: number;
  readonly messageId: string;
  readonly body: string;
  readonly attributes: Readonly<Record<string, MessageAttribute>> | null;
  readonly traceHeader: string | null;
  readonly groupId: string | null;
  /** Null on standard queues, and after a redrive until it is observed. */
  dedupId: string | null;
  /** Null on standard queues, and on FIFO queues until it is observed (after a move). */
  sequenceNumber: string | null;
  readonly sentAt: number;
  dueAt: number;
  receivedAt: number;
  firstReceivedAt: number;
  receiveCount: number;
  /** Its receive count when it arrived in this queue. */
  arrivalCount: number;
  readonly sourceArn: string | null;
  /** Handle of the latest receive. */
  handle: string | null;
}

export interface RefDedup {
  readonly scope: string;
  readonly id: string;
  readonly acceptedAt: number;
  readonly messageId: string;
  readonly sequenceNumber: string | null;
}

/** One receive that may be repeated. */
export interface RefAttempt {
  readonly id: string;
  readonly at: number;
  readonly handles: string[];
  /** Until then it hides its messages, unless a caller changed them. */
  hiddenUntil: number;
  /** A message of it was deleted, or its visibility changed. */
  spoiled: boolean;
}

export interface RefQueue {
  readonly serial: number;
  readonly name: string;
  readonly createdAt: number;
  modifiedAt: number;
  attributes: Record<string, string>;
  tags: Record<string, string>;
  /** DeduplicationScope takes effect at creation; switching it later changes nothing. */
  readonly dedupScope: string;
  messages: RefMessage[];
  dedups: RefDedup[];
  attempts: RefAttempt[];
  purgedAt: number | null;
  /** Highest sequence number seen on it. */
  lastSequence: string;
}

/** The receive and the message that a handle refers to. */
export interface RefHandle {
  readonly handle: string;
  readonly queueSerial: number;
  readonly messageSerial: number;
}

export interface RefTask {
  readonly handle: string;
  status: "RUNNING" | "COMPLETED";
  readonly sourceArn: string;
  readonly destinationArn: string | null;
  moved: number;
  readonly startedAt: number;
}

export interface RefWorld {
  readonly account: string;
  readonly region: string;
  lastSerial: number;
  queues: RefQueue[];
  deleted: { name: string; at: number }[];
  handles: RefHandle[];
  tasks: RefTask[];
}

export const DEDUP_WINDOW_MS = 300_000;
export const ATTEMPT_WINDOW_MS = 300_000;
export const NAME_WAIT_MS = 60_000;
export const PURGE_WAIT_MS = 60_000;
export const VISIBILITY_TOTAL_MS = 43_200_000;

export function createRefWorld(account: string, region: string): RefWorld {
  return { account, region, lastSerial: 0, queues: [], deleted: [], handles: [], tasks: [] };
}

export function nextSerial(world: RefWorld): number {
  world.lastSerial += 1;
  return world.lastSerial;
}

export function queueNamed(world: RefWorld, name: string): RefQueue | undefined {
  return world.queues.find((queue) => queue.name === name);
}

export function arnOf(world: RefWorld, name: string): string {
  return `arn:aws:sqs:${world.region}:${world.account}:${name}`;
}

export function queueOfArn(world: RefWorld, arn: string): RefQueue | undefined {
  return world.queues.find((queue) => arnOf(world, queue.name) === arn);
}

export function isFifo(queue: RefQueue): boolean {
  return queue.name.endsWith(".fifo");
}

/** A queue attribute that holds seconds, in milliseconds. */
export function attributeMs(queue: RefQueue, name: string): number {
  return Number(queue.attributes[name]) * 1_000;
}

export interface RefRedrivePolicy {
  readonly deadLetterTargetArn: string;
  readonly maxReceiveCount: number;
}

export function redrivePolicyOf(queue: RefQueue): RefRedrivePolicy | null {
  const text = queue.attributes.RedrivePolicy;
  return text === undefined ? null : (JSON.parse(text) as RefRedrivePolicy);
}

/** AWS's message for most invalid values. */
export function invalidValue(value: string | number, parameter: string, reason: string): string {
  return `Value ${value} for parameter ${parameter} is invalid. Reason: ${reason}`;
}

export function stateOf(message: RefMessage, now: EpochMs): "visible" | "delayed" | "in-flight" {
  if (message.dueAt <= now) return "visible";
  return message.receiveCount === 0 ? "delayed" : "in-flight";
}

/** Drops messages past their retention, whether in flight, delayed or visible. */
export function expire(world: RefWorld, now: EpochMs): void {
  for (const queue of world.queues) {
    const retentionMs = attributeMs(queue, "MessageRetentionPeriod");
    queue.messages = queue.messages.filter((message) => now < message.sentAt + retentionMs);
    queue.dedups = queue.dedups.filter((entry) => now < entry.acceptedAt + DEDUP_WINDOW_MS);
    queue.attempts = queue.attempts.filter(
      (attempt) => now < attempt.at + ATTEMPT_WINDOW_MS && now < attempt.hiddenUntil,
    );
  }
}
