// Define pipeline: validates a pipeline spec and fills in its defaults.
//   P1. One error reports every problem of a spec, before anything is opened.
//   P2. Absent fields get the values of DEFAULTS, which docs/reference/configuration.md lists.

import type { CsvOptions } from "../../core/csv-format.ts";
import { refuseConfig, TidegateError } from "../../core/errors.ts";
import { isObject } from "../../core/is-object.ts";
import { RETENTION_DAYS_MAX } from "../../core/limits.ts";
import { tableProblems } from "../../core/table-spec.ts";
import { type DurationMs, durationMs, hours, minutes, seconds } from "../../core/units.ts";
import { checkScope } from "../../ledger/batches.ts";
import type { SinkFunction } from "../../ports/sink.ts";
import type { RetrySettings } from "../policy/retry.ts";
import { type ArchiveSettings, archiveOf, archiveProblems } from "./archive-fields.ts";
import { csvProblems } from "./csv-options.ts";
import type { EventFacts, EventTimeSettings } from "./event-facts.ts";
import { eventTimeOf, eventTimeProblems, OUT_OF_ORDER_MS_DEFAULT } from "./event-time-fields.ts";
import { type FrozenSpec, type FrozenValues, frozenOf, frozenProblems } from "./frozen-values.ts";
import {
  type DecodedBy,
  isOwnSource,
  isSchema,
  type OwnDecoding,
  type OwnMessageInput,
  ownDecoding,
  type TextForm,
  type WithoutOwnFields,
} from "./own-source.ts";
import type {
  BucketSource,
  ConcurrencySpec,
  HandlerContext,
  MessageInput,
  ObjectInput,
  OnRemoved,
  OwnPipelineSpec,
  PipelineSpec,
  QueueSource,
  ReadFormat,
  RemovedInput,
  RetrySpec,
  RowWithoutSchema,
  SourceSpec,
  TableSinkSpec,
  TablesSpec,
} from "./pipeline-spec.ts";
import { fieldProblems, unknownFields } from "./spec-fields.ts";
import type { StandardSchema } from "./standard-schema.ts";

export const DEFAULTS = {
  attempts: 7,
  baseMs: seconds(1),
  capMs: minutes(15),
  concurrency: 10,
  timeoutMs: minutes(15),
  visibilityMs: seconds(60),
  outOfOrderMs: OUT_OF_ORDER_MS_DEFAULT,
  ledgerDays: 45,
  logCommits: 1,
} as const;

/** SQS makes a message visible again twelve hours after its receive, whatever its renewals. */
export const TIMEOUT_MS_MAX: DurationMs = durationMs(hours(11) + minutes(30));
const ATTEMPTS_MAX = 100;
const CONCURRENCY_MAX = 10_000;
const VISIBILITY_MS_MIN = seconds(3);
const VISIBILITY_MS_MAX = hours(1);

export type HandlerEvent =
  | ObjectInput<unknown>
  | RemovedInput
  | MessageInput<unknown>
  | OwnMessageInput<unknown>;

export type { RetrySettings };

/** A validated pipeline, whatever its types were. */
export interface Pipeline {
  readonly kind: "tidegate-pipeline";
  readonly name: string;
  readonly generation: number;
  readonly source: {
    /** Null accepts objects of any bucket, or messages. */
    readonly bucket: string | null;
    readonly prefix: string;
    /** Null leaves the name to the caller who runs the pipeline. */
    readonly queue: string | null;
    readonly contents: "messages" | "objects";
    /** How to read messages in the user's own format; null for envelopes and S3 events. */
    readonly own: OwnDecoding | null;
  };
  readonly schema: StandardSchema<unknown> | null;
  readonly format: ReadFormat;
  readonly csv: CsvOptions;
  readonly retry: RetrySettings;
  readonly concurrency: {
    readonly total: number;
    readonly perKey: number | null;
    readonly key: ((event: HandlerEvent) => string) | null;
  };
  readonly timeoutMs: DurationMs;
  readonly visibilityMs: DurationMs;
  readonly eventTime: EventTimeSettings;
  readonly retention: {
    readonly ledgerDays: number;
    /** Null for the retention that the producer set. */
    readonly outboxDays: number | null;
  };
  readonly frozen: FrozenValues;
  readonly sink: TableSinkSpec | SinkFunction | null;
  readonly mask: readonly string[];
  /** Null: everything is allowed. The answer is checked where it is used. */
  readonly govern: ((event: EventFacts, row?: unknown) => unknown) | null;
  /** Null: bodies of messages are not kept. */
  readonly archive: ArchiveSettings | null;
  readonly onMissing: "dead-letter" | "drop" | "retry";
  readonly onRemoved: OnRemoved;
  readonly onBadRow: "fail" | "quarantine";
  readonly onPoison: "halt" | "skip";
  readonly lease: "auto" | "receipt" | "ledger";
  readonly logCommits: number;
  readonly handler: (event: HandlerEvent, context: HandlerContext) => Promise<void> | void;
  /** Effects in memory and per chunk. Only simulations set it, to stage records of a few rows. */
  readonly effectLimits?: { readonly memory: number; readonly chunk: number };
}

/** Defines a pipeline of messages in your own format: its source has a `key`. */
export function pipeline<
  const D extends TextForm = "json",
  In = DecodedBy<D>,
  Out = In,
  const T extends TablesSpec = Record<never, never>,
  Z extends FrozenSpec = Record<never, never>,
>(spec: OwnPipelineSpec<D, In, Out, T, Z>): Pipeline;
/** Defines a pipeline. A pipeline file exports the result as its default. */
export function pipeline<
  const S extends (BucketSource | QueueSource) & WithoutOwnFields,
  const F extends ReadFormat = "auto",
  Out = RowWithoutSchema<S, F>,
  const T extends TablesSpec = Record<never, never>,
  const R extends OnRemoved = "ignore",
  Z extends FrozenSpec = Record<never, never>,
>(spec: PipelineSpec<S, Out, T, F, R, Z>): Pipeline;
export function pipeline(given: object): Pipeline {
  const spec = given as PipelineSpec<SourceSpec, unknown, TablesSpec>;
  const problems = problemsOf(spec);
  if (problems.length > 0) {
    const name = typeof spec?.name === "string" ? ` "${spec.name}"` : "";
    const list = problems.map((problem) => `\n  - ${problem}`).join("");
    throw new TidegateError("TG_CONFIG_INVALID", `the pipeline${name} cannot run:${list}`);
  }
  return filledIn(spec);
}

/** The tables that a pipeline writes rows to. Missing tables are created at start. */
export function tables<const T extends TablesSpec>(
  specs: T,
  options: {
    readonly database?: string;
    readonly onReplaced?: "delete" | "keep";
  } = {},
): TableSinkSpec<T> {
  const { database = null, onReplaced = "delete", ...strays } = options;
  const [problem] = unknownFields("tables()", strays, { database, onReplaced });
  if (problem !== undefined) refuseConfig(problem);
  return { kind: "tables", tables: specs, database, onReplaced };
}

/**
 * A sink without tables: the handler writes with `sql()` of its context, in the transaction that
 * commits the record. Needs a ledger in SQLite or PostgreSQL.
 */
export function sql(): TableSinkSpec<Record<never, never>> {
  return { kind: "tables", tables: {}, database: null, onReplaced: "keep", onlySql: true };
}

function filledIn<S extends SourceSpec, Out, T extends TablesSpec>(
  spec: PipelineSpec<S, Out, T>,
): Pipeline {
  const { retry = {}, retention = {}, sink = null } = spec;
  return {
    kind: "tidegate-pipeline",
    name: spec.name,
    generation: spec.generation ?? 0,
    source: sourceOf(spec.source),
    schema: spec.schema ?? null,
    format: spec.format ?? "auto",
    csv: spec.csv ?? {},
    retry: {
      attempts: retry.attempts ?? DEFAULTS.attempts,
      baseMs: durationMs(retry.baseMs ?? DEFAULTS.baseMs),
      capMs: durationMs(retry.capMs ?? DEFAULTS.capMs),
      classify: retry.classify ?? null,
    },
    concurrency: concurrencyOf(spec.concurrency),
    timeoutMs: durationMs(spec.timeoutMs ?? DEFAULTS.timeoutMs),
    visibilityMs: durationMs(spec.visibilityMs ?? DEFAULTS.visibilityMs),
    eventTime: eventTimeOf(spec.eventTime),
    retention: {
      ledgerDays: retention.ledgerDays ?? DEFAULTS.ledgerDays,
      outboxDays: retention.outboxDays ?? null,
    },
    frozen: frozenOf(spec.frozen),
    sink: sink as Pipeline["sink"],
    mask: spec.mask ?? [],
    govern: (spec.govern ?? null) as Pipeline["govern"],
    archive: archiveOf(spec.name, spec.archive),
    onMissing: spec.onMissing ?? "dead-letter",
    onRemoved: spec.onRemoved ?? "ignore",
    onBadRow: spec.onBadRow ?? "fail",
    onPoison: spec.onPoison ?? "halt",
    lease: spec.lease ?? "auto",
    logCommits: spec.logCommits ?? DEFAULTS.logCommits,
    handler: spec.handler as unknown as Pipeline["handler"],
  };
}

function sourceOf(source: SourceSpec): Pipeline["source"] {
  if ("bucket" in source) {
    const { bucket, prefix = "", queue = null } = source;
    return { bucket, prefix, queue, contents: "objects", own: null };
  }
  const { queue } = source;
  const base = { bucket: null, prefix: "", queue } as const;
  if (isOwnSource(source)) return { ...base, contents: "messages", own: ownDecoding(source) };
  return { ...base, contents: source.contents ?? "messages", own: null };
}

function concurrencyOf<E>(spec: number | ConcurrencySpec<E> = {}): Pipeline["concurrency"] {
  if (typeof spec === "number") return { total: spec, perKey: null, key: null };
  const { total = DEFAULTS.concurrency, perKey, key = null } = spec;
  return { total, perKey: perKey ?? (key === null ? null : 1), key: key as never };
}

/** All problems of a spec, which may have been written without types (P1). */
function problemsOf(spec: PipelineSpec<SourceSpec, unknown, TablesSpec>): string[] {
  if (!isObject(spec)) return ["pipeline() takes an object"];
  const problems = fieldProblems(spec);
  const check = (holds: boolean, problem: string) => void (holds || problems.push(problem));
  check(hasGoodName(spec), "name must be 1 to 128 letters, digits, dots, hyphens or underscores");
  check(typeof spec.handler === "function", "handler must be a function");
  check(hasSource(spec.source), "source must name a bucket or a queue");
  const { schema, timeoutMs, visibilityMs, generation } = spec;
  const retry: RetrySpec = isObject(spec.retry) ? spec.retry : {};
  check(isSchema(schema), "schema must be of a Standard Schema library");
  const misplaced = schema !== undefined && isObject(spec.source) && "key" in spec.source;
  check(!misplaced, "schema must be in source, next to the key that reads the same body");
  check(within(retry.attempts, 1, ATTEMPTS_MAX), `retry.attempts must be 1 to ${ATTEMPTS_MAX}`);
  check(within(retry.baseMs, 0, TIMEOUT_MS_MAX), "retry.baseMs must be 0 or more");
  check(within(retry.capMs, 0, TIMEOUT_MS_MAX), `retry.capMs must be 0 to ${TIMEOUT_MS_MAX}`);
  check(within(timeoutMs, 1, TIMEOUT_MS_MAX), `timeoutMs must be 1 to ${TIMEOUT_MS_MAX}`);
  check(
    within(visibilityMs, VISIBILITY_MS_MIN, VISIBILITY_MS_MAX),
    `visibilityMs must be ${VISIBILITY_MS_MIN} to ${VISIBILITY_MS_MAX}`,
  );
  for (const name of ["ledgerDays", "outboxDays"] as const) {
    const days = spec.retention?.[name];
    const holds = within(days, 1, RETENTION_DAYS_MAX);
    check(holds, `retention.${name} must be 1 to ${RETENTION_DAYS_MAX}`);
  }
  const { logCommits = 1 } = spec;
  const isShare = typeof logCommits === "number" && logCommits >= 0 && logCommits <= 1;
  check(isShare, "logCommits must be a number from 0 to 1");
  check(within(generation, 0, Number.MAX_SAFE_INTEGER), "generation must be a whole number from 0");
  problems.push(...concurrencyProblems(spec.concurrency), ...choiceProblems(spec));
  const mask = spec.mask ?? [];
  const paths =
    Array.isArray(mask) && mask.every((path) => typeof path === "string" && path !== "");
  check(paths, 'mask must be a list of paths such as "payload.person.*"');
  const more = [
    ...eventTimeProblems(spec.eventTime, spec.source),
    ...frozenProblems(spec.frozen),
    ...csvProblems(spec.csv),
    ...sinkProblems(spec.sink),
    ...removalProblems(spec),
    ...badRowProblems(spec),
    ...archiveProblems(spec),
  ];
  return [...problems, ...more];
}

function hasGoodName({ name, generation = 0 }: { name: string; generation?: number }): boolean {
  try {
    checkScope({ pipeline: name, generation: Math.max(0, Math.trunc(generation) || 0) });
    return typeof name === "string";
  } catch {
    return false;
  }
}

function hasSource(source: SourceSpec | undefined): boolean {
  if (typeof source !== "object" || source === null) return false;
  const name = "bucket" in source ? source.bucket : source.queue;
  return typeof name === "string" && name !== "";
}

function within(value: number | undefined, min: number, max: number): boolean {
  if (value === undefined) return true;
  return Number.isSafeInteger(value) && value >= min && value <= max;
}

function concurrencyProblems<E>(spec: number | ConcurrencySpec<E> | undefined): string[] {
  if (spec === undefined) return [];
  if (typeof spec !== "number" && !isObject(spec)) {
    return ["concurrency must be a number or an object"];
  }
  const { total, perKey, key }: ConcurrencySpec<E> =
    typeof spec === "number" ? { total: spec } : spec;
  const problems: string[] = [];
  if (!within(total, 1, CONCURRENCY_MAX)) {
    problems.push(`concurrency must be 1 to ${CONCURRENCY_MAX}`);
  }
  if (!within(perKey, 1, CONCURRENCY_MAX)) problems.push("concurrency.perKey must be 1 or more");
  if (key !== undefined && typeof key !== "function") {
    problems.push("concurrency.key must be a function of the event");
  }
  if (perKey !== undefined && key === undefined) {
    problems.push(
      "concurrency.perKey needs concurrency.key; add the function that returns the key",
    );
  }
  return problems;
}

const CHOICES = {
  format: ["auto", "csv", "jsonl", "json", "parquet"],
  onMissing: ["dead-letter", "drop", "retry"],
  onRemoved: ["ignore", "delete-rows", "handle"],
  onBadRow: ["fail", "quarantine"],
  onPoison: ["halt", "skip"],
  lease: ["auto", "receipt", "ledger"],
} as const;

function choiceProblems(spec: PipelineSpec<SourceSpec, unknown, TablesSpec>): string[] {
  return Object.entries(CHOICES).flatMap(([name, choices]) => {
    const given = spec[name as keyof typeof CHOICES];
    const isChoice = given === undefined || (choices as readonly string[]).includes(given);
    if (isChoice) return [];
    return [`${name} must be ${choices.join(" or ")}, not ${JSON.stringify(given)}`];
  });
}

function removalProblems(spec: PipelineSpec<SourceSpec, unknown, TablesSpec>): string[] {
  const { onRemoved, sink, source } = spec;
  if (onRemoved === undefined || onRemoved === "ignore") return [];
  const ofObjects = isObject(source) && ("bucket" in source || source.contents === "objects");
  if (!ofObjects)
    return ["onRemoved applies to objects; remove it, or read the events of a bucket"];
  if (onRemoved !== "delete-rows" || typeof sink === "object") return [];
  return ['onRemoved "delete-rows" needs sink: tables({...}); use "handle" for other sinks'];
}

function badRowProblems(spec: PipelineSpec<SourceSpec, unknown, TablesSpec>): string[] {
  const { onBadRow, schema, source } = spec;
  if (onBadRow !== "quarantine") return [];
  const ofObjects = isObject(source) && ("bucket" in source || source.contents === "objects");
  if (!ofObjects) return ['onBadRow "quarantine" applies to rows of objects; remove it'];
  return schema === undefined ? ['onBadRow "quarantine" needs a schema that rejects rows'] : [];
}

function sinkProblems(sink: TableSinkSpec | SinkFunction | undefined): string[] {
  if (sink === undefined || typeof sink === "function") return [];
  if (sink?.kind !== "tables") return ["sink must be tables({...}), sql() or a function"];
  return tableProblems(sink);
}
