// SQL statement: a statement of a handler, to run within the ledger's commit.
//   Q1. One statement that reads or changes rows. Anything that would end the transaction, or hide
//       a second statement behind the first, is rejected before it reaches a database.
//   Q2. Values are parameters. A value that no database stores is rejected with its position.

import type { SinkValue, SinkWrite } from "./sink-write.ts";

/** A parameter of a statement. */
export type SqlParam = string | number | bigint | boolean | null | Date | Uint8Array;

export interface SqlStatement {
  readonly statement: string;
  readonly params: readonly SqlParam[];
}

export const SQL_STATEMENT_CHARS_MAX = 100_000;
const FIRST_WORD = /^(insert|update|delete|merge|replace|select|with)\b/i;
/** Quoted texts and names, dollar quotes and comments. */
const OPAQUE = /'(?:[^']|'')*'|"(?:[^"]|"")*"|\$(\w*)\$[\s\S]*?\$\1\$|--[^\n]*|\/\*[\s\S]*?\*\//g;

/** What is wrong with a statement; null if it may run (Q1, Q2). */
export function sqlProblem({ statement, params }: SqlStatement): string | null {
  if (typeof statement !== "string") return "the statement of sql() must be text";
  if (!Array.isArray(params)) return "the parameters of sql() must be a list";
  if (statement.length > SQL_STATEMENT_CHARS_MAX) {
    return `the statement of sql() has more than ${SQL_STATEMENT_CHARS_MAX} characters; use params`;
  }
  if (statement.includes("\\'") || statement.includes("\0")) {
    return "the statement of sql() escapes a quote or contains NUL; pass the value in params";
  }
  const plain = statement.replaceAll(OPAQUE, " x ").trim();
  const text = plain.replace(/^(x\s+)+/, "").replace(/[\s;]+$/, "");
  if (!FIRST_WORD.test(text)) {
    const words = "INSERT, UPDATE, DELETE, MERGE, REPLACE, SELECT or WITH";
    return `the statement of sql() must start with ${words}`;
  }
  if (/['"]/.test(text)) return "the statement of sql() has a quote that does not end";
  if (/;(?!(\s|x\b)*$)/.test(text)) return "sql() takes one statement; call it once for each";
  const bad = params.findIndex((param) => !isParam(param));
  return bad < 0 ? null : `parameter ${bad + 1} of sql() is not a value that a database stores`;
}

/** Also a date of another realm. */
function isDate(param: unknown): param is Date {
  return Object.prototype.toString.call(param) === "[object Date]";
}

function isParam(param: unknown): param is SqlParam {
  if (param === null || param instanceof Uint8Array) return true;
  if (isDate(param)) return !Number.isNaN(param.getTime());
  if (typeof param === "number") return Number.isFinite(param);
  return ["string", "bigint", "boolean"].includes(typeof param);
}

/** The statement for a store; booleans and dates are written as the database reads them. */
export function sqlWrite(
  { statement, params }: SqlStatement,
  dialect: "sqlite" | "postgres",
): SinkWrite {
  // Not kept prepared: its text may differ from record to record.
  return { statement, params: params.map((param) => sinkValue(param, dialect)), once: true };
}

function sinkValue(param: SqlParam, dialect: "sqlite" | "postgres"): SinkValue {
  if (isDate(param)) return param.toISOString();
  if (typeof param !== "boolean") return param;
  return dialect === "sqlite" ? Number(param) : String(param);
}
