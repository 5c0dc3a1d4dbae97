import { context, trace } from "@opentelemetry/api";
import {
  AlwaysOffSampler,
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  type SpanExporter,
} from "@opentelemetry/sdk-trace-base";
import { afterEach, describe, expect, test } from "vitest";
import { parseTraceparent } from "../core/events/trace-context.ts";
import { loadTracing, PASSING_ON } from "./tracing.ts";

const ID = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";
const parent = { traceparent: `00-${ID}-${SPAN}-01`, tracestate: "vendor=1" };
const other = { traceparent: `00-${"a".repeat(32)}-${"b".repeat(16)}-01`, tracestate: null };

afterEach(() => {
  trace.disable();
  context.disable();
});

function register(exporter: SpanExporter = new InMemorySpanExporter()): InMemorySpanExporter {
  const spanProcessors = [new SimpleSpanProcessor(exporter)];
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors }));
  return exporter as InMemorySpanExporter;
}

describe("without an SDK", () => {
  test("a span passes on its parent's context, and has none without a parent", async () => {
    for (const tracing of [await loadTracing("test"), PASSING_ON]) {
      const span = tracing.span("process q", { kind: "consumer", parent });
      expect(span.context).toEqual(parent);
      span.end({ errorType: "x" });
      expect(tracing.span("process q", { kind: "consumer" }).context).toBeNull();
    }
  });
});

describe("with an SDK", () => {
  test("a span continues its parent's trace, and has kind, attributes and links", async () => {
    const exporter = register();
    const tracing = await loadTracing("tidegate", "1.2.3");
    const span = tracing.span("process orders", {
      kind: "consumer",
      parent,
      attributes: { "messaging.system": "aws_sqs", n: 2 },
      links: [
        { context: other, attributes: { "messaging.message.id": "m" } },
        { context: { traceparent: "nonsense", tracestate: null } },
      ],
    });
    expect(span.context?.traceparent).toMatch(new RegExp(`^00-${ID}-(?!${SPAN})\\w{16}-01$`));
    expect(span.context?.tracestate).toBe("vendor=1");
    expect(exporter.getFinishedSpans()).toEqual([]);
    span.end();
    const [recorded] = exporter.getFinishedSpans();
    expect(recorded).toMatchObject({
      name: "process orders",
      kind: 4,
      attributes: { "messaging.system": "aws_sqs", n: 2 },
      parentSpanContext: { traceId: ID, spanId: SPAN, isRemote: true },
      instrumentationScope: { name: "tidegate", version: "1.2.3" },
      status: { code: 0 },
    });
    expect(recorded?.links).toMatchObject([
      { context: { traceId: "a".repeat(32) }, attributes: { "messaging.message.id": "m" } },
    ]);
  });

  test("a span without a parent starts a trace, and ignores the ambient context", async () => {
    register();
    const tracing = await loadTracing("test");
    const first = tracing.span("send q", { kind: "producer" }).context;
    const second = tracing.span("send q", { kind: "producer", parent: null }).context;
    const idOf = (context: typeof first) => parseTraceparent(context?.traceparent ?? "")?.traceId;
    expect(idOf(first)).toMatch(/^\w{32}$/);
    expect(idOf(second)).not.toBe(idOf(first));
  });

  test("an SDK that is registered later is used", async () => {
    const tracing = await loadTracing("test");
    const exporter = register();
    tracing.span("receive q", { kind: "client" }).end();
    expect(exporter.getFinishedSpans()).toHaveLength(1);
  });

  test("a failed span has its error type and an error status", async () => {
    const exporter = register();
    const tracing = await loadTracing("test");
    tracing.span("process q", { kind: "internal" }).end({ errorType: "schema" });
    expect(exporter.getFinishedSpans()).toMatchObject([
      { attributes: { "error.type": "schema" }, status: { code: 2, message: "schema" } },
    ]);
  });

  test("an unsampled span has a context that says so", async () => {
    trace.setGlobalTracerProvider(new BasicTracerProvider({ sampler: new AlwaysOffSampler() }));
    const tracing = await loadTracing("test");
    const context = tracing.span("process q", { kind: "consumer", parent }).context;
    expect(context?.traceparent).toMatch(new RegExp(`^00-${ID}-\\w{16}-00$`));
  });

  test("a failing SDK costs its span, and nothing else (G2)", async () => {
    register({
      export() {
        throw new Error("no collector");
      },
      shutdown: async () => {},
    });
    const tracing = await loadTracing("test");
    expect(() => tracing.span("a", { kind: "client" }).end()).not.toThrow();
    trace.disable();
    const startSpan = () => {
      throw new Error("no span");
    };
    trace.setGlobalTracerProvider({
      getTracer: () => ({ startSpan, startActiveSpan: startSpan }),
    });
    const span = (await loadTracing("test")).span("a", { kind: "client", parent });
    expect(span.context).toEqual(parent);
    expect(() => span.end()).not.toThrow();
  });
});
