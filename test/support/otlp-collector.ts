// OTLP collector: a real OTLP/HTTP listener that keeps what it receives, or misbehaves on request.

import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

interface Value {
  readonly stringValue?: string;
  readonly intValue?: number | string;
  readonly doubleValue?: number;
}
interface Attribute {
  readonly key: string;
  readonly value: Value;
}

/** A span as OTLP/JSON has it, with its attributes as an object. */
export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly links: readonly { traceId: string; spanId: string; attributes: object }[];
  readonly status: { readonly code?: number };
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** A data point of a metric, with its attributes as an object. */
export interface ReceivedPoint {
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly asDouble?: number;
  readonly count?: number;
  readonly explicitBounds?: readonly number[];
}

/** One that is busy answers 503, after which exporters try again. */
export type CollectorMood = "accepts" | "hangs" | "fails" | "is busy";

const STATUS = { accepts: 200, hangs: 0, fails: 500, "is busy": 503 };

export interface OtlpCollector extends AsyncDisposable {
  readonly url: string;
  mood: CollectorMood;
  /** Requests so far, accepted or not. */
  readonly requests: { readonly path: string; readonly body: unknown }[];
  spans(): ReceivedSpan[];
  /** The points of a metric in the newest export. */
  points(name: string): ReceivedPoint[];
  /** The attributes of the resource, from the newest export of any signal. */
  resource(): Record<string, unknown>;
}

export async function startOtlpCollector(): Promise<OtlpCollector> {
  const requests: { path: string; body: Record<string, never> }[] = [];
  const held: ServerResponse[] = [];
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      requests.push({ path: request.url ?? "", body: JSON.parse(String(Buffer.concat(parts))) });
      if (collector.mood === "hangs") held.push(response);
      else response.writeHead(STATUS[collector.mood]).end("{}");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const of = (path: string) => requests.filter((each) => each.path === path);
  const collector: OtlpCollector = {
    url: `http://127.0.0.1:${port}`,
    mood: "accepts",
    requests,
    spans: () => of("/v1/traces").flatMap(({ body }) => spansIn(body)),
    points: (name) => pointsIn(of("/v1/metrics").at(-1)?.body ?? {}, name),
    resource: () => resourceIn(requests.at(-1)?.body ?? {}),
    async [Symbol.asyncDispose]() {
      for (const response of held) response.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return collector;
}

// biome-ignore lint/suspicious/noExplicitAny: JSON of a protocol, read as it arrives.
type Json = any;

function spansIn(body: Json): ReceivedSpan[] {
  const scopes = (body.resourceSpans ?? []).flatMap((each: Json) => each.scopeSpans ?? []);
  return scopes
    .flatMap((scope: Json) => scope.spans ?? [])
    .map((span: Json) => ({
      ...span,
      attributes: objectOf(span.attributes),
      links: (span.links ?? []).map((link: Json) => {
        return { ...link, attributes: objectOf(link.attributes) };
      }),
    }));
}

function pointsIn(body: Json, name: string): ReceivedPoint[] {
  const scopes = (body.resourceMetrics ?? []).flatMap((each: Json) => each.scopeMetrics ?? []);
  const metrics = scopes.flatMap((scope: Json) => scope.metrics ?? []);
  return metrics
    .filter((metric: Json) => metric.name === name)
    .flatMap((metric: Json) => (metric.sum ?? metric.gauge ?? metric.histogram).dataPoints)
    .map((point: Json) => ({ ...point, attributes: objectOf(point.attributes) }));
}

function resourceIn(body: Json): Record<string, unknown> {
  const [first] = body.resourceSpans ?? body.resourceMetrics ?? [];
  return objectOf(first?.resource?.attributes);
}

function objectOf(attributes: readonly Attribute[] = []): Record<string, unknown> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [
      key,
      value.stringValue ?? value.doubleValue ?? Number(value.intValue),
    ]),
  );
}
