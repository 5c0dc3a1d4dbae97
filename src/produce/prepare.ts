// Prepare: from an event to the row that an outbox keeps, or to the reason why it must not leave.
//   P1. Nothing volatile enters the body; trace context travels in attributes.
//   P2. The digest that tells a replay from a reused key is that of the real payload, also when a
//       claim check stands in for it.
//   P3. Trace context takes what room is left, and never changes what is sent: not the body, not
//       whether a claim check stands in for the payload, not whether the event is refused.

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
import { type Checked, describeProblems, invalidAt } from "../core/events/problem.ts";
import { injectTrace, type TraceContext } from "../core/events/trace-context.ts";
import { SQS_ATTRIBUTE_NAME_CHARACTERS_MAX, SQS_MESSAGE_ATTRIBUTES_MAX } from "../core/limits.ts";
import type { OutboxEntry } from "../ports/outbox.ts";
import type { ClaimCheckLocation, PayloadObject } from "./claim-check.ts";
import type { GroupStrategy } from "./group-strategy.ts";
import type { Target } from "./target.ts";

/** An event as a producer takes it. */
export interface EventInput extends EnvelopeInput {
  /** The trace that the event belongs to; travels beside the body, and is no part of the event. */
  readonly trace?: TraceContext | null;
}

/** What travels beside the body and has no part in the event's identity (P1). */
export interface SendContext {
  /** As it is to be sent; stands before the event's own `trace`. */
  readonly traceparent?: string;
  readonly tracestate?: string;
  /** For routing and filters; the contract's identity is never among them. */
  readonly attributes?: Readonly<Record<string, string>>;
}

export interface Prepared {
  readonly entry: OutboxEntry;
  readonly bytes: number;
  /** To be put before the message leaves. */
  readonly object: PayloadObject | null;
}

export interface PrepareOptions {
  readonly target: Target;
  readonly groups: GroupStrategy | null;
  /** Where payloads over the limit go; null refuses them. */
  readonly claimCheck: ClaimCheckLocation | null;
}

/** Builds the row of an event, or says what is wrong with it. */
export function prepare(
  event: EventInput,
  context: SendContext,
  options: PrepareOptions,
): Checked<Prepared> {
  if (event === null || typeof event !== "object") return invalidAt("", "is no event");
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

interface Sized {
  readonly body: string;
  readonly object: PayloadObject | null;
}

/** The message as it is, or with its payload in a bucket if that is too big. */
function sizeOf(
  event: EnvelopeInput,
  { body }: BuiltEnvelope,
  attributes: Readonly<Record<string, string>>,
  { target, claimCheck }: PrepareOptions,
): Checked<Sized> {
  const { messageBytesMax } = target.limits;
  const bytes = messageBytes(body, attributes);
  if (bytes <= messageBytesMax) return { kind: "valid", value: { body, object: null } };
  const tooBig = `has ${bytes} bytes; ${target.name} takes ${messageBytesMax}`;
  if (claimCheck === null)
    return invalidAt("", `${tooBig}, and there is no bucket for the payload`);
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
      return invalidAt("", `has an attribute that cannot be called ${JSON.stringify(name)}`);
    }
    if (typeof value !== "string" || value === "" || hasInvalidXmlCharacter(value)) {
      return invalidAt("", `has the attribute ${name}, whose value is no text SQS takes`);
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

function traceOf(event: EventInput, context: SendContext): Readonly<Record<string, string>> {
  return context.traceparent === undefined
    ? injectTrace(event.trace).attributes
    : headersOf(context);
}

/** The attributes, with as much of the trace as there is room for (P3). */
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

/** Tells a producer's caller why an event was refused. */
export function violation(checked: Extract<Checked<never>, { kind: "invalid" }>): TidegateError {
  const message = `the event breaks the contract: ${describeProblems(checked.problems)}`;
  return new TidegateError("TG_VALUE_INVALID", message);
}
