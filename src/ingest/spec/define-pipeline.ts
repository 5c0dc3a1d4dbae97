// Define pipeline: validates a pipeline spec and fills in its defaults.
//   P1. One error reports every problem of a spec, before anything is opened.
//   P2. Absent fields get the values of DEFAULTS, which docs/reference/configuration.md lists.

import { TidegateError } from "../../core/errors.ts";
import { LEDGER_RETENTION_DAYS_MAX } from "../../core/limits.ts";
import { tableProblems } from "../../core/table-spec.ts";
import { type DurationMs, durationMs, hours, minutes, seconds } from "../../core/units.ts";
import { checkScope } from "../../ledger/batches.ts";
import type { SinkFunction } from "../../ports/sink.ts";
import type { RetrySettings } from "../policy/retry.ts";
import type {
  ConcurrencySpec,
  ErrorClassifier,
  HandlerContext,
  MessageInput,
  ObjectInput,
  PipelineSpec,
  ReadFormat,
  RetrySpec,
  RowWithoutSchema,
  SourceSpec,
  StandardSchema,
  TableSinkSpec,
  TablesSpec,
} from "./pipeline-spec.ts";
import { fieldProblems, isObject, unknownFields } from "./spec-fields.ts";

export const DEFAULTS = {
  attempts: 7,
  baseMs: seconds(1),
  capMs: minutes(15),
  concurrency: 10,
  timeoutMs: minutes(15),
  visibilityMs: seconds(60),
  allowedLatenessMs: minutes(10),
  ledgerRetentionDays: 45,
} as const;

/** SQS makes a message visible again twelve hours after its receive, whatever its renewals. */
export const TIMEOUT_MS_MAX: DurationMs = durationMs(hours(11) + minutes(30));
const ATTEMPTS_MAX = 100;
const CONCURRENCY_MAX = 10_000;
const VISIBILITY_MS_MIN = seconds(3);
const VISIBILITY_MS_MAX = hours(1);

export type HandlerEvent = ObjectInput<unknown> | MessageInput<unknown>;

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
  };
  readonly schema: StandardSchema<unknown> | null;
  readonly format: ReadFormat;
  readonly retry: RetrySettings;
  readonly concurrency: {
    readonly total: number;
    readonly perKey: number | null;
    readonly key: ((event: HandlerEvent) => string) | null;
  };
  readonly timeoutMs: DurationMs;
  readonly visibilityMs: DurationMs;
  readonly allowedLatenessMs: DurationMs;
  readonly ledgerRetentionDays: number;
  readonly sink: TableSinkSpec | SinkFunction | null;
  readonly mask: readonly string[];
  readonly onMissing: "dead-letter" | "drop" | "retry";
  readonly onPoison: "halt" | "skip";
  readonly lease: "auto" | "receipt" | "ledger";
  readonly classifyError: ErrorClassifier | null;
  readonly handler: (event: HandlerEvent, context: HandlerContext) => Promise<void> | void;
}

/** Defines a pipeline. A pipeline file exports the result as its default. */
export function pipeline<
  const S extends SourceSpec,
  const F extends ReadFormat = "auto",
  Out = RowWithoutSchema<S, F>,
  const T extends TablesSpec = Record<never, never>,
>(spec: PipelineSpec<S, Out, T, F>): Pipeline {
  const problems = problemsOf(spec as never);
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
    readonly onRemoved?: "delete" | "keep";
    readonly onReplaced?: "delete" | "keep";
  } = {},
): TableSinkSpec<T> {
  const { database = null, onRemoved = "delete", onReplaced = "delete", ...strays } = options;
  const [problem] = unknownFields("tables()", strays, { database, onRemoved, onReplaced });
  if (problem !== undefined) throw new TidegateError("TG_CONFIG_INVALID", problem);
  return { kind: "tables", tables: specs, database, onRemoved, onReplaced };
}

function filledIn<S extends SourceSpec, Out, T extends TablesSpec>(
  spec: PipelineSpec<S, Out, T>,
): Pipeline {
  const { retry = {}, sink = null } = spec;
  return {
    kind: "tidegate-pipeline",
    name: spec.name,
    generation: spec.generation ?? 0,
    source: sourceOf(spec.source),
    schema: spec.schema ?? null,
    format: spec.format ?? "auto",
    retry: {
      attempts: retry.attempts ?? DEFAULTS.attempts,
      baseMs: durationMs(retry.baseMs ?? DEFAULTS.baseMs),
      capMs: durationMs(retry.capMs ?? DEFAULTS.capMs),
    },
    concurrency: concurrencyOf(spec.concurrency),
    timeoutMs: durationMs(spec.timeoutMs ?? DEFAULTS.timeoutMs),
    visibilityMs: durationMs(spec.visibilityMs ?? DEFAULTS.visibilityMs),
    allowedLatenessMs: durationMs(spec.allowedLatenessMs ?? DEFAULTS.allowedLatenessMs),
    ledgerRetentionDays: spec.ledgerRetentionDays ?? DEFAULTS.ledgerRetentionDays,
    sink: sink as Pipeline["sink"],
    mask: spec.mask ?? [],
    onMissing: spec.onMissing ?? "dead-letter",
    onPoison: spec.onPoison ?? "halt",
    lease: spec.lease ?? "auto",
    classifyError: spec.classifyError ?? null,
    handler: spec.handler as unknown as Pipeline["handler"],
  };
}

function sourceOf(source: SourceSpec): Pipeline["source"] {
  if ("bucket" in source) {
    const { bucket, prefix = "", queue = null } = source;
    return { bucket, prefix, queue, contents: "objects" };
  }
  return { bucket: null, prefix: "", queue: source.queue, contents: source.contents ?? "messages" };
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
  const { schema, timeoutMs, visibilityMs, allowedLatenessMs, generation } = spec;
  const retry: RetrySpec = isObject(spec.retry) ? spec.retry : {};
  const standard = typeof schema?.["~standard"]?.validate === "function";
  check(schema === undefined || standard, "schema must be of a Standard Schema library");
  check(within(retry.attempts, 1, ATTEMPTS_MAX), `retry.attempts must be 1 to ${ATTEMPTS_MAX}`);
  check(within(retry.baseMs, 0, TIMEOUT_MS_MAX), "retry.baseMs must be 0 or more");
  check(within(retry.capMs, 0, TIMEOUT_MS_MAX), `retry.capMs must be 0 to ${TIMEOUT_MS_MAX}`);
  check(within(timeoutMs, 1, TIMEOUT_MS_MAX), `timeoutMs must be 1 to ${TIMEOUT_MS_MAX}`);
  check(
    within(visibilityMs, VISIBILITY_MS_MIN, VISIBILITY_MS_MAX),
    `visibilityMs must be ${VISIBILITY_MS_MIN} to ${VISIBILITY_MS_MAX}`,
  );
  check(
    within(allowedLatenessMs, 0, Number.MAX_SAFE_INTEGER),
    "allowedLatenessMs must be 0 or more",
  );
  check(
    within(spec.ledgerRetentionDays, 1, LEDGER_RETENTION_DAYS_MAX),
    `ledgerRetentionDays must be 1 to ${LEDGER_RETENTION_DAYS_MAX}`,
  );
  check(within(generation, 0, Number.MAX_SAFE_INTEGER), "generation must be a whole number from 0");
  problems.push(...concurrencyProblems(spec.concurrency), ...choiceProblems(spec));
  const mask = spec.mask ?? [];
  const paths =
    Array.isArray(mask) && mask.every((path) => typeof path === "string" && path !== "");
  check(paths, 'mask must be a list of paths such as "payload.person.*"');
  return [...problems, ...sinkProblems(spec.sink)];
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

function sinkProblems(sink: TableSinkSpec | SinkFunction | undefined): string[] {
  if (sink === undefined || typeof sink === "function") return [];
  if (sink?.kind !== "tables") return ["sink must be tables({...}) or a function"];
  return tableProblems(sink);
}
