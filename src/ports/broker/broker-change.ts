// BrokerChange: the changes that the broker's models ask the store to save.

import type { EpochMs } from "../../core/units.ts";
import type { ObjectChange } from "./object-change.ts";

/** The immutable part of a message: stored on disk, read when the message is delivered. */
export interface MessageContent {
  readonly id: string;
  readonly body: string;
  /** JSON of fields that few messages have: attributes, trace header, deduplication id. */
  readonly detail: string | null;
}

/** What the queue models need of a message; small, and in memory. */
export interface MessageHead {
  /** Position among all messages of the broker, growing, never reused. */
  readonly seq: number;
  /** Number of its queue. */
  readonly queue: number;
  readonly sentAt: EpochMs;
  /** Hidden until this instant (delay or visibility timeout). */
  readonly dueAt: EpochMs;
  /** Instant of the latest receive; 0 before the first. */
  readonly receivedAt: EpochMs;
  readonly firstReceivedAt: EpochMs;
  readonly receiveCount: number;
  readonly group: string | null;
  /** The receive count it arrived with; a queue's redrive policy counts only its own receives. */
  readonly arrivalCount: number;
}

/** One stored deduplication id. */
export interface DedupEntry {
  readonly queue: number;
  /** 128-bit digest of scope and id as 32 hex digits. */
  readonly digest: string;
  readonly acceptedAt: EpochMs;
  readonly messageId: string;
  readonly seq: number;
}

/** Rarely written state, as JSON: queues, move tasks, receive attempts, topics, buckets. */
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
  /** Moves the content as well: dead-letter moves and redrives are this one change. */
  | {
      readonly kind: "move-message";
      readonly from: number;
      readonly head: MessageHead;
      /** A new message id, or null to keep the current one. */
      readonly id: string | null;
      /** A new detail, or undefined to keep the current one. */
      readonly detail: string | null | undefined;
    }
  | { readonly kind: "delete-message"; readonly seq: number }
  | { readonly kind: "put-dedup"; readonly entry: DedupEntry }
  /** Deletes the ids of one queue accepted before an instant. */
  | { readonly kind: "expire-dedup"; readonly queue: number; readonly before: EpochMs }
  | { readonly kind: "put-document"; readonly document: StoredDocument }
  | { readonly kind: "delete-document"; readonly collection: string; readonly key: string }
  /**
   * Reserves all numbers up to this one; part of the first commit that exceeds the last
   * reservation.
   */
  | { readonly kind: "set-sequence"; readonly seq: number };
