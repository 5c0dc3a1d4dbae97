// Watermark text: the completeness of a pipeline, as a line and as JSON.

import { formatInstant } from "../../core/encoding/rfc3339.ts";
import type { EpochMs } from "../../core/units.ts";
import type { Holder, PipelineCompleteness } from "../../operate/completeness.ts";

export function completenessLine(state: PipelineCompleteness): string {
  const { pipeline, at, watermark, isExact, looked } = state;
  const reach = at === null ? "not known" : formatInstant(at);
  const mark = watermark === null ? "none yet" : formatInstant(watermark);
  const scope = looked ? (isExact ? "" : " (estimate)") : " (queued messages not counted)";
  return `${pipeline}: complete up to ${reach}${scope}; ${reasonOf(state)}; watermark ${mark}`;
}

export function completenessJson(state: PipelineCompleteness): string {
  const { pipeline, generation, at, watermark, isExact, looked, heldBy, partition } = state;
  return JSON.stringify({
    pipeline,
    generation,
    completeUpTo: textOf(at),
    watermark: textOf(watermark),
    exact: looked && isExact,
    heldBy: heldBy === null ? null : { ...heldBy, eventTime: textOf(heldBy.eventTime) },
    watermarkHeldBy: partition,
  });
}

function reasonOf({ heldBy, partition }: PipelineCompleteness): string {
  if (heldBy === null) return "no record was processed yet";
  if (heldBy.kind !== "watermark") return `held back by ${holderText(heldBy)}`;
  return partition === null ? "everything is settled" : `held back by the partition ${partition}`;
}

function holderText({ kind, what, eventTime }: Holder): string {
  const time = eventTime === null ? "" : ` (event time ${formatInstant(eventTime)})`;
  return `${kind} ${what}${time}`;
}

function textOf(at: EpochMs | null): string | null {
  return at === null ? null : formatInstant(at);
}
