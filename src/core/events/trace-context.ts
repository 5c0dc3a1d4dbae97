// Trace context: the trace that a message belongs to, in the formats of W3C and X-Ray.
//   X1. Nothing throws. A malformed value counts as absent, and the next source is tried.
//   X2. Sources in order: the attribute traceparent (with tracestate), the same in SNS envelopes,
//       the system attribute AWSTraceHeader, an id in the event itself. The last one is an id
//       without a span: it names the trace, but no span can continue it.
//   X3. Written as at most two attributes, and never into the body, whose bytes queues deduplicate
//       by. On SQS also as AWSTraceHeader, which AWS services read; it does not count towards the
//       message size.
//   X4. A context returned by this file is well-formed and of version 00.

import type { JsonObject } from "../encoding/canonical-json.ts";
import type { SnsLayer } from "./decode/sns-envelope.ts";
import { asObject, memberOf } from "./problem.ts";

/** A W3C trace context, as in message attributes. */
export interface TraceContext {
  readonly traceparent: string;
  readonly tracestate: string | null;
}

/** The parts of a traceparent. */
export interface TraceParent {
  /** 32 lower-case hex digits, not all zero. */
  readonly traceId: string;
  /** 16 lower-case hex digits, not all zero. */
  readonly spanId: string;
  /** Bit 0: sampled. */
  readonly flags: number;
}

export const TRACEPARENT = "traceparent";
export const TRACESTATE = "tracestate";

const FLAG_SAMPLED = 1;
const HEADER_CHARACTERS_MAX = 1_024;
const TRACESTATE_CHARACTERS_MAX = 512;
const TRACESTATE_MEMBERS_MAX = 32;

const PARENT =
  /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** Null for a malformed traceparent. Versions above 00 are read as version 00. */
export function parseTraceparent(text: string): TraceParent | null {
  if (text.length > HEADER_CHARACTERS_MAX) return null;
  const [, version, traceId, spanId, flags, more] = PARENT.exec(text) ?? [];
  if (version === undefined || traceId === undefined || spanId === undefined) return null;
  if (version === "00" && more !== undefined) return null;
  const bits = Number.parseInt(flags ?? "", 16);
  // In later versions only this bit is sure to keep its meaning.
  return { traceId, spanId, flags: version === "00" ? bits : bits & FLAG_SAMPLED };
}

export function formatTraceparent({ traceId, spanId, flags }: TraceParent): string {
  return `00-${traceId}-${spanId}-${flags.toString(16).padStart(2, "0")}`;
}

const STATE_KEY =
  /^(?:[a-z][a-z0-9_*/-]{0,255}|[a-z0-9][a-z0-9_*/-]{0,240}@[a-z][a-z0-9_*/-]{0,13})$/;
const STATE_VALUE = /^[ -+\--<>-~]{0,255}[!-+\--<>-~]$/;

/** The normalised list, without its last members if it is too long; null if it is invalid. */
export function readTracestate(text: string): string | null {
  if (text.length > HEADER_CHARACTERS_MAX) return null;
  const members = new Map<string, string>();
  for (const member of text.split(",").map((part) => part.replace(/^[ \t]+|[ \t]+$/g, ""))) {
    if (member === "") continue;
    const equals = member.indexOf("=");
    const key = member.slice(0, Math.max(0, equals));
    if (!STATE_KEY.test(key) || !STATE_VALUE.test(member.slice(equals + 1))) return null;
    if (members.has(key)) return null;
    members.set(key, member);
  }
  if (members.size === 0 || members.size > TRACESTATE_MEMBERS_MAX) return null;
  const list = [...members.values()];
  while (list.join(",").length > TRACESTATE_CHARACTERS_MAX) list.pop();
  return list.length === 0 ? null : list.join(",");
}

/**
 * The context of two headers; null if the first is malformed. A malformed second is omitted (X1).
 */
export function readTraceContext(
  traceparent: string | null | undefined,
  tracestate?: string | null,
): TraceContext | null {
  const parent = typeof traceparent === "string" ? parseTraceparent(traceparent) : null;
  if (parent === null) return null;
  const state = typeof tracestate === "string" ? readTracestate(tracestate) : null;
  return { traceparent: formatTraceparent(parent), tracestate: state }; // X4
}

export function traceIdOf(context: TraceContext): string | null {
  return parseTraceparent(context.traceparent)?.traceId ?? null;
}

export interface ExtractedTrace {
  /** What a span continues, or links to. */
  readonly context: TraceContext | null;
  /** For logs and attributes; may be known without a context (X2). */
  readonly traceId: string | null;
}

export interface TraceSources {
  readonly attributes: Readonly<Record<string, string>>;
  /** Outermost first, as `decodeBody` returns them; the innermost is the publisher's own. */
  readonly layers: readonly SnsLayer[];
  /** The system attribute AWSTraceHeader. */
  readonly traceHeader: string | null;
  /** The trace_id of the event itself. */
  readonly traceId?: string | null;
}

/** The trace of a delivery, from its best source (X2). */
export function extractTrace(sources: TraceSources): ExtractedTrace {
  const { attributes, layers, traceHeader, traceId = null } = sources;
  const context =
    readTraceContext(ownText(attributes, TRACEPARENT), ownText(attributes, TRACESTATE)) ??
    layers.reduceRight<TraceContext | null>((context, layer) => context ?? contextOf(layer), null);
  if (context !== null) return { context, traceId: traceIdOf(context) };
  const header = traceHeader === null ? null : parseTraceHeader(traceHeader);
  if (header !== null) return header;
  return { context: null, traceId: traceId !== null && TRACE_ID.test(traceId) ? traceId : null };
}

const TRACE_ID = /^(?!0{32})[0-9a-f]{32}$/;
const SPAN_ID = /^(?!0{16})[0-9a-f]{16}$/;
const XRAY_ROOT = /^1-([0-9a-f]{8})-([0-9a-f]{24})$/;

/** Reads an X-Ray header, "Root=1-…;Parent=…;Sampled=1"; without a parent it is only an id. */
export function parseTraceHeader(header: string): ExtractedTrace | null {
  if (header.length > HEADER_CHARACTERS_MAX) return null;
  const fields = new Map<string, string>();
  for (const field of header.split(";")) {
    const [name = "", value = ""] = field.split("=", 2);
    fields.set(name.trim().toLowerCase(), value.trim());
  }
  const [, epoch = "", rest = ""] = XRAY_ROOT.exec(fields.get("root")?.toLowerCase() ?? "") ?? [];
  const traceId = epoch + rest;
  if (!TRACE_ID.test(traceId)) return null;
  const spanId = fields.get("parent")?.toLowerCase() ?? "";
  if (!SPAN_ID.test(spanId)) return { context: null, traceId };
  const flags = fields.get("sampled") === "1" ? FLAG_SAMPLED : 0;
  const traceparent = formatTraceparent({ traceId, spanId, flags });
  return { context: { traceparent, tracestate: null }, traceId };
}

/** The same context for AWS services; null if it is malformed. */
export function formatTraceHeader(context: TraceContext): string | null {
  const parent = parseTraceparent(context.traceparent);
  if (parent === null) return null;
  const { traceId, spanId, flags } = parent;
  const root = `1-${traceId.slice(0, 8)}-${traceId.slice(8)}`;
  return `Root=${root};Parent=${spanId};Sampled=${flags & FLAG_SAMPLED}`;
}

/** The attributes for `context` (X3); none if it is absent or malformed. */
export function injectTrace(context: TraceContext | null | undefined): {
  readonly attributes: Readonly<Record<string, string>>;
} {
  const read = readTraceContext(context?.traceparent, context?.tracestate);
  if (read === null) return { attributes: {} };
  const { traceparent, tracestate } = read;
  return { attributes: { traceparent, ...(tracestate !== null && { tracestate }) } };
}

/** The value of the system attribute AWSTraceHeader for the context in the attributes. */
export function traceHeaderOf(attributes: Readonly<Record<string, string>>): string | null {
  const context = readTraceContext(ownText(attributes, TRACEPARENT));
  return context === null ? null : formatTraceHeader(context);
}

function contextOf({ attributes }: SnsLayer): TraceContext | null {
  return readTraceContext(layerText(attributes, TRACEPARENT), layerText(attributes, TRACESTATE));
}

function layerText(attributes: JsonObject, name: string): string | null {
  const value = memberOf(asObject(memberOf(attributes, name)), "Value");
  return typeof value === "string" ? value : null;
}

function ownText(attributes: Readonly<Record<string, string>>, name: string): string | null {
  const value = Object.hasOwn(attributes, name) ? attributes[name] : null;
  return typeof value === "string" ? value : null;
}
