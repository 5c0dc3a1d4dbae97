// Topic: one topic with its subscriptions, deduplication window and archive.
//   T1. A topic takes its number from the same counter as queues, so its deduplication window and
//       its archive are stored like theirs, distinguished only by the number.
//   T2. Only the record is stored; settings, window, archive and subscriptions are rebuilt.

import { SNS_MESSAGE_BYTES_DEFAULT } from "../../../core/limits.ts";
import { type DurationMs, days, type EpochMs } from "../../../core/units.ts";
import { DedupWindow } from "../sqs/dedup-window.ts";
import { type PartialDeliveryPolicy, parseTopicDeliveryPolicy } from "./delivery-policy.ts";
import type { Subscription } from "./subscription.ts";
import { TopicArchive } from "./topic-archive.ts";
import type { SignatureVersion } from "./topic-operations-contract.ts";

export interface TopicRecord {
  readonly number: number;
  readonly name: string;
  readonly createdAt: EpochMs;
  readonly attributes: Readonly<Record<string, string>>;
  readonly tags: Readonly<Record<string, string>>;
  /** How many subscriptions were deleted so far, for GetTopicAttributes. */
  readonly subscriptionsDeleted: number;
  /** When the archive was switched on, or null while it is off. */
  readonly archivedSince: EpochMs | null;
}

export interface TopicSettings {
  readonly contentBasedDedup: boolean;
  readonly dedupPerGroup: boolean;
  readonly messageBytesMax: number;
  readonly signatureVersion: SignatureVersion;
  readonly delivery: PartialDeliveryPolicy | null;
  /** How long published messages are kept for replays, or null if they are not. */
  readonly archiveMs: DurationMs | null;
}

export class Topic {
  record: TopicRecord;
  settings: TopicSettings;
  readonly fifo: boolean;
  readonly dedup = new DedupWindow();
  readonly archive = new TopicArchive();
  /** By id, in the order of creation: copies are sent in this order. */
  readonly subscriptions = new Map<string, Subscription>();
  /** Copies that were dropped since the start. */
  dropped = 0;

  constructor(record: TopicRecord) {
    this.record = record;
    this.settings = topicSettings(record.attributes);
    this.fifo = record.attributes.FifoTopic === "true";
  }

  /** Replaces the record and derives the settings from it. */
  update(record: TopicRecord): void {
    this.record = record;
    this.settings = topicSettings(record.attributes);
  }
}

/** Reads attributes that were validated when they were set. */
function topicSettings(attributes: Readonly<Record<string, string>>): TopicSettings {
  const { DeliveryPolicy: delivery, ArchivePolicy: archive } = attributes;
  const parsed = delivery === undefined ? null : parseTopicDeliveryPolicy(delivery);
  return {
    contentBasedDedup: attributes.ContentBasedDeduplication === "true",
    dedupPerGroup: attributes.FifoThroughputScope === "MessageGroup",
    messageBytesMax: Number(attributes.MaximumMessageSize ?? SNS_MESSAGE_BYTES_DEFAULT),
    signatureVersion: attributes.SignatureVersion === "2" ? "2" : "1",
    delivery: parsed?.ok ? parsed.value : null,
    archiveMs: archive === undefined ? null : days(archiveDays(archive) ?? 0),
  };
}

/** The retention of an ArchivePolicy in days; null if it is invalid. */
export function archiveDays(policy: string): number | null {
  try {
    const { MessageRetentionPeriod: period } = JSON.parse(policy) as Record<string, unknown>;
    const count = typeof period === "string" && /^\d{1,4}$/.test(period) ? Number(period) : period;
    return typeof count === "number" && Number.isInteger(count) ? count : null;
  } catch {
    return null;
  }
}
