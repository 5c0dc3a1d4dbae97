// Prepare: turns an event into the row that an outbox stores, or into the reasons to reject it.
//   P1. Nothing volatile enters the body; trace context is sent in attributes.
//   P2. The digest that tells a replay from a reused key is that of the real payload, even if a
//       claim check replaces it.
//   P3. Trace context uses the remaining space only. It never changes the body, nor whether a claim
//       check replaces the payload, nor whether the event is rejected.

import type { JsonValue } from "../core/encoding/canonical-json.ts";
import { sha256Hex } from "../core/encoding/hash.ts";
import { messageBytes } from "../core/encoding/message-size.ts";
import { hasInvalidXmlCharacter } from "../core/encoding/text.ts";
import { reasonOf, TidegateError } from "../core/errors.ts";
import { mentionsClaimCheck, writeClaimCheck } from "../core/events/claim-check.ts";
import {
  type BuiltEnvelope,
  buildEnvelope,
  type EnvelopeInput,
  envelopeKey,
  payloadDigest,
} from "../core/events/envelope.ts";
import { checkOwnKey, ownIdentity } from "../core/events/own-message.ts";
import { asObject, type Checked, describeProblems, invalidAt } from "../core/events/problem.ts";
import { injectTrace, type TraceContext } from "../core/events/trace-context.ts";
import { SQS_ATTRIBUTE_NAME_CHARACTERS_MAX, SQS_MESSAGE_ATTRIBUTES_MAX } from "../core/limits.ts";
import type { OutboxEntry } from "../ports/outbox.ts";
import type { ClaimCheckLocation, PayloadObject } from "./claim-check.ts";
import type { GroupStrategy } from "./group-strategy.ts";
import type { Target } from "./target.ts";

/** An event to send: its identity and payload, and the trace it belongs to. */
export interface EventInput extends EnvelopeInput {
  /** The trace of the event; sent in attributes, and not part of its identity. */
  readonly trace?: TraceContext | null;
}

/** Sent in attributes, and not part of the event's identity (P1). */
export interface SendContext {
  /** Overrides the event's own `trace`. */
  readonly traceparent?: string;
  readonly tracestate?: string;
  /** For routing and filters; never part of the identity. */
  readonly attributes?: Readonly<Record<string, string>>;
}

/**
 * A message in your own format. Its key is the one that `source.key` of the consuming pipeline
 * returns for the body.
 */
export interface OwnMessage {
  /** The business key: two messages with one key are duplicates, whatever their bodies. */
  readonly key: string | number;
  /** A text is sent as it is, anything else as JSON. */
  readonly body: JsonValue;
  /** The trace of the message; sent in attributes. */
  readonly trace?: TraceContext | null;
}

export interface Prepared {
  readonly entry: OutboxEntry;
  readonly bytes: number;
  /** To be stored before the message is sent. */
  readonly object: PayloadObject | null;
}

export interface PrepareOptions {
  readonly target: Target;
  /** The pipeline that consumes own messages; null rejects them. */
  readonly pipeline?: string | null;
  readonly groups: GroupStrategy | null;
  /** Where payloads over the limit go; null rejects them. */
  readonly claimCheck: ClaimCheckLocation | null;
}

/** Builds the row of an event or an own message, or returns its problems. */
export function prepare(
  event: EventInput | OwnMessage,
  context: SendContext,
  options: PrepareOptions,
): Checked<Prepared> {
  if (event === null || typeof event !== "object") return invalidAt("", "is not an event");
  return isOwnMessage(event)
    ? prepareOwn(event, context, options)
    : prepareEvent(event, context, options);
}

function prepareEvent(
  event: EventInput,
  context: SendContext,
  options: PrepareOptions,
): Checked<Prepared> {
  const built = buildEnvelope(event);
  if (built.kind === "invalid") return built;
  if (mentionsClaimCheck(event.payload)) return invalidAt("/payload", "uses a reserved name");
  const attributes = attributesOf(context);
  if (attributes.kind === "invalid") return attributes;
  const group = groupOf(event, options.groups);
  if (group.kind === "invalid") return group;
  const sized = sizeOf(event, built.value, attributes.value, options);
  if (sized.kind === "invalid") return sized;
  const { body, object } = sized.value;
  const { messageBytesMax } = options.target.limits;
  const traced = withTrace(attributes.value, traceOf(event, context), body, messageBytesMax);
  const entry = {
    key: envelopeKey(event.source, event.dedupeKey),
    groupId: group.value,
    dedupId: built.value.dedupId,
    payloadDigest: payloadDigest(event.payload), // P2
    body,
    attributes: traced,
  };
  const bytes = messageBytes(body, traced);
  return { kind: "valid", value: { entry, bytes, object } };
}

/** Events have a payload, own messages a body. */
export function isOwnMessage(event: EventInput | OwnMessage): event is OwnMessage {
  return "body" in event;
}

/** Builds the row of an own message. Its key alone is its identity (U3 of own-message.ts). */
function prepareOwn(
  message: OwnMessage,
  context: SendContext,
  { target, groups, pipeline = null }: PrepareOptions,
): Checked<Prepared> {
  if (pipeline === null)
    return invalidAt("", "is an own message, and the producer has no pipeline");
  const checked = checkOwnKey(message.key);
  if (checked.kind === "invalid") return invalidAt("/key", `is ${checked.actual}`);
  const { key } = checked;
  const body = textOf(message.body);
  if (body.kind === "invalid") return body;
  const attributes = attributesOf(context);
  if (attributes.kind === "invalid") return attributes;
  const group = groupOf(asEvent(pipeline, key, message.body), groups);
  if (group.kind === "invalid") return group;
  const bytes = messageBytes(body.value, attributes.value);
  const { messageBytesMax } = target.limits;
  if (bytes > messageBytesMax) {
    return invalidAt("", `has ${bytes} bytes; ${target.name} accepts ${messageBytesMax}`);
  }
  const trace = traceOf(message, context);
  const traced = withTrace(attributes.value, trace, body.value, messageBytesMax);
  const entry = {
    key: ownIdentity(pipeline, "body", key),
    groupId: group.value,
    dedupId: DEDUP_ID.test(key) ? key : `h:${sha256Hex(key)}`,
    payloadDigest: sha256Hex(key),
    body: body.value,
    attributes: traced,
  };
  return { kind: "valid", value: { entry, bytes: messageBytes(body.value, traced), object: null } };
}

/** A key that SQS accepts as a MessageDeduplicationId; "h:" is reserved for hashed keys. */
const DEDUP_ID = /^(?!h:)[!-~]{1,128}$/;

function textOf(body: JsonValue): Checked<string> {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  if (typeof text !== "string" || text === "") return invalidAt("/body", "is empty");
  if (!hasInvalidXmlCharacter(text)) return { kind: "valid", value: text };
  return invalidAt("/body", "contains a character that SQS rejects");
}

/** What a group strategy gets for an own message: its key, and its body as the payload. */
function asEvent(pipeline: string, key: string, body: JsonValue): EnvelopeInput {
  return { source: pipeline, dedupeKey: key, eventTime: 0, payload: asObject(body) ?? {} };
}

interface Sized {
  readonly body: string;
  readonly object: PayloadObject | null;
}

/** The message as it is, or with its payload in a bucket if it is too large. */
function sizeOf(
  event: EnvelopeInput,
  { body }: BuiltEnvelope,
  attributes: Readonly<Record<string, string>>,
  { target, claimCheck }: PrepareOptions,
): Checked<Sized> {
  const { messageBytesMax } = target.limits;
  const bytes = messageBytes(body, attributes);
  if (bytes <= messageBytesMax) return { kind: "valid", value: { body, object: null } };
  const tooBig = `has ${bytes} bytes; ${target.name} accepts ${messageBytesMax}`;
  if (claimCheck === null)
    return invalidAt("", `${tooBig}, and no bucket is configured for its payload`);
  const { bucket, prefix = "" } = claimCheck;
  const eventKey = envelopeKey(event.source, event.dedupeKey);
  const written = writeClaimCheck({ bucket, prefix, eventKey }, event.payload);
  const light = buildEnvelope({ ...event, payload: written.payload });
  if (light.kind === "invalid") return light;
  const lightBytes = messageBytes(light.value.body, attributes);
  if (lightBytes > messageBytesMax) return invalidAt("", `${tooBig}, even without its payload`);
  const object = { check: written.check, bytes: written.bytes };
  return { kind: "valid", value: { body: light.value.body, object } };
}

function groupOf(event: EnvelopeInput, groups: GroupStrategy | null): Checked<string | null> {
  if (groups === null) return { kind: "valid", value: null };
  try {
    return { kind: "valid", value: groups(event) };
  } catch (error) {
    return invalidAt("", `has no group: ${reasonOf(error)}`);
  }
}

const NAME = /^(?!aws\.|amazon\.)[\w-]+(?:\.[\w-]+)*$/i;

function attributesOf(context: SendContext): Checked<Record<string, string>> {
  const own = { ...context.attributes };
  if (Object.keys(own).length > SQS_MESSAGE_ATTRIBUTES_MAX) {
    return invalidAt("", `has more than ${SQS_MESSAGE_ATTRIBUTES_MAX} attributes`);
  }
  for (const [name, value] of Object.entries({ ...own, ...headersOf(context) })) {
    if (!NAME.test(name) || name.length > SQS_ATTRIBUTE_NAME_CHARACTERS_MAX) {
      return invalidAt("", `has an attribute with the invalid name ${JSON.stringify(name)}`);
    }
    if (typeof value !== "string" || value === "" || hasInvalidXmlCharacter(value)) {
      return invalidAt("", `has the attribute ${name} with a value that SQS does not accept`);
    }
  }
  return { kind: "valid", value: own };
}

function headersOf({ traceparent, tracestate }: SendContext): Record<string, string> {
  return {
    ...(traceparent !== undefined && { traceparent }),
    ...(tracestate !== undefined && { tracestate }),
  };
}

function traceOf(
  event: Pick<EventInput, "trace">,
  context: SendContext,
): Readonly<Record<string, string>> {
  return context.traceparent === undefined
    ? injectTrace(event.trace).attributes
    : headersOf(context);
}

/** The attributes, with as much of the trace as fits (P3). */
function withTrace(
  own: Readonly<Record<string, string>>,
  trace: Readonly<Record<string, string>>,
  body: string,
  messageBytesMax: number,
): Readonly<Record<string, string>> {
  let attributes = own;
  for (const [name, value] of Object.entries(trace)) {
    const more = { ...attributes, [name]: value };
    const tooMany = Object.keys(more).length > SQS_MESSAGE_ATTRIBUTES_MAX;
    if (tooMany || messageBytes(body, more) > messageBytesMax) break;
    attributes = more;
  }
  return attributes;
}

export function violation(checked: Extract<Checked<never>, { kind: "invalid" }>): TidegateError {
  const message = `the event breaks the contract: ${describeProblems(checked.problems)}`;
  return new TidegateError("TG_VALUE_INVALID", message);
}
