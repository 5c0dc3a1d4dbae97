// Event facts: the `eventTime` of a pipeline, and what its functions `of` and `partition` get. They
// run before the record is claimed, so nothing is validated and no content is read.
//   E1. Reading metadata or tags costs a request to S3, so it happens only if a function asks.

import type { MessageEnvelope } from "../../core/events/envelope.ts";
import type { ObjectEvent } from "../../core/events/object-event.ts";
import type { DurationMs, EpochMs } from "../../core/units.ts";
import type { OwnMessageInput, OwnSource } from "./own-source.ts";

/** The message that carried an event. */
export interface MessageFacts {
  /** The message group; null without one. */
  readonly group: string | null;
  readonly attributes: Readonly<Record<string, string>>;
  /** When the message was sent, in milliseconds since 1970. */
  readonly sentAt: EpochMs;
  readonly messageId: string;
}

/** The event of an object. */
export interface ObjectEventFacts {
  readonly object: ObjectEvent;
  readonly message: MessageFacts;
  /** The object's own metadata, by lower-case name. One request (E1). */
  metadata(): Promise<Readonly<Record<string, string>>>;
  /** The tags that the object has now. Two requests (E1). */
  tags(): Promise<Readonly<Record<string, string>>>;
}

/** The message of a producer; its payload is not validated yet. */
export interface EnvelopeEventFacts {
  readonly envelope: MessageEnvelope;
  readonly message: MessageFacts;
}

/** What `eventTime.of` and `eventTime.partition` get, by the pipeline's source. */
export type FactsOf<S> = S extends { readonly bucket: string } | { readonly contents: "objects" }
  ? ObjectEventFacts
  : S extends OwnSource<infer _D, infer In, infer _Out>
    ? OwnMessageInput<In>
    : EnvelopeEventFacts;

/** Any of them, as the runtime builds it. */
export type EventFacts = ObjectEventFacts | EnvelopeEventFacts | OwnMessageInput<unknown>;

/** RFC 3339 text, milliseconds since 1970 or a Date; null or undefined for the default. */
export type EventTimeValue = string | number | Date | null | undefined;

/** What happens to a record that is too late. */
export type LatePolicy = "process" | "hold" | { readonly queue: string };

/** When events happen, how far out of order they arrive, and what happens to late ones. */
export interface EventTimeSpec<Facts = EventFacts> {
  /**
   * When the event happened. Default: S3's event time, the `event_time` of an envelope, or the sent
   * time of an own message. Returning null or undefined means the default.
   */
  readonly of?: (event: Facts) => EventTimeValue | Promise<EventTimeValue>;
  /**
   * The stream with its own event time that the event belongs to. Default: the message group, else
   * the bucket and the first folder of the key, else the event source.
   */
  readonly partition?: (event: Facts) => string | number | null | undefined;
  /** How far out of order records may arrive before they are late. Default: 10 minutes. */
  readonly outOfOrderMs?: number;
  /**
   * How much older than the watermark a late record may be before it is too late. Default: 0 if
   * `late` is "hold" or a queue; otherwise no record is too late.
   */
  readonly allowedLatenessMs?: number;
  /**
   * What happens to a record that is too late: "process" runs the handler, "hold" keeps it in the
   * ledger until it is released, `{ queue }` sends it to that queue. Default: "process".
   */
  readonly late?: LatePolicy;
}

/** The event time of a validated pipeline. */
export interface EventTimeSettings {
  /** Null for the default event time. */
  readonly of: ((event: EventFacts) => unknown) | null;
  /** Null for the default partition. */
  readonly partition: ((event: EventFacts) => unknown) | null;
  readonly outOfOrderMs: DurationMs;
  /** Null: no record is too late. */
  readonly allowedLatenessMs: DurationMs | null;
  readonly late: LatePolicy;
}
