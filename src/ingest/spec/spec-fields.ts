// Spec fields: the fields of a pipeline spec and their kinds. Node strips types without checking
// them, so this is the only check that every pipeline file passes through.
//   F1. An unknown field is an error. A misspelt mask would silently mask nothing, and a prefix
//       that is not a string would silently ignore every object.
//   F2. The former name of a field is an error that says where the field is now.

import { isObject } from "../../core/is-object.ts";
import { type AnyOwnSource, isOwnSource, ownSourceProblems } from "./own-source.ts";
import type {
  BucketSource,
  ConcurrencySpec,
  PipelineSpec,
  QueueSource,
  RetentionSpec,
  RetrySpec,
  SourceSpec,
  TablesSpec,
} from "./pipeline-spec.ts";

/** Every field of a type: a missing one does not compile. */
type FieldsOf<T> = Readonly<Record<keyof T, true>>;

const PIPELINE: FieldsOf<PipelineSpec<SourceSpec, unknown, TablesSpec>> = {
  name: true,
  source: true,
  schema: true,
  format: true,
  csv: true,
  retry: true,
  concurrency: true,
  timeoutMs: true,
  sink: true,
  mask: true,
  govern: true,
  archive: true,
  onMissing: true,
  onRemoved: true,
  onBadRow: true,
  onPoison: true,
  lease: true,
  generation: true,
  visibilityMs: true,
  eventTime: true,
  retention: true,
  frozen: true,
  logCommits: true,
  handler: true,
};
const BUCKET: FieldsOf<BucketSource> = { bucket: true, prefix: true, queue: true };
const QUEUE: FieldsOf<QueueSource> = { queue: true, contents: true };
const OWN: FieldsOf<AnyOwnSource> & { readonly contents: true } = {
  queue: true,
  schema: true,
  decode: true,
  key: true,
  eventTime: true,
  unwrapSns: true,
  contents: true,
};
const RETRY: FieldsOf<RetrySpec> = { attempts: true, baseMs: true, capMs: true, classify: true };
const RETENTION: FieldsOf<RetentionSpec> = { ledgerDays: true, outboxDays: true };
/** Fields of pipeline() that are now in a group (F2). */
const MOVED: Readonly<Record<string, string>> = {
  partition: "eventTime.partition",
  outOfOrderMs: "eventTime.outOfOrderMs",
  allowedLatenessMs: "eventTime.allowedLatenessMs",
  late: "eventTime.late",
  seed: "frozen.seed",
  parameters: "frozen.parameters",
  models: "frozen.models",
  lookups: "frozen.lookups",
  ledgerRetentionDays: "retention.ledgerDays",
  outboxRetentionDays: "retention.outboxDays",
  classifyError: "retry.classify",
};
const CONCURRENCY: FieldsOf<ConcurrencySpec<unknown>> = { total: true, perKey: true, key: true };
/** Wrong letters up to which a field is suggested. */
const TYPOS_MAX = 3;
const CONTENTS: readonly unknown[] = [undefined, "messages", "objects"];

/** Unknown fields, and fields of the wrong kind (F1). */
export function fieldProblems(spec: object): string[] {
  const fields = spec as Record<string, unknown>;
  const { source, retry = {}, retention = {}, concurrency = {} } = fields;
  const moved = Object.keys(MOVED).filter((name) => Object.hasOwn(spec, name));
  return [
    ...moved.map((name) => `${name} moved to ${MOVED[name]}`), // F2
    ...unknownFields("pipeline()", spec, { ...PIPELINE, ...MOVED }),
    ...(isObject(source) ? sourceProblems(source) : []),
    ...(isObject(retry) ? unknownFields("retry", retry, RETRY) : ["retry must be an object"]),
    ...(isObject(concurrency) ? unknownFields("concurrency", concurrency, CONCURRENCY) : []),
    ...(isObject(retention)
      ? unknownFields("retention", retention, RETENTION)
      : ["retention must be an object"]),
    ...functionProblems("retry.classify", isObject(retry) ? retry.classify : null, "the error"),
    ...functionProblems("govern", fields.govern, "the event and a row"),
  ];
}

function functionProblems(name: string, value: unknown, of: string): string[] {
  const isValid = value === undefined || typeof value === "function";
  return isValid ? [] : [`${name} must be a function of ${of}`];
}

export function unknownFields(where: string, given: object, fields: object): string[] {
  const strays = Object.keys(given).filter((name) => !Object.hasOwn(fields, name));
  return strays.map((name) => {
    const near = nearestName(name, Object.keys(fields));
    const fix = near === null ? `use ${Object.keys(fields).join(", ")}` : `did you mean "${near}"?`;
    return `unknown field ${JSON.stringify(name)} in ${where}; ${fix}`;
  });
}

/** The field whose letters are closest, if few enough of them differ. */
function nearestName(name: string, fields: readonly string[]): string | null {
  const distances = fields.map((field) => ({ field, distance: editDistance(name, field) }));
  const [nearest] = distances.toSorted((a, b) => a.distance - b.distance);
  const distanceMax = Math.min(TYPOS_MAX, Math.floor(name.length / 2));
  return nearest !== undefined && nearest.distance <= distanceMax ? nearest.field : null;
}

/** How many letters to insert, delete or replace; names are short. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (let i = 1; i <= from.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= to.length; j += 1) {
      const replaced = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}

function sourceProblems(source: Readonly<Record<string, unknown>>): string[] {
  const { prefix = "", queue = "any", contents } = source;
  const problems = unknownFields("source", source, fieldsOf(source));
  if (typeof prefix !== "string") problems.push("source.prefix must be a string");
  if (typeof queue !== "string" || queue === "") problems.push("source.queue must name a queue");
  if (!CONTENTS.includes(contents))
    problems.push('source.contents must be "messages" or "objects"');
  if (!("bucket" in source) && isOwnSource(source)) problems.push(...ownSourceProblems(source));
  return problems;
}

/** A misspelt field of a plain queue is compared with the fields of all queues. */
function fieldsOf(source: object): object {
  if ("bucket" in source) return BUCKET;
  return isOwnSource(source) ? OWN : { ...QUEUE, ...OWN };
}
