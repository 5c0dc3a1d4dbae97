// Spec fields: what a pipeline file may name, and of what kind it is. Node runs TypeScript without
// looking at its types, so that no other check sees every file.
//   F1. A name that nobody reads is told. A mask that is misspelt would mask nothing, a prefix that
//       is no text would take every object for one of elsewhere, and nobody would notice.

import type {
  BucketSource,
  ConcurrencySpec,
  PipelineSpec,
  QueueSource,
  RetrySpec,
  SourceSpec,
  TablesSpec,
} from "./pipeline-spec.ts";

/** All of a type's fields, none of them forgotten. */
type FieldsOf<T> = Readonly<Record<keyof T, true>>;

const PIPELINE: FieldsOf<PipelineSpec<SourceSpec, unknown, TablesSpec>> = {
  name: true,
  source: true,
  schema: true,
  format: true,
  retry: true,
  concurrency: true,
  timeoutMs: true,
  sink: true,
  mask: true,
  onMissing: true,
  onPoison: true,
  lease: true,
  generation: true,
  visibilityMs: true,
  allowedLatenessMs: true,
  ledgerRetentionDays: true,
  classifyError: true,
  handler: true,
};
const BUCKET: FieldsOf<BucketSource> = { bucket: true, prefix: true, queue: true };
const QUEUE: FieldsOf<QueueSource> = { queue: true, contents: true };
const RETRY: FieldsOf<RetrySpec> = { attempts: true, baseMs: true, capMs: true };
const CONCURRENCY: FieldsOf<ConcurrencySpec<unknown>> = { total: true, perKey: true, key: true };
const CONTENTS: readonly unknown[] = [undefined, "messages", "objects"];

/** What a spec names that there is not, or that is of another kind than it must be (F1). */
export function fieldProblems(spec: object): string[] {
  const { source, retry = {}, concurrency = {}, classifyError } = spec as Record<string, unknown>;
  const classifies = classifyError === undefined || typeof classifyError === "function";
  return [
    ...unknownFields("the pipeline", spec, PIPELINE),
    ...(isObject(source) ? sourceProblems(source) : []),
    ...(isObject(retry) ? unknownFields("retry", retry, RETRY) : ["retry must be an object"]),
    ...(isObject(concurrency) ? unknownFields("concurrency", concurrency, CONCURRENCY) : []),
    ...(classifies ? [] : ["classifyError must be a function of the error"]),
  ];
}

export function unknownFields(where: string, given: object, known: object): string[] {
  const strays = Object.keys(given).filter((name) => !Object.hasOwn(known, name));
  const all = Object.keys(known).join(", ");
  return strays.map((name) => `${where} has no setting ${JSON.stringify(name)}, but ${all}`);
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function sourceProblems(source: Readonly<Record<string, unknown>>): string[] {
  const { prefix = "", queue = "any", contents } = source;
  const problems = unknownFields("source", source, "bucket" in source ? BUCKET : QUEUE);
  if (typeof prefix !== "string") problems.push("source.prefix must be a text");
  if (typeof queue !== "string" || queue === "") problems.push("source.queue must name a queue");
  if (!CONTENTS.includes(contents))
    problems.push('source.contents must be "messages" or "objects"');
  return problems;
}
