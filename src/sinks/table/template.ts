// Template: SQL with named parameters. A template is compiled once and bound for every record.

import type { SINK_FENCE, SinkValue, SinkWrite } from "../../core/sink-write.ts";
import type { Dialect } from "./databases/dialect.ts";

/** No name of a table or column contains it (B1 and B3 of core/table-spec.ts). */
const MARK = "\x01";
const MARKED = new RegExp(`${MARK}(\\w+)${MARK}`, "g");

const TYPES: Readonly<Record<string, "text" | "integer" | "json">> = {
  object: "text",
  sequencer: "text",
  time: "integer",
  tie: "integer",
  key: "text",
  fence: "integer",
  rows: "json",
  keys: "json",
  row_count: "integer",
  row_digest: "text",
};

/** A parameter within a template. */
export function named(name: string): string {
  return `${MARK}${name}${MARK}`;
}

export interface Template {
  readonly statement: string;
  readonly names: readonly string[];
}

export function compile(dialect: Dialect, text: string): Template {
  const names: string[] = [];
  const statement = text.replaceAll(MARKED, (_, name: string) => {
    const at = names.indexOf(name);
    const position = at < 0 ? names.push(name) : at + 1;
    return dialect.param(position, TYPES[name] ?? "any");
  });
  return { statement, names };
}

export type Bindings = Readonly<Record<string, SinkValue | typeof SINK_FENCE>>;

export function bind(
  { statement, names }: Template,
  bindings: Bindings,
  more: Omit<SinkWrite, "statement" | "params"> = {},
): SinkWrite {
  return { statement, params: names.map((name) => bindings[name] ?? null), ...more };
}
