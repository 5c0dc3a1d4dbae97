// Sim pipeline: the default pipeline of simulated consumers.

import { durationMs } from "../../core/units.ts";
import { type HandlerEvent, type Pipeline, pipeline } from "../../ingest/spec/define-pipeline.ts";
import { PermanentError } from "../../ingest/spec/handler-errors.ts";
import type { HandlerContext } from "../../ingest/spec/pipeline-spec.ts";
import { BUCKET } from "../ports/sim-bucket.ts";
import type { HandlerTools } from "../world-parts.ts";

export const PIPELINE_NAME = "sim";

export function createSimPipeline(tools: HandlerTools): Pipeline {
  const { topology } = tools;
  const { attempts, retryBaseMs: baseMs, retryCapMs: capMs } = topology;
  const queue = topology.fifo ? "work.fifo" : "work";
  return pipeline({
    name: PIPELINE_NAME,
    source: topology.contents === "objects" ? { bucket: BUCKET, queue } : { queue },
    retry: { attempts, baseMs, capMs },
    concurrency: topology.concurrency,
    timeoutMs: topology.timeoutMs,
    visibilityMs: topology.visibilityMs,
    allowedLatenessMs: topology.allowedLatenessMs,
    lease: topology.lease,
    onPoison: topology.onPoison,
    onMissing: topology.onMissing,
    handler: ((event: HandlerEvent, context: HandlerContext) =>
      handle(tools, event, context)) as never,
  });
}

async function handle(
  tools: HandlerTools,
  event: HandlerEvent,
  context: HandlerContext,
): Promise<void> {
  const { clock } = tools;
  const { attempt, fence, signal } = context;
  const isObject = "object" in event;
  const name = isObject ? (event.object.request_id ?? "") : event.envelope.dedupe_key;
  const plan = tools.planOf(name);
  tools.handling(name, attempt, fence);
  if (plan.hanging) await clock.sleep(durationMs(Number.MAX_SAFE_INTEGER / 4), signal);
  if (plan.durationMs > 0) await clock.sleep(durationMs(plan.durationMs), signal);
  if (plan.poison) throw new PermanentError("this record is poison", { class: "poison" });
  if (attempt <= plan.failures) throw new Error(`attempt ${attempt} fails`);
  if (!isObject) context.emit(name);
  else if (event.kind === "removed") context.emit(`${event.object.key} removed`);
  else context.emit(await event.text());
}
