// Metric registry: the metric values of one process, by metric and labels.
//   R1. It stores only metrics that a table declares, with exactly the declared labels and finite
//       values. Everything else is a caller's mistake: reported to `misuse`, and dropped.
//   R2. Updating an existing series without a trace allocates nothing: it is found by walking from
//       label to label, without building a key.
//   R3. Memory is bounded: a metric has at most SERIES_MAX series. Later ones share one series
//       whose labels are all "other".

import { assert } from "../core/assert.ts";
import { parseTraceparent, type TraceContext } from "../core/events/trace-context.ts";
import type { EpochMs } from "../core/units.ts";
import type { Labels, MetricDefinition, MetricTable } from "../ports/telemetry.ts";

/** Series per metric (R3). */
export const SERIES_MAX = 1_000;
const OVERFLOW = "other";
const NO_LABELS: Labels = {};
const NEVER = 0 as EpochMs;

/** The values of one metric under one set of label values. */
export interface Series {
  /** In the order of the definition's labels. */
  readonly labelValues: readonly string[];
  /** A counter's total, a gauge's value, or the sum of a histogram's observations. */
  value: number;
  /** Upper bounds of all buckets except the last; empty unless it is a histogram. */
  readonly bounds: readonly number[];
  /** Observations per bucket, the one up to infinity last. */
  readonly buckets: number[];
  /** The newest traced value of each bucket; absent until there is one. */
  exemplars?: (Exemplar | undefined)[];
}

/** A value and the span that it belongs to. */
export interface Exemplar {
  readonly traceId: string;
  readonly spanId: string;
  readonly value: number;
  readonly at: EpochMs;
}

export interface MetricFamily {
  readonly definition: MetricDefinition;
  readonly series: readonly Series[];
}

export interface MetricRegistry {
  count(name: string, by: number, labels?: Labels): void;
  record(name: string, value: number, labels?: Labels, trace?: TraceContext | null): void;
  gauge(name: string, value: number, labels?: Labels): void;
  /** In the order of the tables; series in the order of their first update. */
  families(): readonly MetricFamily[];
}

/** A step of the walk from label to label, which ends at a series (R2). */
type Node = Map<string, Node> | Series;

interface Family extends MetricFamily {
  root: Node;
  readonly series: Series[];
}

export function createMetricRegistry(
  tables: readonly MetricTable[],
  misuse: (message: string) => void,
  now: () => EpochMs = () => NEVER,
): MetricRegistry {
  const families = new Map<string, Family>();
  for (const definition of tables.flatMap((table) => Object.values(table))) {
    assert(!families.has(definition.name), `metric ${definition.name} is declared twice`);
    families.set(definition.name, open(definition));
  }

  /** The series to write to, or undefined after a mistake (R1). */
  function seriesOf(name: string, kind: MetricDefinition["kind"], value: number, labels: Labels) {
    const family = families.get(name);
    if (family === undefined || family.definition.kind !== kind) {
      misuse(`unknown ${kind} ${name}`);
      return undefined;
    }
    if (!Number.isFinite(value) || (kind === "counter" && value < 0)) {
      misuse(`invalid value ${value} for the ${kind} ${name}`);
      return undefined;
    }
    const series = find(family, labels);
    if (series === undefined) {
      const names = family.definition.labels.join(", ");
      const expected = names === "" ? "none" : `${names}, each a string`;
      misuse(`wrong labels (${Object.keys(labels)}) for ${name}; expected ${expected}`);
    }
    return series;
  }

  return {
    count(name, by, labels = NO_LABELS) {
      const series = seriesOf(name, "counter", by, labels);
      if (series !== undefined) series.value += by;
    },
    record(name, value, labels = NO_LABELS, trace = null) {
      const series = seriesOf(name, "histogram", value, labels);
      if (series === undefined) return;
      series.value += value;
      const { bounds } = series;
      let at = 0;
      while (at < bounds.length && value > (bounds[at] as number)) at++;
      series.buckets[at] = (series.buckets[at] ?? 0) + 1;
      if (trace !== null) keepExemplar(series, at, value, trace, now());
    },
    gauge(name, value, labels = NO_LABELS) {
      const series = seriesOf(name, "gauge", value, labels);
      if (series !== undefined) series.value = value;
    },
    families: () => [...families.values()],
  };
}

/** Only sampled traces can be looked up. */
function keepExemplar(
  series: Series,
  bucket: number,
  value: number,
  trace: TraceContext,
  at: EpochMs,
): void {
  const parent = parseTraceparent(trace.traceparent);
  if (parent === null || (parent.flags & 1) === 0) return;
  const { traceId, spanId } = parent;
  series.exemplars ??= [];
  series.exemplars[bucket] = { traceId, spanId, value, at };
}

/** A metric without labels has its one series from the start, at zero. */
function open(definition: MetricDefinition): Family {
  const { name, labels, kind, buckets = [] } = definition;
  const ascending = buckets.every((bound, at) => at === 0 || bound > (buckets[at - 1] ?? 0));
  assert(
    (kind === "histogram") === buckets.length > 0,
    `${name} has buckets if and only if it is a histogram`,
  );
  assert(ascending, `the buckets of ${name} ascend`);
  if (labels.length > 0) return { definition, root: new Map(), series: [] };
  const series = newSeries(definition, []);
  return { definition, root: series, series: [series] };
}

function newSeries({ kind, buckets = [] }: MetricDefinition, labelValues: string[]): Series {
  const empty = kind === "histogram" ? [...buckets, 0].map(() => 0) : [];
  return { labelValues, value: 0, bounds: buckets, buckets: empty };
}

/** Undefined if the labels are not those of the definition. */
function find(family: Family, given: Labels): Series | undefined {
  const { labels } = family.definition;
  let count = 0;
  for (const _ in given) count++;
  if (count !== labels.length) return undefined;
  let node: Node | undefined = family.root;
  for (let at = 0; at < labels.length; at++) {
    const value = given[labels[at] as string];
    if (typeof value !== "string") return undefined;
    node = (node as Map<string, Node>).get(value);
    if (node === undefined) return add(family, given);
  }
  return node as Series;
}

function add(family: Family, given: Labels): Series | undefined {
  const { labels } = family.definition;
  const values: string[] = [];
  for (const label of labels) {
    const value = given[label];
    if (typeof value !== "string") return undefined;
    values.push(value);
  }
  const full = family.series.length >= SERIES_MAX;
  return insert(family, full ? labels.map(() => OVERFLOW) : values); // R3
}

function insert(family: Family, values: string[]): Series {
  const last = values.length - 1;
  let node = family.root as Map<string, Node>;
  for (const value of values.slice(0, last)) {
    let next = node.get(value);
    if (next === undefined) {
      next = new Map();
      node.set(value, next);
    }
    node = next as Map<string, Node>;
  }
  const name = values[last] ?? "";
  const existing = node.get(name);
  if (existing !== undefined) return existing as Series; // The overflow series.
  const series = newSeries(family.definition, values);
  node.set(name, series);
  family.series.push(series);
  return series;
}
