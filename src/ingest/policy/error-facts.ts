// Error facts: what can be read off a thrown value, whatever it is.
//   F1. Nothing here throws. A thrown value may be anything: a string, undefined, a Proxy that
//       refuses every access, an error with a getter that fails.
//   F2. Errors are told apart by names and codes, never by class: two copies of an SDK in one
//       process do not recognise each other's classes.
//   F3. Every walk is bounded, as causes may form a circle and aggregates may be huge.

import { clampText } from "../../core/encoding/text.ts";

/** Errors looked at in one thrown value: itself, its causes, and the parts of aggregates. */
export const CHAIN_ERRORS_MAX = 32;
const WORD_UNITS_MAX = 256;
const MESSAGE_UNITS_MAX = 4_096;
const REASONS_MAX = 100;

/**
 * Where PermanentError and RetryLater say what they are, so that classes derived from them are
 * heard under any name, and those of another copy of this package too.
 */
export const HANDLER_VERDICT: unique symbol = Symbol.for("tidegate.handler-verdict");

export interface ErrorFacts {
  /** Its name and codes, as far as they are text. */
  readonly words: readonly string[];
  readonly message: string;
  /** Of an HTTP answer. */
  readonly status: number | null;
  /** Of a database that speaks SQL. */
  readonly sqlState: string | null;
  /** Codes of the parts of a DynamoDB transaction that was cancelled. */
  readonly reasons: readonly string[];
  readonly says: "permanent" | "later" | null;
  readonly errorClass: string | null;
  readonly delayMs: number | null;
}

/** The member of that name, or undefined if there is none or it cannot be read (F1). */
export function errorMember(value: unknown, name: PropertyKey): unknown {
  if ((typeof value !== "object" || value === null) && typeof value !== "function") return;
  try {
    return (value as Record<PropertyKey, unknown>)[name];
  } catch {
    return undefined;
  }
}

/** `instanceof` for a value that may refuse even to tell its prototype (F1). */
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

/** The thrown value first, then what caused it, nearest first (F3). */
export function chainOf(error: unknown): readonly unknown[] {
  const chain: unknown[] = [error];
  const seen = new Set<unknown>(chain);
  const add = (next: unknown) => {
    if (next === undefined || next === null || seen.has(next)) return;
    if (chain.length >= CHAIN_ERRORS_MAX) return;
    seen.add(next);
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

/** What one error of the chain says of itself. */
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
    says: saysOf(error, words),
    errorClass: textOf(error, "errorClass") ?? textOf(error, "class"),
    delayMs: numberOf(error, "delayMs"),
  };
}

function messageIn(error: unknown): string {
  return typeof error === "string" ? error : (textOf(error, "message") ?? "");
}

function saysOf(error: unknown, words: readonly string[]): ErrorFacts["says"] {
  const verdict = errorMember(error, HANDLER_VERDICT);
  if (verdict === "permanent" || words.includes("PermanentError")) return "permanent";
  return verdict === "later" || words.includes("RetryLater") ? "later" : null;
}

function statusOf(error: unknown): number | null {
  const places = [errorMember(error, "$metadata"), error, errorMember(error, "response")];
  for (const place of places) {
    for (const name of ["httpStatusCode", "statusCode", "status"]) {
      const status = numberOf(place, name);
      if (status !== null && status >= 100 && status <= 599) return status;
    }
  }
  return null;
}

/** Five characters, of which system errors such as EPIPE have none that is a digit. */
function sqlStateOf(error: unknown): string | null {
  const code = textOf(error, "code");
  if (code === null || !/^[0-9A-Z]{5}$/.test(code)) return null;
  const told = /\d/.test(code) || textOf(error, "severity") !== null;
  return told ? code : null;
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

/** Node gives SQLite's result as a number, other drivers as a word that may be an extended one. */
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
