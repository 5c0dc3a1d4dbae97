// Event facts: what the functions `eventTime` and `partition` of a pipeline get. They run before
// the record is claimed, so nothing is validated and no content is read.
//   E1. Reading metadata or tags costs a request to S3, so it happens only if a function asks.

import type { MessageEnvelope } from "../../core/events/envelope.ts";
import type { ObjectEvent } from "../../core/events/object-event.ts";
import type { EpochMs } from "../../core/units.ts";
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

/** What `eventTime` and `partition` get, by the pipeline's source. */
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
