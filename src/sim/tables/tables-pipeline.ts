// Tables pipeline: the pipeline of simulated consumers whose files fill tables.
//   P1. A file is read by one version of the schema. If the schema is repaired meanwhile, the
//       attempt fails, and the next one reads the file again.

import { parseInstant } from "../../core/encoding/rfc3339.ts";
import { durationMs } from "../../core/units.ts";
import { type Pipeline, pipeline } from "../../ingest/spec/define-pipeline.ts";
import type { ObjectEventFacts } from "../../ingest/spec/event-facts.ts";
import { PermanentError } from "../../ingest/spec/handler-errors.ts";
import type { StandardSchema } from "../../ingest/spec/standard-schema.ts";
import { drawValues, lateFields } from "../hosts/sim-pipeline.ts";
import { BUCKET } from "../ports/sim-bucket.ts";
import type { RecordNames } from "../record-names.ts";
import { PIPELINE_NAME } from "../record-names.ts";
import type { HandlerTools } from "../world-parts.ts";
import type { SimTables } from "./sim-tables.ts";
import type { FileRow } from "./table-events.ts";
import { STAGE_LIMITS } from "./tables-topology.ts";

/** The code of a handler. */
export interface TablesCode {
  /** Part of every row that it writes. */
  readonly version: number;
  readonly acceptsBad: () => boolean;
}

/** The reason why the schema rejects a row. */
export const BAD_REASON = "the row is bad";

export function createTablesPipeline(
  tools: HandlerTools,
  world: { readonly tables: SimTables; readonly names: RecordNames },
  code: TablesCode,
): Pipeline {
  const { topology } = tools;
  const { attempts, retryBaseMs: baseMs, retryCapMs: capMs } = topology;
  const { tables, names } = world;
  const made = pipeline({
    name: PIPELINE_NAME,
    source: { bucket: BUCKET, queue: topology.fifo ? "work.fifo" : "work" },
    format: "jsonl",
    schema: schemaOf(code),
    onBadRow: "quarantine",
    onRemoved: "delete-rows",
    retry: { attempts, baseMs, capMs },
    concurrency: topology.concurrency,
    timeoutMs: topology.timeoutMs,
    visibilityMs: topology.visibilityMs,
    lease: topology.lease,
    onPoison: topology.onPoison,
    onMissing: topology.onMissing,
    eventTime: {
      ...lateFields(topology),
      of: (event: ObjectEventFacts) => eventTimeOf(tools, tables, event),
      partition: ({ object }: ObjectEventFacts) => object.key,
    },
    sink: tables.spec,
    async handler(file, context) {
      const { attempt, fence, signal, lane, watermark, upsert } = context;
      const name = names.ofOutboxKey(context.key);
      const plan = tools.planOf(name);
      tools.handling(name, attempt, fence, { lane, watermark });
      drawValues(tools, name, context);
      const acceptsBad = code.acceptsBad();
      if (plan.hanging) {
        await tools.clock.sleep(durationMs(Number.MAX_SAFE_INTEGER / 4), signal);
      }
      if (plan.durationMs > 0) await tools.clock.sleep(durationMs(plan.durationMs), signal);
      if (plan.poison) throw new PermanentError("this record is poison", { class: "poison" });
      if (attempt <= plan.failures) throw new Error(`attempt ${attempt} fails`);
      for await (const { id, n } of file.rows()) {
        (upsert as (table: string, row: object) => void)("item", { id, n, code: code.version });
      }
      if (acceptsBad !== code.acceptsBad()) throw new Error("the schema was repaired"); // P1
    },
  });
  return { ...made, effectLimits: STAGE_LIMITS };
}

/** The pipelines of consumers, whose code is repaired with the world's. */
export function tablesPipelines(
  tables: SimTables,
  names: RecordNames,
): (tools: HandlerTools) => Pipeline {
  const code = { version: 0, acceptsBad: () => tables.repaired };
  return (tools) => createTablesPipeline(tools, { tables, names }, code);
}

function schemaOf(code: TablesCode): StandardSchema<FileRow> {
  const validate = (value: unknown) => {
    const row = value as FileRow;
    return row.bad && !code.acceptsBad() ? { issues: [{ message: BAD_REASON }] } : { value: row };
  };
  return { "~standard": { version: 1, vendor: "sim", validate } };
}

/** S3 reports when a file was put; the world knows how old its contents are. */
function eventTimeOf(
  tools: HandlerTools,
  tables: SimTables,
  { object: { event_time, sequencer } }: ObjectEventFacts,
): number {
  const parsed = parseInstant(event_time);
  const putAt = parsed.kind === "instant" ? parsed.epochMs : Number.NaN;
  const name = tables.nameOfSequencer(sequencer);
  return putAt - tools.lateMsOf(name) - tools.driftMsOf(name);
}
