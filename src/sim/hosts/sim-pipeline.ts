// Sim pipeline: what consumers of a simulated world run when nobody brings a pipeline of their own.

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
    handler: ((arrival: HandlerEvent, context: HandlerContext) =>
      handle(tools, arrival, context)) as never,
  });
}

async function handle(
  tools: HandlerTools,
  arrival: HandlerEvent,
  context: HandlerContext,
): Promise<void> {
  const { clock } = tools;
  const { attempt, fence, signal } = context;
  const isObject = "object" in arrival;
  const name = isObject ? (arrival.object.request_id ?? "") : arrival.envelope.dedupe_key;
  const plan = tools.planOf(name);
  tools.handling(name, attempt, fence);
  if (plan.hanging) await clock.sleep(durationMs(Number.MAX_SAFE_INTEGER / 4), signal);
  if (plan.durationMs > 0) await clock.sleep(durationMs(plan.durationMs), signal);
  if (plan.poison) throw new PermanentError("this record is poison", { class: "poison" });
  if (attempt <= plan.failures) throw new Error(`attempt ${attempt} fails`);
  if (!isObject) context.emit(name);
  else if (arrival.kind === "removed") context.emit(`${arrival.object.key} removed`);
  else context.emit(await arrival.text());
}
