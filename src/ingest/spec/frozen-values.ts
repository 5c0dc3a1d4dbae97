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

/** Names and versions of models. */
export type ModelVersions = Readonly<Record<string, string>>;

/** The fields of a pipeline that are frozen. */
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
export function frozenOf(spec: Partial<FrozenValues>): FrozenValues {
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

/** Fields of a spec that cannot be frozen, which may have been written without types. */
export function frozenProblems(spec: object): string[] {
  const { seed = "", parameters = {}, models = {}, lookups = {} } = spec as Record<string, unknown>;
  const problems: string[] = [];
  if (typeof seed !== "string" || seed.length > SEED_CHARS_MAX || !seed.isWellFormed()) {
    problems.push(`seed must be text of up to ${SEED_CHARS_MAX} characters`);
  }
  for (const [name, value] of Object.entries({ parameters, models, lookups })) {
    problems.push(...jsonProblems(name, value));
  }
  if (isPlainObject(models)) {
    const others = Object.entries(models).filter(([, version]) => typeof version !== "string");
    problems.push(...others.map(([name]) => `models.${name} must be a version, as text`));
  }
  if (problems.length > 0) return problems;
  const recorded = recordedValues(frozenOf({ parameters, models, lookups } as FrozenValues));
  const chars = JSON.stringify(recorded).length;
  if (chars <= FROZEN_CHARS_MAX) return [];
  return [
    `parameters and models have ${chars} characters, more than ${FROZEN_CHARS_MAX}; ` +
      "move large values to lookups",
  ];
}

function jsonProblems(name: string, value: unknown): string[] {
  if (!isPlainObject(value)) return [`${name} must be an object`];
  try {
    canonicalJson(value);
    return [];
  } catch (error) {
    const reason = error instanceof TidegateError ? error.message : String(error);
    return [`${name} must be JSON: ${reason}`];
  }
}

function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
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
