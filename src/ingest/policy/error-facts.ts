// Error facts: reads names, codes and causes from any thrown value.
//   F1. Nothing here throws. A thrown value may be anything: a string, undefined, a Proxy that
//       refuses every access, an error with a getter that fails.
//   F2. Errors are recognised by names and codes, never by JavaScript class: two copies of an SDK
//       in one process do not recognise each other's classes.
//   F3. Every walk is bounded, because causes may form a cycle and aggregates may be huge.

import { clampText } from "../../core/encoding/text.ts";

/** Errors examined per thrown value: itself, its causes, and the errors of aggregates. */
export const CHAIN_ERRORS_MAX = 32;
const WORD_UNITS_MAX = 256;
const MESSAGE_UNITS_MAX = 4_096;
const REASONS_MAX = 100;

/**
 * The property by which PermanentError and RetryLater are recognised. It also works for classes
 * derived from them and for those of another copy of this package.
 */
export const HANDLER_VERDICT: unique symbol = Symbol.for("tidegate.handler-verdict");

export interface ErrorFacts {
  /** The name and the codes that are strings. */
  readonly words: readonly string[];
  readonly message: string;
  /** HTTP status. */
  readonly status: number | null;
  /** SQLSTATE of a database error. */
  readonly sqlState: string | null;
  /** Reason codes of a cancelled DynamoDB transaction. */
  readonly reasons: readonly string[];
  /** The retry that PermanentError or RetryLater asks for. */
  readonly asks: "permanent" | "later" | null;
  readonly errorClass: string | null;
  readonly delayMs: number | null;
}

/** The property, or undefined if it does not exist or cannot be read (F1). */
export function errorMember(value: unknown, name: PropertyKey): unknown {
  if ((typeof value !== "object" || value === null) && typeof value !== "function") return;
  try {
    return (value as Record<PropertyKey, unknown>)[name];
  } catch {
    return undefined;
  }
}

/** `instanceof` that returns false if the prototype cannot be read (F1). */
export function isOf<T>(value: unknown, type: abstract new (...args: never[]) => T): value is T {
  try {
    return value instanceof type;
  } catch {
    return false;
  }
}

export function textOf(value: unknown, name: PropertyKey): string | null {
  const text = errorMember(value, name);
  return typeof text === "string" && text !== "" ? text : null;
}

function numberOf(value: unknown, name: PropertyKey): number | null {
  const number = errorMember(value, name);
  return typeof number === "number" ? number : null;
}

/** The thrown value, then its causes, nearest first (F3). */
export function chainOf(error: unknown): readonly unknown[] {
  const chain: unknown[] = [error];
  const visited = new Set<unknown>(chain);
  const add = (next: unknown) => {
    if (next === undefined || next === null || visited.has(next)) return;
    if (chain.length >= CHAIN_ERRORS_MAX) return;
    visited.add(next);
    chain.push(next);
  };
  for (const each of chain) {
    add(errorMember(each, "cause"));
    const parts = errorMember(each, "errors");
    const count = Math.min(numberOf(parts, "length") ?? 0, CHAIN_ERRORS_MAX);
    for (let at = 0; at < count; at += 1) add(errorMember(parts, at));
  }
  return chain;
}

export function errorFacts(error: unknown): ErrorFacts {
  const words = ["name", "code", "Code", "__type"]
    .map((name) => textOf(error, name))
    .concat(sqliteWord(error))
    .filter((word) => word !== null && word.length <= WORD_UNITS_MAX) as string[];
  return {
    words,
    message: clampText(messageIn(error), MESSAGE_UNITS_MAX),
    status: statusOf(error),
    sqlState: sqlStateOf(error),
    reasons: reasonsOf(error),
    asks: asksOf(error, words),
    errorClass: textOf(error, "errorClass") ?? textOf(error, "class"),
    delayMs: numberOf(error, "delayMs"),
  };
}

function messageIn(error: unknown): string {
  return typeof error === "string" ? error : (textOf(error, "message") ?? "");
}

function asksOf(error: unknown, words: readonly string[]): ErrorFacts["asks"] {
  const verdict = errorMember(error, HANDLER_VERDICT);
  if (verdict === "permanent" || words.includes("PermanentError")) return "permanent";
  return verdict === "later" || words.includes("RetryLater") ? "later" : null;
}

function statusOf(error: unknown): number | null {
  const holders = [errorMember(error, "$metadata"), error, errorMember(error, "response")];
  for (const holder of holders) {
    for (const name of ["httpStatusCode", "statusCode", "status"]) {
      const status = numberOf(holder, name);
      if (status !== null && status >= 100 && status <= 599) return status;
    }
  }
  return null;
}

/** Five characters. A code without a digit, such as EPIPE, needs a `severity` to count. */
function sqlStateOf(error: unknown): string | null {
  const code = textOf(error, "code");
  if (code === null || !/^[0-9A-Z]{5}$/.test(code)) return null;
  const isSqlState = /\d/.test(code) || textOf(error, "severity") !== null;
  return isSqlState ? code : null;
}

/** Primary result codes of SQLite that the table has rows for. */
const SQLITE_RESULTS: ReadonlyMap<number, string> = new Map([
  [1, "SQLITE_ERROR"],
  [3, "SQLITE_PERM"],
  [5, "SQLITE_BUSY"],
  [6, "SQLITE_LOCKED"],
  [8, "SQLITE_READONLY"],
  [10, "SQLITE_IOERR"],
  [13, "SQLITE_FULL"],
  [14, "SQLITE_CANTOPEN"],
  [18, "SQLITE_TOOBIG"],
  [19, "SQLITE_CONSTRAINT"],
  [20, "SQLITE_MISMATCH"],
]);

/** Node reports SQLite's result code as a number, other drivers as a word, maybe extended. */
function sqliteWord(error: unknown): string | null {
  const code = textOf(error, "code") ?? "";
  if (code === "ERR_SQLITE_ERROR") {
    return SQLITE_RESULTS.get((numberOf(error, "errcode") ?? 0) & 0xff) ?? null;
  }
  return /^SQLITE_[A-Z]+/.exec(code)?.[0] ?? null;
}

function reasonsOf(error: unknown): readonly string[] {
  const reasons = errorMember(error, "CancellationReasons");
  const count = Math.min(numberOf(reasons, "length") ?? 0, REASONS_MAX);
  const codes: string[] = [];
  for (let at = 0; at < count; at += 1) {
    const code = textOf(errorMember(reasons, at), "Code");
    if (code !== null && code !== "None") codes.push(code);
  }
  return codes;
}
