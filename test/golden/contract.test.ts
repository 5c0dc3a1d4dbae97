// Checks the published JSON Schemas and the code against the same examples. Where a schema cannot
// express a check of the code, the example says so, and why.

import { readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { describe, expect, test } from "vitest";
import { validateCloudSetup } from "../../src/cloud/setup/validate-setup.ts";
import type { JsonValue } from "../../src/core/encoding/canonical-json.ts";
import { buildEnvelope, validateEnvelope } from "../../src/core/events/envelope.ts";
import { validateObjectEvent } from "../../src/core/events/object-event-validation.ts";
import type { Checked } from "../../src/core/events/problem.ts";

interface Examples {
  readonly valid: readonly { readonly name: string; readonly value: JsonValue }[];
  readonly invalid: readonly {
    readonly name: string;
    readonly path: string;
    readonly value: JsonValue;
    readonly codeOnly?: string;
  }[];
}

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(new URL(path, import.meta.url), "utf8"));
}

const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, allErrors: true });
addFormats.default(ajv);

const contracts: readonly [string, (value: JsonValue) => Checked<unknown>][] = [
  ["message-envelope", validateEnvelope],
  ["object-event", validateObjectEvent],
  ["cloud-setup", validateCloudSetup],
];

describe.each(contracts)("%s", (name, validate) => {
  const examples = readJson(`contract/${name}.json`) as Examples;
  const schema = readJson(`../../docs/reference/schemas/${name}.schema.json`) as object;
  const matchesSchema = ajv.compile(schema);

  test.each(examples.valid)("schema and code accept $name", ({ value }) => {
    expect(matchesSchema(value), JSON.stringify(matchesSchema.errors)).toBe(true);
    const checked = validate(value);
    expect(checked).toMatchObject({ kind: "valid", value });
  });

  test.each(examples.invalid)("schema and code refuse $name", ({ value, path, codeOnly }) => {
    expect(matchesSchema(value)).toBe(codeOnly !== undefined);
    const checked = validate(value);
    if (checked.kind === "valid") throw new Error("was accepted");
    expect(checked.problems.map((problem) => problem.path)).toContain(path);
    for (const problem of checked.problems) expect(problem.reason).not.toBe("");
  });
});

test("envelopes from the builder match the published schema", () => {
  const built = buildEnvelope({
    source: "kfm.soil.refresh",
    dedupeKey: "soil/1",
    eventTime: "2026-11-15T09:00:00+01:00",
    payload: { a: 1 },
  });
  if (built.kind === "invalid") throw new Error("was refused");
  const matches = ajv.getSchema("https://tidegate.dev/schemas/message-envelope/1");
  expect(matches?.(JSON.parse(built.value.body))).toBe(true);
});
