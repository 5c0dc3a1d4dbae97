// Frozen values: the values of a pipeline that its handler reads, and that a run records.
//   Z1. Values are JSON, copied and deeply frozen: no handler changes what the run recorded.
//   Z2. Parameters and models are stored with the run by value, so that a manifest can be run again
//       with them. Lookups may be large, so the run stores their digests.

import {
  canonicalJson,
  type JsonObject,
  type JsonValue,
} from "../../core/encoding/canonical-json.ts";
import { sha256Hex } from "../../core/encoding/hash.ts";
import { TidegateError } from "../../core/errors.ts";
import { isObject } from "../../core/is-object.ts";
import { unknownFields } from "./spec-fields.ts";

/** Names and versions of models. */
export type ModelVersions = Readonly<Record<string, string>>;

/** The `frozen` values of a pipeline. */
export interface FrozenSpec {
  /** Seeds `random()` and `uuid()` of the context. Another seed gives other values. Default: "". */
  readonly seed?: string;
  /** JSON values, which runs and manifests record: keep secrets out. Default: none. */
  readonly parameters?: JsonObject;
  /** Versions of models that the handler uses, by name; recorded like parameters. Default: none. */
  readonly models?: ModelVersions;
  /** JSON of any size that the handler looks values up in; recorded by digest. Default: none. */
  readonly lookups?: JsonObject;
}

/** One of the frozen values, as the handler's context has it: an empty object without it. */
export type FrozenField<
  Z extends FrozenSpec,
  Name extends "parameters" | "models" | "lookups",
> = unknown extends Z[Name] ? Record<never, never> : NonNullable<Z[Name]>;

/** The same of a validated pipeline. */
export interface FrozenValues {
  readonly seed: string;
  readonly parameters: JsonObject;
  readonly models: ModelVersions;
  readonly lookups: JsonObject;
}

/** What a run stores of them (Z2). */
export interface RecordedValues {
  readonly seed: string;
  readonly parameters: JsonObject;
  readonly models: ModelVersions;
  /** SHA-256 of the canonical JSON of each lookup, by name. */
  readonly lookups: Readonly<Record<string, string>>;
}

/** A run's row has them, and DynamoDB stores a row of 400 KB. */
export const FROZEN_CHARS_MAX = 8_192;
const SEED_CHARS_MAX = 256;

/** The frozen values of a spec whose problems are none. */
export function frozenOf(spec: FrozenSpec = {}): FrozenValues {
  return {
    seed: spec.seed ?? "",
    parameters: frozenCopy(spec.parameters ?? {}),
    models: frozenCopy(spec.models ?? {}),
    lookups: frozenCopy(spec.lookups ?? {}),
  };
}

export function recordedValues({
  seed,
  parameters,
  models,
  lookups,
}: FrozenValues): RecordedValues {
  const digests = Object.entries(lookups).map(([name, value]) => [
    name,
    sha256Hex(canonicalJson(value)),
  ]);
  return { seed, parameters, models, lookups: Object.fromEntries(digests) };
}

const FROZEN: Readonly<Record<keyof FrozenSpec, true>> = {
  seed: true,
  parameters: true,
  models: true,
  lookups: true,
};

/** The problems of `frozen`, which may have been written without types. */
export function frozenProblems(frozen: unknown = {}): string[] {
  if (!isObject(frozen)) return ["frozen must be an object"];
  const { seed = "", parameters = {}, models = {}, lookups = {} } = frozen;
  const problems = unknownFields("frozen", frozen, FROZEN);
  if (typeof seed !== "string" || seed.length > SEED_CHARS_MAX || !seed.isWellFormed()) {
    problems.push(`frozen.seed must be text of up to ${SEED_CHARS_MAX} characters`);
  }
  for (const [name, value] of Object.entries({ parameters, models, lookups })) {
    problems.push(...jsonProblems(name, value));
  }
  if (isObject(models)) {
    const others = Object.entries(models).filter(([, version]) => typeof version !== "string");
    problems.push(...others.map(([name]) => `frozen.models.${name} must be a version, as text`));
  }
  if (problems.length > 0) return problems;
  const recorded = recordedValues(frozenOf({ parameters, models, lookups } as FrozenSpec));
  const chars = JSON.stringify(recorded).length;
  if (chars <= FROZEN_CHARS_MAX) return [];
  return [
    `frozen.parameters and frozen.models have ${chars} characters, more than ` +
      `${FROZEN_CHARS_MAX}; move large values to frozen.lookups`,
  ];
}

function jsonProblems(name: string, value: unknown): string[] {
  if (!isObject(value)) return [`frozen.${name} must be an object`];
  try {
    canonicalJson(value);
    return [];
  } catch (error) {
    const reason = error instanceof TidegateError ? error.message : String(error);
    return [`frozen.${name} must be JSON: ${reason}`];
  }
}

/** Z1 */
function frozenCopy<T extends JsonValue | ModelVersions>(value: T): T {
  return deepFreeze(structuredClone(value));
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  for (const inner of Object.values(value)) deepFreeze(inner);
  return Object.freeze(value);
}
