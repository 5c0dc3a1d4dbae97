// Console schema: writes the types of the console's API from the OpenAPI file of its API, so that
// the page and the API cannot disagree (`node scripts/console-schema.ts`). A test compares them.

import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");

export const CONSOLE_SCHEMA = join(root, "src/console/api/api-schema.ts");

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly string[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
}

const HEADER = `// API schema: the answers of the API, as types. Written by scripts/console-schema.ts
// from docs/reference/console-api.openapi.json; do not edit it. Its length is that of the
// API, so the limit for sources does not apply (Z3 of test/tidy/sizes.ts).

export interface ApiSchema {
`;

/** The text of the types, formatted. */
export function renderConsoleSchema(): string {
  const file = join(root, "docs/reference/console-api.openapi.json");
  const { components } = JSON.parse(readFileSync(file, "utf8")) as {
    components: { schemas: Record<string, Schema> };
  };
  const types = Object.entries(components.schemas)
    .filter(([name]) => !/^(Error|Empty|Done|SendResult|UploadResult|.*Request)$/.test(name)) // Not read by the page.
    .map(([name, schema]) => `${name}: ${typeOf(schema)};`);
  return formatted(`${HEADER}${types.join("\n")}\n}\n`);
}

function typeOf(schema: Schema): string {
  if (schema.$ref !== undefined) return `ApiSchema["${schema.$ref.split("/").at(-1)}"]`;
  if (schema.anyOf !== undefined) return schema.anyOf.map(typeOf).join(" | ");
  if (schema.enum !== undefined) return schema.enum.map((each) => JSON.stringify(each)).join(" | ");
  const { type } = schema;
  if (typeof type === "object")
    return type.map((each) => typeOf({ ...schema, type: each })).join(" | ");
  if (type === "integer") return "number";
  if (type === "array") return `readonly (${typeOf(schema.items ?? {})})[]`;
  if (type === "object") return objectType(schema);
  return type ?? "unknown";
}

function objectType({ properties, required = [], additionalProperties }: Schema): string {
  if (properties === undefined) {
    const value = typeof additionalProperties === "object" ? typeOf(additionalProperties) : "never";
    return `Readonly<Record<string, ${value}>>`;
  }
  const fields = Object.entries(properties).map(([name, schema]) => {
    const optional = required.includes(name) ? "" : "?";
    const type = optional === "" ? typeOf(schema) : `${typeOf(schema)} | undefined`;
    return `readonly ${JSON.stringify(name)}${optional}: ${type}`; // The formatter unquotes it.
  });
  return `{ ${fields.join("; ")} }`;
}

function formatted(text: string): string {
  const biome = join(root, "node_modules/.bin/biome");
  const args = ["format", "--stdin-file-path=src/console/api/api-schema.ts"];
  const { status, stdout, stderr } = spawnSync(biome, args, { cwd: root, input: text });
  if (status !== 0) throw new Error(`biome failed: ${stderr}`);
  return String(stdout);
}

if (import.meta.main) writeFileSync(CONSOLE_SCHEMA, renderConsoleSchema());
