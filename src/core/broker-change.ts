// BrokerChange: the vocabulary in which the broker's models say what must be remembered. It lives
// in core because two rooms speak it that must not know each other: the models and the stores.

import type { ObjectChange } from "./object-change.ts";
import type { EpochMs } from "./units.ts";

/** What never changes in a message: held on disk, read when the message is delivered. */
export interface MessageContent {
  readonly id: string;
  readonly body: string;
  /** JSON of what few messages have: attributes, trace header, deduplication id. */
  readonly detail: string | null;
}

/** What the queue models need of a message; small, and held in memory. */
export interface MessageHead {
  /** Position among all messages of the broker, growing, never reused. */
  readonly seq: number;
  /** Number of the queue that holds it. */
  readonly queue: number;
  readonly sentAt: EpochMs;
  /** Hidden until this instant (delay or visibility timeout). */
  readonly dueAt: EpochMs;
  /** Instant of the latest receive; 0 while never received. */
  readonly receivedAt: EpochMs;
  readonly firstReceivedAt: EpochMs;
  readonly receiveCount: number;
  readonly group: string | null;
  /** The receive count it came with; a queue's redrive policy counts its own receives only. */
  readonly arrivalCount: number;
}

/** One remembered deduplication id. */
export interface DedupEntry {
  readonly queue: number;
  /** 128-bit digest of scope and id as 32 hex digits. */
  readonly digest: string;
  readonly acceptedAt: EpochMs;
  readonly messageId: string;
  readonly seq: number;
}

/** Seldom-written things, as JSON: queues, move tasks, receive attempts, topics, buckets. */
export interface StoredDocument {
  readonly collection: string;
  readonly key: string;
  readonly value: string;
}

export type Change =
  | ObjectChange
  | { readonly kind: "put-message"; readonly head: MessageHead; readonly content: MessageContent }
  | {
      readonly kind: "update-receipt";
      readonly seq: number;
      readonly dueAt: EpochMs;
      readonly receivedAt: EpochMs;
      readonly firstReceivedAt: EpochMs;
      readonly receiveCount: number;
    }
  /** The content moves along: dead-letter moves and redrives are this one change. */
  | {
      readonly kind: "move-message";
      readonly from: number;
      readonly head: MessageHead;
      /** A new message id, or null to keep the one it has. */
      readonly id: string | null;
      /** A new detail, or undefined to keep the one it has. */
      readonly detail: string | null | undefined;
    }
  | { readonly kind: "delete-message"; readonly seq: number }
  | { readonly kind: "put-dedup"; readonly entry: DedupEntry }
  /** Forgets the ids of one queue accepted before an instant. */
  | { readonly kind: "expire-dedup"; readonly queue: number; readonly before: EpochMs }
  | { readonly kind: "put-document"; readonly document: StoredDocument }
  | { readonly kind: "delete-document"; readonly collection: string; readonly key: string }
  /** Numbers up to this one are taken, used or not; part of the commit that goes beyond. */
  | { readonly kind: "set-sequence"; readonly seq: number };
