// Tracing: spans through OpenTelemetry, if it is installed.
//   G1. @opentelemetry/api is an optional peer, loaded when tracing is requested. Without it, or
//       without an SDK behind it, nothing is recorded and contexts pass through unchanged: the
//       context of a span is its parent's.
//   G2. Nothing throws: a failing SDK costs its span, and nothing else.

import type { TraceContext } from "../core/events/trace-context.ts";
import { parseTraceparent, readTraceContext } from "../core/events/trace-context.ts";
import type { Labels, Span, SpanEnd, SpanOptions } from "../ports/telemetry.ts";

type OpenTelemetry = typeof import("@opentelemetry/api");
type SpanContext = import("@opentelemetry/api").SpanContext;
type Tracer = import("@opentelemetry/api").Tracer;
type RecordedSpan = import("@opentelemetry/api").Span;

/** Starts spans; made by `loadTracing`. */
export interface Tracing {
  /** Starts a span; the caller must end it. */
  span(name: string, options: SpanOptions): Span;
}

/** Spans that record nothing and pass on their parent's context (G1). */
export const PASSING_ON: Tracing = {
  span: (_name, { parent = null }) => ({ context: parent, link() {}, end() {} }),
};

/**
 * Returns spans of the SDK that the process has registered, if any. Name and version are the
 * instrumentation scope of OpenTelemetry.
 */
export async function loadTracing(scope: string, version?: string): Promise<Tracing> {
  try {
    return createTracing(await import("@opentelemetry/api"), scope, version);
  } catch (error) {
    if ((error as { code?: unknown }).code === "ERR_MODULE_NOT_FOUND") return PASSING_ON; // G1
    throw error;
  }
}

function createTracing(api: OpenTelemetry, scope: string, version: string | undefined): Tracing {
  // A proxy: it also finds an SDK that is registered later.
  const tracer = api.trace.getTracer(scope, version);
  return {
    span(name, options) {
      const parent = options.parent ?? null;
      try {
        const span = startSpan(api, tracer, name, options);
        return {
          context: contextOf(api, span) ?? parent,
          link: (context, attributes) => linkSpan(api, span, context, attributes),
          end: (how) => endSpan(api, span, how),
        };
      } catch {
        return PASSING_ON.span(name, options); // G2
      }
    },
  };
}

function startSpan(
  api: OpenTelemetry,
  tracer: Tracer,
  name: string,
  { kind, parent, links, attributes, startedAt }: SpanOptions,
): RecordedSpan {
  const from = parent == null ? null : spanContextOf(api, parent);
  const context =
    from === null ? api.ROOT_CONTEXT : api.trace.setSpanContext(api.ROOT_CONTEXT, from);
  const options = {
    kind: {
      producer: api.SpanKind.PRODUCER,
      consumer: api.SpanKind.CONSUMER,
      client: api.SpanKind.CLIENT,
      internal: api.SpanKind.INTERNAL,
    }[kind],
    links: (links ?? []).flatMap((link) => {
      const linked = spanContextOf(api, link.context);
      return linked === null ? [] : [{ context: linked, attributes: { ...link.attributes } }];
    }),
    attributes: { ...attributes },
    ...(startedAt !== undefined && { startTime: startedAt }),
  };
  return tracer.startSpan(name, options, context);
}

function linkSpan(
  api: OpenTelemetry,
  span: RecordedSpan,
  to: TraceContext,
  attributes: Labels = {},
): void {
  try {
    const context = spanContextOf(api, to);
    if (context !== null) span.addLink({ context, attributes: { ...attributes } });
  } catch {
    // G2: the span stays without this link.
  }
}

function endSpan(api: OpenTelemetry, span: RecordedSpan, how: SpanEnd = {}): void {
  try {
    if (how.attributes !== undefined) span.setAttributes({ ...how.attributes });
    if (how.errorType !== undefined) {
      span.setAttribute("error.type", how.errorType);
      span.setStatus({ code: api.SpanStatusCode.ERROR, message: how.errorType });
    }
    span.end();
  } catch {
    // G2: the work of the span is done.
  }
}

function spanContextOf(api: OpenTelemetry, context: TraceContext): SpanContext | null {
  const parent = parseTraceparent(context.traceparent);
  if (parent === null) return null;
  const { traceId, spanId, flags: traceFlags } = parent;
  const state = context.tracestate === null ? {} : { traceState: stateOf(api, context.tracestate) };
  return { traceId, spanId, traceFlags, isRemote: true, ...state };
}

const stateOf = (api: OpenTelemetry, tracestate: string) => api.createTraceState(tracestate);

/** Null without an SDK and without a parent. */
function contextOf(api: OpenTelemetry, span: RecordedSpan): TraceContext | null {
  const context = span.spanContext();
  if (!api.isSpanContextValid(context)) return null;
  const flags = context.traceFlags.toString(16).padStart(2, "0");
  return readTraceContext(
    `00-${context.traceId}-${context.spanId}-${flags}`,
    context.traceState?.serialize() ?? null,
  );
}
