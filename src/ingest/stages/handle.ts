// Handle: runs the user's handler on one record and gathers what it wants done.
//   H1. A handler runs for so long as its lease lives and its deadline has not passed; then its
//       signal aborts, and whatever it does afterwards is heard by nobody.
//   H2. Effects are gathered, not done: they happen in the commit, or not at all.
//   H3. Whatever a handler throws, at whatever time, is an outcome; nothing escapes.
//   H4. Where tables are the sink, removed objects need no handler: their rows go by themselves.
//   H5. An effect has the fields it had when it was asked for: an object that the handler fills
//       anew for the next one does not change those before it. What lies deeper is not copied.

import type { JsonValue } from "../../core/encoding/canonical-json.ts";
import type { Mask } from "../../core/encoding/mask.ts";
import type { ObjectEvent } from "../../core/events/object-event.ts";
import type { Effect, SinkRow } from "../../ports/sink.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import { isOf } from "../policy/error-facts.ts";
import type { Lane } from "../policy/watermark.ts";
import { type InFlightDelivery, LeaseLost, Stopping } from "../running/in-flight-delivery.ts";
import type { HandlerEvent, Pipeline } from "../spec/define-pipeline.ts";
import { PermanentError } from "../spec/handler-errors.ts";
import type { HandlerContext } from "../spec/pipeline-spec.ts";
import { logFieldsOf } from "../telemetry/record-log-fields.ts";
import type { RecordMask } from "../telemetry/record-mask.ts";
import { beginAttempt, DeadlinePassed } from "./attempt.ts";
import type { Claim } from "./claim.ts";
import type { Deadlines } from "./deadlines.ts";
import type { WorkRecord } from "./decode.ts";
import { createOpenReads } from "./open-reads.ts";
import {
  type EventReaderPorts,
  ObjectGone,
  readMessageEvent,
  readObjectEvent,
} from "./read-event.ts";

export type Handled =
  | {
      readonly kind: "handled";
      readonly effects: readonly Effect[];
      /** What a sink may quote of them that nobody may see. */
      readonly secrets: readonly string[];
    }
  /** The object is gone and the pipeline says that this is no matter. */
  | { readonly kind: "dropped"; readonly reason: string }
  | {
      readonly kind: "failed";
      readonly error: unknown;
      /** What the record's content has that nobody may see, and an error may have quoted. */
      readonly secrets: readonly string[];
    }
  /** The delivery is another's by now. */
  | { readonly kind: "lost"; readonly reason: string }
  /** We were told to stop before it was done. */
  | { readonly kind: "stopped" };

/** Effects of one record are held in memory and written in one transaction. */
export const EFFECTS_MAX = 100_000;
/** Masked values of one record that are looked for in its errors. */
const SECRETS_MAX = 1_000;

export interface HandleStage {
  handle(
    record: WorkRecord,
    claim: Claim,
    lane: Lane,
    inFlight: InFlightDelivery,
  ): Promise<Handled>;
}

export function createHandleStage(
  ports: EventReaderPorts & {
    readonly telemetry: Telemetry;
    readonly deadlines: Deadlines;
    readonly mask: Mask;
    readonly masked: RecordMask;
  },
  options: { readonly pipeline: Pipeline; readonly runId: string },
): HandleStage {
  const { telemetry, deadlines, mask, masked } = ports;
  const { pipeline, runId } = options;
  const tooLong = () => new DeadlinePassed(`the handler took longer than ${pipeline.timeoutMs} ms`);

  return {
    async handle(record, claim, lane, inFlight) {
      const attempt = beginAttempt(inFlight, deadlines, tooLong);
      const effects: Effect[] = [];
      let read: JsonValue = null;
      const seen = new Set<string>();
      const onRead = (content: JsonValue) => {
        read = content;
        remember(seen, mask.secretsOf(content));
      };
      const context: HandlerContext = {
        key: record.identity,
        fence: claim.fence,
        attempt: claim.attempt,
        lane,
        signal: attempt.signal,
        ...effectMethods(effects, attempt.signal),
        log(level, message, fields) {
          const secrets = [...masked.secretsOf(record), ...mask.secretsOf(read)];
          const shown = scrubbed(mask, fields, secrets);
          const ids = logFieldsOf(record, inFlight, runId, { masked, secrets });
          telemetry.log(level, mask.text(message, secrets), { ...ids, ...shown });
        },
      };
      try {
        await attempt.run(() => callHandler(pipeline, record, { ...ports, onRead }, context));
        return { kind: "handled", effects: attempt.close(effects), secrets: [...seen] };
      } catch (error) {
        attempt.close([]);
        return judge(pipeline, error, [...seen]);
      }
    },
  };
}

/** Keeps the last of them: an error may quote any row that was read, not only the one in hand. */
function remember(seen: Set<string>, secrets: readonly string[]): void {
  for (const secret of secrets) {
    seen.delete(secret);
    seen.add(secret);
  }
  for (const oldest of seen) {
    if (seen.size <= SECRETS_MAX) return;
    seen.delete(oldest);
  }
}

function scrubbed(
  mask: Mask,
  fields: Readonly<Record<string, string | number>> = {},
  secrets: readonly string[],
): Record<string, string | number> {
  const shown = Object.entries(fields).map(([name, value]) => [
    name,
    typeof value === "string" ? mask.text(value, secrets) : value,
  ]);
  return Object.fromEntries(shown);
}

async function callHandler(
  pipeline: Pipeline,
  { content }: WorkRecord,
  ports: EventReaderPorts & { readonly onRead: (content: JsonValue) => void },
  context: HandlerContext,
): Promise<void> {
  if (content.kind === "unusable") {
    throw new PermanentError(content.reason, { class: "undecodable" });
  }
  let arrival: HandlerEvent;
  if (content.kind === "message") {
    arrival = await readMessageEvent(
      pipeline,
      content.envelope,
      ports,
      context.signal,
      ports.onRead,
    );
  } else {
    const toTables = typeof pipeline.sink === "object" && pipeline.sink !== null;
    const hasBytes = content.event.kind === "created" || content.event.kind === "restored";
    if (toTables && !hasBytes) return; // H4
    return handleObject(pipeline, content.event, ports, context);
  }
  await pipeline.handler(arrival, context);
}

async function handleObject(
  pipeline: Pipeline,
  event: ObjectEvent,
  ports: EventReaderPorts & { readonly onRead: (content: JsonValue) => void },
  context: HandlerContext,
): Promise<void> {
  const reads = createOpenReads();
  const arrival = readObjectEvent(pipeline, event, ports, context.signal, ports.onRead);
  let left = 0;
  try {
    await pipeline.handler(reads.watch(arrival), context);
  } finally {
    left = reads.end();
  }
  if (left === 0) return;
  // N1 of open-reads.ts
  throw new PermanentError("the handler ended while it was still reading; await what it reads", {
    class: "unawaited",
  });
}

/** What an error of the handler, or of reading for it, means. */
function judge(pipeline: Pipeline, error: unknown, secrets: readonly string[]): Handled {
  if (isOf(error, LeaseLost)) return { kind: "lost", reason: error.message };
  if (isOf(error, Stopping)) return { kind: "stopped" };
  const { onMissing } = pipeline;
  if (!isOf(error, ObjectGone) || onMissing === "retry") return { kind: "failed", error, secrets };
  // What we may not read may well be there: it is never dropped.
  const forbidden = error.how === "forbidden";
  if (onMissing === "drop" && !forbidden) return { kind: "dropped", reason: error.message };
  const options = { class: forbidden ? "permission" : "missing-object", cause: error };
  return { kind: "failed", error: new PermanentError(error.message, options), secrets };
}

function effectMethods(effects: Effect[], signal: AbortSignal) {
  const add = (effect: Effect) => {
    if (signal.aborted) throw new PermanentError("the attempt is over; its effects go nowhere");
    if (effects.length >= EFFECTS_MAX) {
      throw new PermanentError(`a record may have ${EFFECTS_MAX} effects; split the object`, {
        class: "too-many-effects",
      });
    }
    effects.push(effect); // H2
  };
  return {
    upsert: (table: string, row: object) => add({ kind: "upsert", table, row: kept(row) }),
    delete: (table: string, key: object) => add({ kind: "delete", table, key: kept(key) }),
    emit: (value: unknown) => add({ kind: "custom", value: isPlain(value) ? { ...value } : value }),
  };
}

/** Whether a copy of its fields is as good as the object itself, which has no methods then. */
function isPlain(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** A copy (H5); what is no object is left for the sink to refuse. */
function kept(row: unknown): SinkRow {
  const copy = typeof row === "object" && row !== null && !Array.isArray(row) ? { ...row } : row;
  return copy as SinkRow;
}
