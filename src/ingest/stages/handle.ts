// Handle: runs the user's handler on one record and collects its effects.
//   H1. A handler runs until its lease is lost or its deadline passes. Then its signal aborts, and
//       anything it does after that is ignored.
//   H2. Effects are collected, not applied: they happen in the commit or not at all.
//   H3. Any value that a handler throws, at any time, becomes an outcome; no error escapes.
//   H4. A removed object runs the handler only with `onRemoved: "handle"`. A table sink needs no
//       handler for other events without bytes.
//   H5. An effect keeps the fields that it had when the handler requested it, even if the handler
//       reuses the object for the next effect. Nested objects are not copied.
//   H6. Rows that the schema rejects are collected like effects: they are quarantined by the commit
//       or not at all.
//   H7. In a governed pipeline the handler gets nothing that `govern` has not answered for. A
//       message that is to be stored without being handled is judged first, too.
//   H8. If rows cannot be staged, or quarantined rows cannot be read, the sink or the ledger
//       failed, not the handler.
//   H9. A text of the handler may quote any row of the record, not only the last one. So the values
//       of all rows that were read are removed from it.

import type { JsonValue } from "../../core/encoding/canonical-json.ts";
import type { Mask } from "../../core/encoding/mask.ts";
import { MASKED, type SecretValues } from "../../core/encoding/secrets.ts";
import { TidegateError } from "../../core/errors.ts";
import type { ObjectEvent } from "../../core/events/object-event.ts";
import { type SqlParam, sqlProblem } from "../../core/sql-statement.ts";
import type { LaneDecision } from "../../ports/record.ts";
import type { NumberedRow } from "../../ports/rows.ts";
import type { Effect, SinkRow, StagedRows } from "../../ports/sink.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import { isOf } from "../policy/error-facts.ts";
import { BadRows, type QuarantineRef } from "../quarantine/quarantine.ts";
import { type InFlightDelivery, LeaseLost, Stopping } from "../running/in-flight-delivery.ts";
import type { Pipeline } from "../spec/define-pipeline.ts";
import { PermanentError } from "../spec/handler-errors.ts";
import type { HandlerContext } from "../spec/pipeline-spec.ts";
import { logFieldsOf } from "../telemetry/record-log-fields.ts";
import type { RecordMask } from "../telemetry/record-mask.ts";
import { beginHandling } from "./attempt.ts";
import type { Claim } from "./claim.ts";
import type { Deadlines } from "./deadlines.ts";
import type { WorkRecord } from "./decode.ts";
import { type CollectedEffects, EffectBuffer } from "./effects/effect-buffer.ts";
import { recordFacts } from "./event-time.ts";
import { carriesPayload, createGovernance, type Governance, governedFailure } from "./govern.ts";
import { createHashedReads } from "./hashed-reads.ts";
import { createOpenReads } from "./open-reads.ts";
import type { Work } from "./prepare.ts";
import {
  type EventReaderPorts,
  ObjectGone,
  type ReadHooks,
  readMessageEvent,
  readObjectEvent,
  readOwnEvent,
} from "./read-event.ts";
import { recordRandom } from "./record-random.ts";

export type Handled =
  | ({ readonly kind: "handled" } & Work)
  /** The object is missing, and the pipeline drops missing objects. */
  | { readonly kind: "dropped"; readonly reason: string }
  | {
      readonly kind: "failed";
      readonly error: unknown;
      /** What failed: the handler, or the sink or ledger that it depends on (H8). */
      readonly by: "handler" | "store";
      /** Masked values of the record and its content that the error may quote. */
      readonly secrets: SecretValues;
    }
  /** Another consumer may have the delivery by now. */
  | { readonly kind: "lost"; readonly reason: string }
  /** The consumer stopped before the handler finished. */
  | { readonly kind: "stopped" };

const NO_EFFECTS: CollectedEffects = { effects: [], staged: null, digest: null };

export interface HandleStage {
  handle(
    record: WorkRecord,
    claim: Claim,
    decision: LaneDecision,
    inFlight: InFlightDelivery,
  ): Promise<Handled>;
  /** Judges a message that is to be stored instead of handled (H7); null if it may be. */
  govern(record: WorkRecord, inFlight: InFlightDelivery): Promise<NotHandled | null>;
}

type NotHandled = Exclude<Handled, { kind: "handled" | "dropped" }>;

export interface HandlePorts extends EventReaderPorts {
  readonly telemetry: Telemetry;
  readonly deadlines: Deadlines;
  readonly mask: Mask;
  readonly masked: RecordMask;
  /** Begins to stage the rows of one attempt; null if the sink cannot. */
  readonly openStaged?: ((record: WorkRecord, claim: Claim) => StagedRows) | null;
  /** Reads quarantined rows, for redrives of them. */
  readonly readQuarantine?: (ref: QuarantineRef) => AsyncIterable<NumberedRow>;
}

export function createHandleStage(
  ports: HandlePorts,
  { pipeline, runId }: { readonly pipeline: Pipeline; readonly runId: string },
): HandleStage {
  const { telemetry, mask, masked, readQuarantine } = ports;
  const quarantines = pipeline.onBadRow === "quarantine";

  return {
    async handle(record, claim, decision, inFlight) {
      const attempt = beginHandling(ports, pipeline, record, inFlight);
      const buffer = createBuffer(ports, pipeline, record, claim);
      let read: JsonValue = null;
      const secrets = masked.begin(record);
      const onRead = (content: JsonValue) => {
        read = content;
        secrets.add(mask.secretsOf(content)); // H9
      };
      const badRows = new BadRows();
      const readFailures: unknown[] = [];
      const { signal } = attempt;
      const governance = governanceOf(ports, pipeline, { record, inFlight, signal });
      const log: HandlerContext["log"] = (level, message, fields) => {
        const shown = maskFields(mask, fields, secrets);
        const ids = logFieldsOf(record, inFlight, runId, { masked, secrets });
        telemetry.log(level, mask.text(message, secrets), { ...ids, ...shown });
      };
      const fixed = fixedContext(pipeline, record, claim);
      const context = { ...fixed, ...decision, signal, log, ...effectMethods(buffer, signal) };
      const { objects, hash } = createHashedReads(ports, record, inFlight.delivery.body);
      try {
        let collected: CollectedEffects = NO_EFFECTS;
        await attempt.run(async () => {
          const hooks = {
            onRead,
            ready: () => buffer.ready(),
            onBadRow: quarantines ? badRowTaker(badRows, mask, secrets) : null,
            redrivenRows: redrivenRowsOf(record, readQuarantine, readFailures),
            governance,
          };
          await callHandler(pipeline, record, { ...ports, ...hooks, objects }, context);
          governance?.check(); // H7
          collected = await buffer.finish();
        });
        const all = { ...collected, effects: attempt.close(collected.effects) };
        const shown = governance?.masked(record) ?? null;
        const rest = { badRows: badRows.rows, secrets, masked: shown };
        return { kind: "handled", ...all, ...rest, input: hash(shown !== null) };
      } catch (error) {
        attempt.close([]);
        void buffer.discard();
        const content = read ?? (carriesPayload(record) ? record.original : null);
        const { error: shown, values } = governedFailure(pipeline, error, content, governance);
        const by = buffer.isFailure(error) || readFailures.includes(error) ? "store" : "handler";
        secrets.add(values);
        return judge(pipeline, shown, secrets, by);
      }
    },
    govern: (record, inFlight) => governMessage(ports, pipeline, record, inFlight),
  };
}

function createBuffer(
  { openStaged = null }: HandlePorts,
  { effectLimits }: Pipeline,
  record: WorkRecord,
  claim: Claim,
): EffectBuffer {
  return new EffectBuffer(openStaged && (() => openStaged(record, claim)), effectLimits);
}

/** The part of the context that pipeline and claim decide; only `fence` and `attempt` vary. */
function fixedContext(pipeline: Pipeline, { identity }: WorkRecord, claim: Claim) {
  const { parameters, models, lookups } = pipeline.frozen;
  const { fence, attempt, input } = claim;
  const drawn = recordRandom(pipeline, { identity, eventTime: input.eventTime });
  return { key: identity, fence, attempt, ...drawn, parameters, models, lookups };
}

/** H7 */
async function governMessage(
  ports: HandlePorts,
  pipeline: Pipeline,
  record: WorkRecord,
  inFlight: InFlightDelivery,
): Promise<NotHandled | null> {
  const { content } = record;
  if (pipeline.govern === null || !carriesPayload(record)) return null;
  const attempt = beginHandling(ports, pipeline, record, inFlight);
  const governance = governanceOf(ports, pipeline, { record, inFlight, signal: attempt.signal });
  try {
    await attempt.run(async () => {
      if (content.kind === "message") await governance?.envelope(content.envelope);
      if (content.kind === "own") await governance?.own(content.input);
    });
    return null;
  } catch (error) {
    const failure = governedFailure(pipeline, error, record.original, governance);
    return judge(pipeline, failure.error, failure.values) as NotHandled;
  } finally {
    attempt.close([]);
  }
}

function governanceOf(
  { objects, mask }: HandlePorts,
  pipeline: Pipeline,
  {
    record,
    inFlight,
    signal,
  }: { record: WorkRecord; inFlight: InFlightDelivery; signal: AbortSignal },
): Governance | null {
  if (pipeline.govern === null) return null;
  return createGovernance(pipeline, mask, recordFacts(objects, record, inFlight.delivery, signal));
}

/** H6 */
function badRowTaker(badRows: BadRows, mask: Mask, secrets: SecretValues) {
  return ({ value, line, unit: counts }: NumberedRow, reason: string): void => {
    const unit = counts ?? "line";
    badRows.add({ line, unit, reason: mask.text(reason, secrets), row: value });
  };
}

function redrivenRowsOf(
  { content }: WorkRecord,
  read: ((ref: QuarantineRef) => AsyncIterable<NumberedRow>) | undefined,
  failures: unknown[],
): AsyncIterable<NumberedRow> | null {
  if (content.kind !== "object" || content.redriven === undefined) return null;
  if (read !== undefined) return noting(read(content.redriven), failures);
  throw new TidegateError("TG_CONFIG_INVALID", "quarantined rows need a ledger to read them from");
}

/** Adds the error that ends the rows, if one does, to `failures`. */
async function* noting(
  rows: AsyncIterable<NumberedRow>,
  failures: unknown[],
): AsyncGenerator<NumberedRow> {
  try {
    for await (const row of rows) yield row;
  } catch (error) {
    failures.push(error);
    throw error;
  }
}

function maskFields(
  mask: Mask,
  fields: Readonly<Record<string, string | number>> = {},
  secrets: SecretValues,
): Record<string, string | number> {
  const shown = Object.entries(fields).map(([name, value]) => {
    const text = String(value);
    const hidden = mask.text(text, secrets);
    return [mask.text(name, secrets), hidden === text ? value : hidden];
  });
  return Object.fromEntries(shown);
}

async function callHandler(
  pipeline: Pipeline,
  { content }: WorkRecord,
  ports: EventReaderPorts & ReadHooks,
  context: HandlerContext,
): Promise<void> {
  if (content.kind === "unusable") {
    const { reason, detail, errorClass } = content;
    // K4 of record-mask.ts
    const says = detail === undefined || pipeline.mask.length === 0 ? detail : MASKED;
    throw new PermanentError(says === undefined ? reason : `${reason}: ${says}`, {
      class: errorClass,
    });
  }
  if (content.kind === "own") {
    const { input: own } = content;
    const governed = ports.governance ? await ports.governance.own(own) : own;
    await pipeline.handler(await readOwnEvent(pipeline, governed), context);
    return;
  }
  if (content.kind === "object") {
    const toTables = typeof pipeline.sink === "object" && pipeline.sink !== null;
    const { kind } = content.event;
    const hasBytes = kind === "created" || kind === "restored";
    const runs = kind === "removed" ? pipeline.onRemoved === "handle" : hasBytes || !toTables;
    if (!runs) return; // H4
    return handleObject(pipeline, content.event, ports, context);
  }
  const { envelope } = content;
  const input = await readMessageEvent(pipeline, envelope, ports, context.signal, ports);
  await pipeline.handler(input, context);
}

async function handleObject(
  pipeline: Pipeline,
  event: ObjectEvent,
  ports: EventReaderPorts & ReadHooks,
  context: HandlerContext,
): Promise<void> {
  const reads = createOpenReads();
  const read = readObjectEvent(pipeline, event, ports, context.signal, ports);
  const object = ports.governance ? await ports.governance.object(event) : event;
  const input = object === event ? read : { ...read, object };
  let pending = 0;
  try {
    await pipeline.handler(reads.watch(input), context);
  } finally {
    pending = reads.end();
  }
  if (pending === 0) return;
  // N1 of open-reads.ts
  throw new PermanentError("the handler returned while it was still reading; await every read", {
    class: "unawaited",
  });
}

/** The outcome of an error of the handler or of a read. */
function judge(
  pipeline: Pipeline,
  error: unknown,
  secrets: SecretValues,
  by: "handler" | "store" = "handler", // H8
): Handled {
  if (isOf(error, LeaseLost)) return { kind: "lost", reason: error.message };
  if (isOf(error, Stopping)) return { kind: "stopped" };
  const { onMissing } = pipeline;
  if (!isOf(error, ObjectGone) || onMissing === "retry") {
    return { kind: "failed", by, error, secrets };
  }
  // An object that may not be read may exist: it is never dropped.
  const forbidden = error.how === "forbidden";
  if (onMissing === "drop" && !forbidden) return { kind: "dropped", reason: error.message };
  const options = { class: forbidden ? "permission" : "missing-object", cause: error };
  const missing = new PermanentError(error.message, options);
  return { kind: "failed", by: "handler", error: missing, secrets };
}

function effectMethods(buffer: EffectBuffer, signal: AbortSignal) {
  const add = (effect: Effect) => {
    if (signal.aborted) throw new PermanentError("the attempt is over; later effects are rejected");
    buffer.add(effect); // H2
  };
  return {
    upsert: (table: string, row: object) => add({ kind: "upsert", table, row: copyOf(row) }),
    delete: (table: string, key: object) => add({ kind: "delete", table, key: copyOf(key) }),
    sql(statement: string, params: readonly SqlParam[] = []) {
      const copy = Array.isArray(params) ? [...params] : params;
      const problem = sqlProblem({ statement, params: copy });
      if (problem !== null) throw new PermanentError(problem, { class: "sql" });
      add({ kind: "sql", statement, params: copy });
    },
    emit: (value: unknown) => add({ kind: "custom", value: isPlain(value) ? { ...value } : value }),
    flush: () => buffer.flush(),
  };
}

/** Whether the value is an object without methods, so that a copy of its fields is complete. */
function isPlain(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** A copy (H5). The sink rejects a value that is not an object. */
function copyOf(row: unknown): SinkRow {
  const copy = typeof row === "object" && row !== null && !Array.isArray(row) ? { ...row } : row;
  return copy as SinkRow;
}
