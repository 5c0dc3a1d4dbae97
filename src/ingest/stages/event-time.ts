// Event time: finds the event time and the partition of a record, before it is claimed.
//   T1. Nothing that the user's functions do escapes. A function that throws, rejects, returns
//       anything but an instant or takes longer than EVENT_TIME_MS_MAX fails the attempt; the
//       record is then retried or dead-lettered like any other.
//   T2. Null or undefined means the default. The default is never used for a wrong value: the
//       record would be processed under a time that is not its own, and no one would notice.
//   T3. The object is asked for metadata and tags once per record, and only if a function asks.
//   T4. A record whose object is gone keeps the default: the handler finds out, and `onMissing`
//       decides.
//   T5. A partition only steers the watermark. If its function fails, the default counts and the
//       error is logged; the record is processed. A masked value never becomes a name.
//   T6. A replay keeps the event time and the partition that the ledger recorded: the functions are
//       not called, so other tags or another version of them do not move a record in time.

import { unreachable } from "../../core/assert.ts";
import { sha256Hex } from "../../core/encoding/hash.ts";
import type { Mask } from "../../core/encoding/mask.ts";
import { TidegateError } from "../../core/errors.ts";
import type { ObjectEvent } from "../../core/events/object-event.ts";
import { type DurationMs, type EpochMs, seconds } from "../../core/units.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ObjectSource, OpenedObject } from "../../ports/objects/object-source.ts";
import type { Delivery } from "../../ports/queue-receiver.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import { isTidegateAttribute } from "../dead-letters/dead-letter.ts";
import { isOf } from "../policy/error-facts.ts";
import { messageOf } from "../policy/error-text.ts";
import { readEventTime } from "../policy/event-time.ts";
import type { InFlightDelivery } from "../running/in-flight-delivery.ts";
import type { Pipeline } from "../spec/define-pipeline.ts";
import type { EventFacts, MessageFacts, ObjectEventFacts } from "../spec/event-facts.ts";
import { PermanentError } from "../spec/handler-errors.ts";
import type { RecordMask } from "../telemetry/record-mask.ts";
import { observedObjects } from "../telemetry/record-spans.ts";
import { beginAttempt, DeadlinePassed } from "./attempt.ts";
import { createDeadlines } from "./deadlines.ts";
import type { WorkRecord } from "./decode.ts";
import { ObjectGone } from "./read-event.ts";

/** How long `eventTime` may take, reads of metadata and tags included (T1). */
export const EVENT_TIME_MS_MAX: DurationMs = seconds(30);
/** The longest partition name; longer ones are hashed. */
export const PARTITION_CHARS_MAX = 96;
const HASH_CHARS = 32;
/** The class of a wrong event time; it is not retried. */
export const EVENT_TIME_CLASS = "event-time";

/** A record with its event time. */
export interface TimedRecord {
  readonly record: WorkRecord & { readonly partition: string };
  /** What `eventTime` failed with (T1); null if it did not. */
  readonly failure: { readonly error: unknown } | null;
}

export interface EventTimes {
  /** Resolves immediately unless the pipeline has functions of its own. Never rejects. */
  resolve(record: WorkRecord, inFlight: InFlightDelivery): TimedRecord | Promise<TimedRecord>;
  close(): void;
}

/** Where a record stood in event time when it was first processed. */
export interface RecordedTime {
  readonly eventTime: EpochMs;
  readonly partition: string;
}

/** Event times that were recorded before, as in a replay (T6). */
export function recordedEventTimes(
  times: EventTimes,
  timeOf: (record: WorkRecord) => RecordedTime | null,
): EventTimes {
  return {
    resolve(record, inFlight) {
      const recorded = timeOf(record);
      if (recorded === null) return times.resolve(record, inFlight);
      const { eventTime, partition } = recorded;
      return { record: { ...record, eventTime, partition }, failure: null };
    },
    close: () => times.close(),
  };
}

interface EventTimePorts {
  readonly clock: Clock;
  readonly objects: ObjectSource | null;
  readonly telemetry: Telemetry;
  readonly mask: Mask;
  readonly masked: RecordMask;
}

export function createEventTimes(
  ports: EventTimePorts,
  { pipeline, queue }: { readonly pipeline: Pipeline; readonly queue: string },
): EventTimes {
  const deadlines = createDeadlines(ports.clock, EVENT_TIME_MS_MAX);
  const tooLong = () => new DeadlinePassed(`eventTime.of took longer than ${EVENT_TIME_MS_MAX} ms`);
  const partitionOf = createPartitions(ports, pipeline, queue);
  const isPlain = pipeline.eventTime.of === null && pipeline.eventTime.partition === null;

  async function resolve(record: WorkRecord, inFlight: InFlightDelivery): Promise<TimedRecord> {
    const attempt = beginAttempt(inFlight, deadlines, tooLong);
    const objects = observedObjects(ports, ports.objects, record);
    const facts = recordFacts(objects, record, inFlight.delivery, attempt.signal);
    const partition = partitionOf(record, inFlight.delivery, facts);
    const timed = { record: { ...record, partition }, failure: null };
    const { of } = pipeline.eventTime;
    if (facts === null || of === null) {
      attempt.close([]);
      return timed;
    }
    let at = record.eventTime;
    try {
      await attempt.run(async () => {
        const read = readEventTime(await of(facts));
        if (read.kind === "invalid") throw wrong(`eventTime.of returned ${read.reason}`);
        if (read.kind === "instant") at = read.at;
      });
      return { ...timed, record: { ...record, partition, eventTime: at } };
    } catch (error) {
      if (isOf(error, ObjectGone)) return timed; // T4
      return { ...timed, failure: { error } }; // T1
    } finally {
      attempt.close([]);
    }
  }

  return {
    resolve(record, inFlight) {
      if (!isPlain && record.content.kind !== "unusable") return resolve(record, inFlight);
      const partition = partitionOf(record, inFlight.delivery, null);
      return { record: { ...record, partition }, failure: null };
    },
    close: () => deadlines.close(),
  };
}

function wrong(message: string): PermanentError {
  return new PermanentError(message, { class: EVENT_TIME_CLASS }); // T2
}

type PartitionOf = (record: WorkRecord, delivery: Delivery, facts: EventFacts | null) => string;

function createPartitions(
  { telemetry, mask, masked }: EventTimePorts,
  { eventTime: { partition }, mask: paths }: Pipeline,
  queue: string,
): PartitionOf {
  const called = (record: WorkRecord, facts: EventFacts): string | null => {
    try {
      const value = partition?.(facts) ?? null;
      if (typeof value === "string" || typeof value === "number" || value === null) {
        return value === null ? null : String(value);
      }
      if (value instanceof Promise) value.catch(() => undefined);
      throw new TypeError("partition returned neither a string nor a number");
    } catch (error) {
      const reason = messageOf(error, (text) => mask.text(text, masked.secretsOf(record)));
      telemetry.log("warn", "partition failed; the default partition counts", { reason }); // T5
      return null;
    }
  };
  return (record, delivery, facts) => {
    const own = facts === null ? null : called(record, facts);
    const name = own ?? defaultPartition(record, delivery, queue);
    if (paths.length === 0) return partitionName(name);
    const shown = mask.text(name, masked.secretsOf(record));
    return partitionName(shown === name ? name : `masked ${hashed(name)}`); // T5
  };
}

/** The message group, else the bucket and first folder, else the event source, else the queue. */
function defaultPartition({ content }: WorkRecord, { groupId }: Delivery, queue: string): string {
  if (groupId !== null) return groupId;
  switch (content.kind) {
    case "object": {
      const { bucket, key } = content.event;
      const folder = key.includes("/") ? key.slice(0, key.indexOf("/") + 1) : "";
      return `${bucket}/${folder}`;
    }
    case "message":
      return content.envelope.event_source;
    case "own":
    case "unusable":
      return queue;
    default:
      return unreachable(content);
  }
}

/** A name that every store accepts, short enough for PARTITIONS_MAX of them in one note. */
export function partitionName(name: string): string {
  const isShort = name !== "" && JSON.stringify(name).length - 2 <= PARTITION_CHARS_MAX;
  return isShort ? name.toWellFormed() : hashed(name);
}

function hashed(name: string): string {
  return sha256Hex(name).slice(0, HASH_CHARS);
}

/** What the pipeline's functions get of a record; null for one that cannot be read (T3, T4). */
export function recordFacts(
  objects: ObjectSource | null,
  { content }: WorkRecord,
  delivery: Delivery,
  signal: AbortSignal,
): EventFacts | null {
  const message = messageFacts(delivery);
  switch (content.kind) {
    case "object":
      return objectFacts(objects, content.event, message, signal);
    case "message":
      return { envelope: content.envelope, message };
    case "own":
      return content.input;
    case "unusable":
      return null;
    default:
      return unreachable(content);
  }
}

function messageFacts({ groupId: group, attributes, sentAt, messageId }: Delivery): MessageFacts {
  const own = Object.entries(attributes).filter(([name]) => !isTidegateAttribute(name));
  return { group, attributes: Object.fromEntries(own), sentAt, messageId };
}

function objectFacts(
  objects: ObjectSource | null,
  object: ObjectEvent,
  message: MessageFacts,
  signal: AbortSignal,
): ObjectEventFacts {
  const { bucket, key, version_id: versionId, etag } = object;
  let opening: Promise<Extract<OpenedObject, { kind: "opened" }>> | null = null;
  const open = () => {
    opening ??= openOnce(); // T3
    return opening;
  };
  const openOnce = async () => {
    if (objects === null) {
      throw new TidegateError("TG_CONFIG_INVALID", "metadata and tags need an object source");
    }
    const opened = await objects.open({ bucket, key, versionId, etag }, signal);
    if (opened.kind === "opened") return opened;
    throw new ObjectGone({ bucket, key, versionId, etag }, opened.kind, `is ${opened.kind}`);
  };
  return {
    object,
    message,
    metadata: async () => (await open()).metadata,
    tags: async () => (await open()).tags(),
  };
}
