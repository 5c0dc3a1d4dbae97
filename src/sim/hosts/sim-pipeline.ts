// Sim pipeline: the default pipeline of simulated consumers.

import { parseInstant } from "../../core/encoding/rfc3339.ts";
import type { ObjectEvent } from "../../core/events/object-event.ts";
import { durationMs } from "../../core/units.ts";
import { type HandlerEvent, type Pipeline, pipeline } from "../../ingest/spec/define-pipeline.ts";
import type {
  EnvelopeEventFacts,
  LatePolicy,
  ObjectEventFacts,
} from "../../ingest/spec/event-facts.ts";
import type { GovernAnswer } from "../../ingest/spec/govern.ts";
import { GovernanceError, PermanentError } from "../../ingest/spec/handler-errors.ts";
import type { HandlerContext } from "../../ingest/spec/pipeline-spec.ts";
import { hiddenValueOf, hiddenValuesIn } from "../hidden-value.ts";
import { ARCHIVE_BUCKET } from "../ports/sim-archive.ts";
import { BUCKET } from "../ports/sim-bucket.ts";
import { listedName, PIPELINE_NAME } from "../record-names.ts";
import type { HandlerTools } from "../world-parts.ts";

export function createSimPipeline(tools: HandlerTools): Pipeline {
  const { topology } = tools;
  const { attempts, retryBaseMs: baseMs, retryCapMs: capMs } = topology;
  const queue = topology.fifo ? "work.fifo" : "work";
  const settings = {
    name: PIPELINE_NAME,
    retry: { attempts, baseMs, capMs },
    concurrency: topology.concurrency,
    timeoutMs: topology.timeoutMs,
    visibilityMs: topology.visibilityMs,
    lease: topology.lease,
    onPoison: topology.onPoison,
    onMissing: topology.onMissing,
    ...(topology.contents === "objects" && { onRemoved: "handle" as const }),
    ...(topology.archive === true && { archive: { bucket: ARCHIVE_BUCKET } }),
    ...governanceOf(topology),
    handler: ((event: HandlerEvent, context: HandlerContext) =>
      handle(tools, event, context)) as never,
  };
  const late = lateFields(topology);
  if (topology.own) {
    const eventTime = (body: OwnBody) => ownEventTimeOf(tools, body);
    const partition = ({ body }: { readonly body: OwnBody }) => body.payload.group;
    const source = { queue, key: nameInBody, eventTime };
    return pipeline({ ...settings, eventTime: { ...late, partition }, source });
  }
  if (topology.contents === "objects") {
    const of = ({ object }: ObjectEventFacts) => eventTimeOf(tools, object);
    const partition = ({ object }: ObjectEventFacts) => object.key;
    const eventTime = { ...late, of, partition };
    return pipeline({ ...settings, eventTime, source: { bucket: BUCKET, queue } });
  }
  const partition = ({ envelope }: EnvelopeEventFacts) => String(envelope.payload.group);
  return pipeline({ ...settings, eventTime: { ...late, partition }, source: { queue } });
}

/** The fields of `eventTime` that a topology decides. */
export function lateFields(topology: HandlerTools["topology"]) {
  const { outOfOrderMs, allowedLatenessMs, late: policy, fifo } = topology;
  const late: LatePolicy = policy === "queue" ? { queue: fifo ? "late.fifo" : "late" } : policy;
  return { outOfOrderMs, allowedLatenessMs, late };
}

/** S3 reports when an object was put; the world knows how old its contents are. */
function eventTimeOf(tools: HandlerTools, { event_time, request_id }: ObjectEvent): number {
  const parsed = parseInstant(event_time);
  const putAt = parsed.kind === "instant" ? parsed.epochMs : Number.NaN;
  const name = request_id ?? "";
  return putAt - tools.lateMsOf(name) - tools.driftMsOf(name);
}

function ownEventTimeOf(tools: HandlerTools, { event_time, dedupe_key }: OwnBody): number {
  const parsed = parseInstant(event_time);
  const at = parsed.kind === "instant" ? parsed.epochMs : Number.NaN;
  return at - tools.driftMsOf(dedupe_key);
}

/** Uses the context's time and random values, in an order that the attempt decides. */
export function drawValues(tools: HandlerTools, name: string, context: HandlerContext): void {
  if (tools.topology.draws !== true) return;
  const { fence, attempt } = context;
  const early = attempt % 2 === 0 ? context.uuid() : null;
  const random = context.random();
  const uuid = early ?? context.uuid();
  tools.drew(name, fence, { now: context.now(), random, uuid });
}

/** The bodies that producers send are envelopes, which a source with a key reads as any JSON. */
interface OwnBody {
  readonly dedupe_key: string;
  readonly event_time: string;
  readonly payload: { readonly group: string };
}

const nameInBody = (body: OwnBody) => body.dedupe_key;

type Governed = EnvelopeEventFacts | { readonly body: OwnBody };

function governanceOf({ refused, masked = 0, masksTimes = false }: HandlerTools["topology"]) {
  if (refused === 0 && masked === 0) return {};
  const mask = ["payload.secret", ...(masksTimes ? ["event_time"] : [])];
  return { govern: governed as never, ...(masked > 0 && { mask }) };
}

/**
 * Refuses what carries a refused value: by its answer, or by an error that quotes the value. What
 * has a secret is masked, even if that is masked already.
 */
function governed(event: Governed): GovernAnswer {
  const { payload, dedupe_key: name } = "envelope" in event ? event.envelope : event.body;
  const { note, secret } = (payload ?? {}) as {
    readonly note?: unknown;
    readonly secret?: unknown;
  };
  if (typeof note !== "string") return secret === undefined ? "allow" : "mask";
  if (name.endsWith("1") || name.endsWith("2")) throw new GovernanceError(`refused for ${note}`);
  return "refuse";
}

/** What the handler got of a message. */
function contentOf(event: Exclude<HandlerEvent, { readonly object: unknown }>): string {
  return JSON.stringify("envelope" in event ? event.envelope : event.body);
}

/** The hidden values that the handler got, which must be none. */
function hiddenIn(event: Exclude<HandlerEvent, { readonly object: unknown }>): readonly string[] {
  return hiddenValuesIn(contentOf(event)).map(({ name, by }) => hiddenValueOf(name, by));
}

/** The name by which the world plans a record. */
function nameOf(event: HandlerEvent): string {
  if ("object" in event) return event.object.request_id ?? listedName(event.object);
  return "envelope" in event ? event.envelope.dedupe_key : nameInBody(event.body as OwnBody);
}

async function handle(
  tools: HandlerTools,
  event: HandlerEvent,
  context: HandlerContext,
): Promise<void> {
  const { clock } = tools;
  const { attempt, fence, signal, lane, watermark } = context;
  const isObject = "object" in event;
  const name = nameOf(event);
  const plan = tools.planOf(name);
  tools.handling(name, attempt, fence, { lane, watermark });
  drawValues(tools, name, context);
  if (!isObject) tools.read?.(name, contentOf(event));
  if (plan.hanging) await clock.sleep(durationMs(Number.MAX_SAFE_INTEGER / 4), signal);
  if (plan.durationMs > 0) await clock.sleep(durationMs(plan.durationMs), signal);
  if (plan.poison) throw new PermanentError("this record is poison", { class: "poison" });
  if (attempt <= plan.failures) throw new Error(`attempt ${attempt} fails`);
  if (!isObject) context.emit([name, ...hiddenIn(event)].join(" "));
  else if (event.kind === "removed") context.emit(`${event.object.key} removed`);
  else context.emit(await event.text());
}
