// Contract of a pipeline: what it accepts, how it identifies records and where it writes, as a JSON
// document that can be stored, read by people and compared (policy/contract-diff.ts).
//   O1. Functions are named by a digest of their text: a changed function is noticed, not judged.
//   O2. No secret is in a contract: the database of a sink, which may contain a password, is left
//       out.

import type { JsonObject, JsonValue } from "../../core/encoding/canonical-json.ts";
import { sha256Hex } from "../../core/encoding/hash.ts";
import {
  CONTRACT_VERSION,
  type Contract,
  type ContractFunction,
  type ContractTable,
} from "../policy/contract-diff.ts";
import type { Pipeline } from "./define-pipeline.ts";
import type { TableSpec } from "./pipeline-spec.ts";
import type { StandardSchema } from "./standard-schema.ts";

const DIGEST_CHARS = 16;

export function contractOf(pipeline: Pipeline): Contract {
  const { source, retry, format, csv, sink } = pipeline;
  const { own, bucket, prefix, queue, contents } = source;
  const { onMissing, onRemoved, onPoison } = pipeline;
  return {
    contract: CONTRACT_VERSION,
    pipeline: pipeline.name,
    source: {
      bucket,
      prefix,
      queue,
      contents,
      ...(own !== null && {
        decode: typeof own.decode === "function" ? functionRef(own.decode) : own.decode,
        unwrapSns: own.unwrapSns,
      }),
    } as JsonObject,
    key: own === null ? "built-in" : refOf(own.key),
    eventTime: own === null ? "built-in" : own.eventTime === null ? "sent" : refOf(own.eventTime),
    schema: schemaOf(own?.schema ?? pipeline.schema),
    format: { format, ...csv } as JsonObject,
    retry: { attempts: retry.attempts, baseMs: retry.baseMs, capMs: retry.capMs },
    mask: [...pipeline.mask].sort(),
    govern: pipeline.govern === null ? null : functionRef(pipeline.govern),
    policies: { onMissing, onRemoved, onPoison },
    tables: typeof sink === "object" && sink !== null ? tablesOf(sink.tables) : {},
  };
}

function refOf(value: string | ((...args: never[]) => unknown)): string | ContractFunction {
  return typeof value === "function" ? functionRef(value) : value;
}

/** O1 */
function functionRef(value: (...args: never[]) => unknown) {
  return { function: `sha256:${sha256Hex(value.toString()).slice(0, DIGEST_CHARS)}` };
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
