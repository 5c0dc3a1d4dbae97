// OTLP export: sends spans and metrics to a collector over HTTP, as the OTEL_* variables say.
//   X1. SDK and exporters are optional peers, loaded only if a variable asks for an export. Without
//       them, one sentence names the packages, and the process runs on without export.
//   X2. Nothing here blocks, throws or grows: spans wait in a bounded queue, metrics are sent one
//       export at a time, and everything that does not arrive is counted as lost.
//   X3. Closing sends what waits, for at most CLOSE_MS. After that no request starts any more, and
//       sockets do not keep the process alive. An exporter that waits to try again does, but only
//       until then: at most five seconds, its longest backoff.
//   X4. A process that has registered an SDK of its own keeps it: spans go there, and only there.

import type { Agent } from "node:http";
import type { ResourceMetrics } from "@opentelemetry/sdk-metrics";
import type { ReadableSpan, SpanExporter } from "@opentelemetry/sdk-trace-base";
import type { EpochMs } from "../core/units.ts";
import type { Clock } from "../ports/clock.ts";
import type { MetricFamily } from "./metric-registry.ts";
import { otlpMetrics } from "./otlp-metrics.ts";
import { type OtelVariables, type OtlpSettings, readOtlpSettings } from "./otlp-settings.ts";
import { loadTracing, PASSING_ON, type Tracing } from "./tracing.ts";

/** A registry whose values are exported. */
export interface MetricSource {
  /** Attributes of its instrumentation scope, such as the pipeline. */
  readonly scope: Readonly<Record<string, string>>;
  families(): readonly MetricFamily[];
  /** Spans, or exports of metrics, were lost. */
  onLost(signal: "traces" | "metrics", count: number): void;
}

/** An export that runs until it is closed. */
export interface OtlpExport extends AsyncDisposable {
  /** Starts spans that are exported. */
  readonly tracing: Tracing;
  /** Exports the values of a source from now on; returns a function that stops it. */
  collect(source: MetricSource): () => void;
  /** Sends what waits; resolves when the collector has answered, or after a limited time. */
  flush(): Promise<void>;
  /** Sends what waits, and stops (X3). */
  close(): Promise<void>;
}

export interface OtlpOptions {
  /** Default: process.env, where the exporters read their own settings in any case. */
  readonly env?: OtelVariables;
  readonly clock: Clock;
  /** Names the service if OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES do not. */
  readonly serviceName: string;
  readonly version?: string | undefined;
  /** Receives sentences about values that are not followed and packages that are missing. */
  readonly onProblem: (sentence: string) => void;
}

/** How long closing and flushing wait for a collector (X3). */
const CLOSE_MS = 2_000;
/** The default of the SDK; OTEL_BSP_MAX_QUEUE_SIZE changes it. */
const SPANS_WAITING_MAX = 2_048;
const SCOPE = "tidegate";

/** Null if no variable asks for an export, or if its packages are missing (X1). */
export async function openOtlpExport(options: OtlpOptions): Promise<OtlpExport | null> {
  const { env = process.env } = options;
  const settings = readOtlpSettings(env);
  for (const problem of settings.problems) options.onProblem(problem);
  if (!settings.traces && !settings.metrics) return null;
  try {
    const packages = await loadPackages(settings);
    return new RunningExport({ ...options, env }, settings, packages);
  } catch (error) {
    options.onProblem(describe(error)); // X1, X2
    return null;
  }
}

function describe(error: unknown): string {
  const { code, message } = error as { readonly code?: unknown; readonly message?: unknown };
  const missing = /'(@opentelemetry\/[\w-]+)'/.exec(String(message))?.[1];
  if (code === "ERR_MODULE_NOT_FOUND" && missing !== undefined) {
    const install = `npm install ${PACKAGES.join(" ")}`;
    return `${missing} is not installed, so no telemetry is exported; run ${install}`;
  }
  return `telemetry cannot be exported: ${String(message)}`;
}

const PACKAGES = [
  "@opentelemetry/api",
  "@opentelemetry/resources",
  "@opentelemetry/sdk-trace-base",
  "@opentelemetry/sdk-metrics",
  "@opentelemetry/exporter-trace-otlp-http",
  "@opentelemetry/exporter-metrics-otlp-http",
];

/** X1 */
async function loadPackages({ traces, metrics }: OtlpSettings) {
  const [api, resources] = await Promise.all([
    import("@opentelemetry/api"),
    import("@opentelemetry/resources"),
  ]);
  const forTraces = traces && {
    ...(await import("@opentelemetry/sdk-trace-base")),
    ...(await import("@opentelemetry/exporter-trace-otlp-http")),
  };
  const forMetrics = metrics && {
    ...(await import("@opentelemetry/sdk-metrics")),
    ...(await import("@opentelemetry/exporter-metrics-otlp-http")),
  };
  const tracing = traces ? await loadTracing(SCOPE) : PASSING_ON;
  return { api, resources, forTraces, forMetrics, tracing };
}

type Packages = Awaited<ReturnType<typeof loadPackages>>;
type MetricExporter = InstanceType<
  typeof import("@opentelemetry/exporter-metrics-otlp-http").OTLPMetricExporter
>;

class RunningExport implements OtlpExport {
  readonly tracing: Tracing;
  readonly #clock: Clock;
  readonly #packages: Packages;
  readonly #resource: ResourceMetrics["resource"];
  readonly #sources = new Set<MetricSource>();
  readonly #startedAt: EpochMs;
  readonly #metricExporter: MetricExporter | null;
  readonly #timer: NodeJS.Timeout | null;
  /** Sends all waiting spans; null if they are not exported here. */
  #flushSpans: (() => Promise<void>) | null = null;
  /** Ends exports that the collector does not answer; their timers would delay the exit. */
  #abandonSpans: (() => void) | null = null;
  readonly #agents = new Set<Agent>();
  #exporting: Promise<void> | null = null;
  #closing: Promise<void> | null = null;
  /** Whether no request may start any more (X3). */
  #closed = false;

  constructor(
    options: OtlpOptions & { env: OtelVariables },
    settings: OtlpSettings,
    packages: Packages,
  ) {
    const { clock, serviceName, version } = options;
    const { resources, forMetrics } = packages;
    this.#clock = clock;
    this.#startedAt = clock.now();
    this.#packages = packages;
    this.tracing = packages.tracing;
    const own = { "service.name": serviceName, ...(version && { "service.version": version }) };
    const detected = resources.detectResources({ detectors: [resources.envDetector] });
    this.#resource = resources.resourceFromAttributes(own).merge(detected);
    this.#metricExporter = forMetrics ? new forMetrics.OTLPMetricExporter(this.#transport()) : null;
    this.#timer = forMetrics
      ? setInterval(() => void this.#exportMetrics(), settings.metricsEveryMs).unref()
      : null;
    this.#register(spansWaitingMax(options.env));
  }

  collect(source: MetricSource): () => void {
    this.#sources.add(source);
    return () => this.#sources.delete(source);
  }

  async flush(): Promise<void> {
    await within(CLOSE_MS, Promise.all([this.#flushSpans?.(), this.#flushMetrics()]));
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    await this.flush();
    this.#closed = true; // X3
    for (const agent of this.#agents) closeFreeSockets(agent); // A retry would use one.
    this.#abandonSpans?.();
    if (this.#exporting !== null) this.#lost("metrics", 1); // It never arrives (X2).
    if (this.#flushSpans !== null) this.#packages.api.trace.disable();
    this.#sources.clear();
  }

  /** Registers a provider, unless the process has one (X4). */
  #register(waitingMax: number): void {
    const { api, forTraces } = this.#packages;
    if (!forTraces) return;
    const { BasicTracerProvider, BatchSpanProcessor, OTLPTraceExporter } = forTraces;
    const exporter = countedExporter(new OTLPTraceExporter(this.#transport()), (count) =>
      this.#lost("traces", count),
    );
    const processor = new BatchSpanProcessor(exporter);
    const onEnd = processor.onEnd.bind(processor);
    processor.onEnd = (span) => {
      // The processor drops spans silently when its queue is full (X2).
      if (span.spanContext().traceFlags & 1 && exporter.waiting() >= waitingMax) {
        this.#lost("traces", 1);
        return;
      }
      exporter.onEnd(span);
      onEnd(span);
    };
    const provider = new BasicTracerProvider({
      resource: this.#resource,
      spanProcessors: [processor],
    });
    if (!api.trace.setGlobalTracerProvider(provider)) return; // X4
    this.#abandonSpans = exporter.abandon;
    this.#flushSpans = () => processor.forceFlush().catch(() => undefined);
  }

  /** Sends the newest values, after an export that is in flight. */
  async #flushMetrics(): Promise<void> {
    await this.#exporting;
    await this.#exportMetrics();
  }

  /** Sends one export of all sources; skips it if the previous one is still in flight (X2). */
  #exportMetrics(): Promise<void> {
    const exporter = this.#metricExporter;
    if (exporter === null || this.#sources.size === 0) return Promise.resolve();
    if (this.#exporting !== null) {
      this.#lost("metrics", 1);
      return Promise.resolve();
    }
    const sent = new Promise<void>((resolve) => {
      try {
        exporter.export(this.#collected(), ({ code }) => {
          if (code !== 0) this.#lost("metrics", 1);
          resolve();
        });
      } catch {
        this.#lost("metrics", 1);
        resolve();
      }
    });
    this.#exporting = sent.finally(() => {
      this.#exporting = null;
    });
    return this.#exporting;
  }

  #collected(): ResourceMetrics {
    const { forMetrics } = this.#packages;
    const span = { startedAt: this.#startedAt, now: this.#clock.now() };
    return {
      resource: this.#resource,
      scopeMetrics: [...this.#sources].map((source) => ({
        scope: { name: SCOPE, attributes: { ...source.scope } },
        metrics: forMetrics ? otlpMetrics(source.families(), span, forMetrics) : [],
      })),
    };
  }

  #lost(signal: "traces" | "metrics", count: number): void {
    for (const source of this.#sources) source.onLost(signal, count);
  }

  /** Options of an exporter whose sockets do not keep the process alive (X3). */
  #transport() {
    const httpAgentOptions = async (protocol: string): Promise<Agent> => {
      const http = protocol === "https:" ? await import("node:https") : await import("node:http");
      const agent: Agent = new http.Agent({ keepAlive: true });
      this.#agents.add(agent);
      const connect = agent.createConnection.bind(agent);
      agent.createConnection = (settings, onConnected) => {
        if (this.#closed) throw new Error("the export is closed");
        const socket = connect(settings, onConnected);
        if (socket !== null && socket !== undefined && "unref" in socket) {
          (socket as { unref(): unknown }).unref();
        }
        return socket;
      };
      return agent;
    };
    return { httpAgentOptions };
  }
}

function closeFreeSockets({ freeSockets }: Agent): void {
  for (const socket of Object.values(freeSockets).flat()) socket?.destroy();
}

function spansWaitingMax({ OTEL_BSP_MAX_QUEUE_SIZE: text = "" }: OtelVariables): number {
  const size = Number(text);
  return text !== "" && Number.isInteger(size) && size > 0 ? size : SPANS_WAITING_MAX;
}

interface CountedExporter extends SpanExporter {
  onEnd(span: ReadableSpan): void;
  /** Fails every export that is still in flight, and counts the spans that wait as lost. */
  abandon(): void;
  /** Spans that ended and were not handed to the exporter yet. */
  waiting(): number;
}

/** Counts spans that the collector does not accept, and those that wait. */
function countedExporter(exporter: SpanExporter, onLost: (count: number) => void): CountedExporter {
  let waiting = 0;
  const inFlight = new Set<(result: { code: number; error?: Error }) => void>();
  return {
    waiting: () => waiting,
    abandon() {
      if (waiting > 0) onLost(waiting);
      waiting = 0;
      for (const end of inFlight) end({ code: 1 });
    },
    onEnd(span) {
      if (span.spanContext().traceFlags & 1) waiting += 1;
    },
    export(spans, done) {
      waiting = Math.max(0, waiting - spans.length);
      const end = (result: { code: number; error?: Error }) => {
        if (!inFlight.delete(end)) return; // Abandoned before.
        if (result.code !== 0) onLost(spans.length);
        done(result);
      };
      inFlight.add(end);
      try {
        exporter.export(spans, end);
      } catch (error) {
        end({ code: 1, ...(error instanceof Error && { error }) });
      }
    },
    shutdown: () => exporter.shutdown(),
    forceFlush: async () => exporter.forceFlush?.(),
  };
}

/** Resolves when `ended` does, or when the time is up; never rejects. */
async function within(limitMs: number, ended: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, limitMs);
  });
  await Promise.race([ended.catch(() => undefined), limit]);
  clearTimeout(timer);
}
