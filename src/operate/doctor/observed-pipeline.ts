// Observed pipeline: the settings of a pipeline file, as the rules of the doctor read them.

import { days } from "../../core/units.ts";
import type { ObservedPipeline } from "../../doctor/setup.ts";
import type { Pipeline } from "../../ingest/spec/define-pipeline.ts";

export function observedPipelineOf(pipeline: Pipeline, file: string): ObservedPipeline {
  const { name, source, retry, visibilityMs, onPoison, concurrency, sink } = pipeline;
  const tables = sink !== null && "kind" in sink && sink.kind === "tables" ? sink.tables : {};
  return {
    location: { name, file },
    name,
    attempts: retry.attempts,
    visibilityMs,
    onPoison,
    concurrency: concurrency.total,
    ledgerRetentionMs: days(pipeline.retention.ledgerDays),
    bucket: source.bucket,
    prefix: source.prefix,
    queueName: source.queue === null ? null : (source.queue.split(/[/:]/).at(-1) ?? null),
    columns: Object.values(tables).flatMap((table) => {
      return "columns" in table ? Object.keys(table.columns ?? {}) : [];
    }),
    masked: pipeline.mask,
  };
}
