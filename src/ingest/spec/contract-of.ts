// Contract of a pipeline: what it accepts, how it identifies and orders records and where it
// writes, as a JSON document that can be stored, read by people and compared
// (policy/contract-diff.ts).
//   O1. Functions are named by a digest of their text: a changed function is noticed, not judged.
//   O2. No secret is in a contract: of the database of a sink it has scheme, host and name.
//   O3. Every field of a pipeline is in its contract: a test changes each and demands a difference.

import type { JsonObject, JsonValue } from "../../core/encoding/canonical-json.ts";
import { sha256Hex } from "../../core/encoding/hash.ts";
import { CONTRACT_VERSION, type Contract, type ContractTable } from "../policy/contract-diff.ts";
import type { Pipeline } from "./define-pipeline.ts";
import { recordedValues } from "./frozen-values.ts";
import type { TableSpec } from "./pipeline-spec.ts";
import type { StandardSchema } from "./standard-schema.ts";

const DIGEST_CHARS = 16;
const FIFO_SUFFIX = ".fifo";
const BUILT_IN = "built-in";

export function contractOf(pipeline: Pipeline): Contract {
  const { source, retention, frozen, sink } = pipeline;
  return {
    contract: CONTRACT_VERSION,
    pipeline: pipeline.name,
    source: sourceOf(pipeline),
    delivery: deliveryOf(pipeline),
    schema: schemaOf(source.own?.schema ?? pipeline.schema),
    format: jsonOf({ format: pipeline.format, ...pipeline.csv }),
    eventTime: eventTimeOf(pipeline),
    retry: jsonOf({ ...pipeline.retry }),
    policies: policiesOf(pipeline),
    mask: [...pipeline.mask].sort(),
    retention: jsonOf({ ...retention, logCommits: pipeline.logCommits }),
    handler: jsonOf({ function: pipeline.handler, ...recordedValues(frozen) }),
    sink: sinkOf(sink),
    tables: typeof sink === "object" && sink !== null ? tablesOf(sink.tables) : {},
  };
}

function sourceOf({ source, generation }: Pipeline): JsonObject {
  const { own, bucket, prefix, queue, contents } = source;
  return jsonOf({
    bucket,
    prefix,
    queue,
    contents,
    key: own?.key ?? BUILT_IN,
    decode: own?.decode ?? BUILT_IN,
    unwrapSns: own?.unwrapSns ?? true,
    generation,
  });
}

/** What queue and runtime promise, in words, and the settings that shape it. */
function deliveryOf(pipeline: Pipeline): JsonObject {
  const { lease, timeoutMs, visibilityMs, concurrency } = pipeline;
  const { own, contents, queue } = pipeline.source;
  const isFifo = queue?.endsWith(FIFO_SUFFIX) ?? false;
  const messages = own === null ? "event envelopes" : "own messages";
  return jsonOf({
    transport: contents === "objects" ? "S3 events" : messages,
    queueType: queue === null ? "chosen when it runs" : isFifo ? "FIFO" : "standard",
    deliveries: "at least once; copies with one key take effect once",
    order: orderOf(contents, isFifo),
    effects: effectsOf(pipeline.sink),
    lease,
    timeoutMs,
    visibilityMs,
    concurrency: concurrency.total,
    perKey: concurrency.perKey,
    concurrencyKey: concurrency.key,
  });
}

function orderOf(contents: Pipeline["source"]["contents"], isFifo: boolean): string {
  if (contents === "objects") return "the newest version of an object wins";
  return isFifo ? "by message group" : "none";
}

function effectsOf(sink: Pipeline["sink"]): string {
  if (sink === null) return "none";
  if (typeof sink === "object" && sink.database === null) {
    return "once, in the transaction of the ledger";
  }
  return "repeated until they succeed, under a fence that only grows";
}

function eventTimeOf({ eventTime, source }: Pipeline): JsonObject {
  const { own } = source;
  return jsonOf({
    ...eventTime,
    of: eventTime.of ?? own?.eventTime ?? (own === null ? BUILT_IN : "sent time"),
    partition: eventTime.partition ?? BUILT_IN,
  });
}

function policiesOf(pipeline: Pipeline): JsonObject {
  const { onMissing, onRemoved, onBadRow, onPoison, govern, archive } = pipeline;
  return jsonOf({ onMissing, onRemoved, onBadRow, onPoison, govern, archive });
}

function sinkOf(sink: Pipeline["sink"]): JsonObject {
  if (sink === null) return { kind: "none" };
  if (typeof sink === "function") return jsonOf({ kind: "function", function: sink });
  const { database, onReplaced, onlySql = false } = sink;
  return { kind: "tables", database: databaseName(database), onReplaced, onlySql };
}

/** O2 */
function databaseName(database: string | null): string {
  if (database === null) return "the ledger's";
  if (!URL.canParse(database)) return "another";
  const { protocol, host, pathname } = new URL(database);
  return `${protocol}//${host}${pathname}`;
}

/** Values as JSON, and functions by digest (O1). */
function jsonOf(fields: Readonly<Record<string, unknown>>): JsonObject {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(
    entries.map(([name, value]) => [
      name,
      typeof value === "function"
        ? `function sha256:${sha256Hex(value.toString()).slice(0, DIGEST_CHARS)}`
        : (value as JsonValue),
    ]),
  );
}

interface DescribedSchema {
  readonly jsonSchema?: {
    readonly input?: (options: { readonly target: string }) => JsonObject;
  };
}

/** The JSON Schema of a Standard Schema, if its library can describe it. */
function schemaOf(schema: StandardSchema<unknown> | null): JsonValue {
  if (schema === null) return null;
  const standard = schema["~standard"];
  const { jsonSchema } = standard as DescribedSchema;
  try {
    const described = jsonSchema?.input?.({ target: "draft-2020-12" });
    if (described !== undefined) return JSON.parse(JSON.stringify(described)) as JsonValue;
  } catch {
    // Some types, such as dates, have no JSON Schema. The vendor's name is all that is known then.
  }
  return `a schema of ${standard.vendor} that has no JSON Schema`;
}

function tablesOf(tables: Readonly<Record<string, TableSpec>>): Record<string, ContractTable> {
  return Object.fromEntries(
    Object.entries(tables).map(([name, { key, columns, existing = false }]) => {
      const types = Array.isArray(columns)
        ? Object.fromEntries(columns.map((column) => [column, null]))
        : { ...(columns as Readonly<Record<string, string>> | undefined) };
      return [name, { key: [...key], columns: types, existing }];
    }),
  );
}
