// Error class: what a thrown value means for its record.
//   L1. A user's rules are asked first, then PermanentError and RetryLater anywhere in the chain of
//       causes, then the table, for the thrown value first and its causes after it.
//   L2. Nothing here throws, whatever was thrown and whatever a rule does; in doubt it is "unknown",
//       which is tried again.
//   L3. A class is a word that every store can keep.

import { clampText } from "../../core/encoding/text.ts";
import { ERROR_CODES, type ErrorCode } from "../../core/errors.ts";
import { type DurationMs, durationMs } from "../../core/units.ts";
import { chainOf, type ErrorFacts, errorFacts, errorMember, textOf } from "./error-facts.ts";
import {
  type Blame,
  type BuiltInClass,
  ERROR_TABLE,
  type ErrorRow,
  UNKNOWN_ROW,
} from "./error-table.ts";
import { DELAY_MS_MAX } from "./retry.ts";

/** An answer to "is this error worth another try?"; the first rule that answers is heard. */
export type ErrorRule = (error: unknown) => ErrorVerdict | undefined;

export interface ErrorVerdict {
  /** A word, such as "throttling" or "schema". */
  readonly errorClass: string;
  readonly retry: "backoff" | "never";
}

/** What is to become of a record that failed, and on whose account. */
export interface Verdict {
  readonly errorClass: string;
  /** "later" waits for `delayMs`, "backoff" for as long as the attempt says. */
  readonly retry: "backoff" | "never" | "later";
  readonly delayMs?: DurationMs;
  /** What would have to recover; feeds the circuit breaker. */
  readonly blames: Blame;
}

const CLASS_UNITS_MAX = 64;

/** The verdict on anything that was thrown (L1). */
export function classify(error: unknown, rules: readonly ErrorRule[] = []): Verdict {
  const chain = chainOf(error).map((each) => ({ error: each, facts: errorFacts(each) }));
  const table = () => chain.map(judged).find((verdict) => verdict !== null);
  const ruled = askRules(error, rules);
  // A rule knows its error, but not always what is at fault: that is still the table's to say.
  if (ruled !== null) return { ...ruled, blames: table()?.blames ?? "record" };
  const spoken = chain.map(({ facts }) => said(facts)).find((verdict) => verdict !== null);
  return spoken ?? table() ?? verdictOf("unknown");
}

/** The verdict on what the runtime saw itself, without anything being thrown. */
export function verdictOf(errorClass: BuiltInClass): Verdict {
  return verdictIn(ERROR_TABLE.find((row) => row.errorClass === errorClass) ?? UNKNOWN_ROW);
}

function verdictIn({ errorClass, retry, blames }: ErrorRow): Verdict {
  return { errorClass, retry, blames };
}

function askRules(error: unknown, rules: readonly ErrorRule[]): Omit<Verdict, "blames"> | null {
  for (const rule of rules) {
    try {
      const answer: unknown = rule(error);
      const errorClass = textOf(answer, "errorClass");
      const retry = errorMember(answer, "retry");
      if (errorClass === null || (retry !== "backoff" && retry !== "never")) continue;
      return { errorClass: wordOf(errorClass), retry };
    } catch {
      // A rule that fails has not answered; the error it was asked about matters more (L2).
    }
  }
  return null;
}

/** What PermanentError and RetryLater say. */
function said({ says, errorClass, delayMs }: ErrorFacts): Verdict | null {
  if (says === "permanent") {
    return { errorClass: wordOf(errorClass ?? "permanent"), retry: "never", blames: "record" };
  }
  if (says !== "later") return null;
  const asked = { errorClass: "retry-later", blames: "record" } as const;
  if (delayMs === null || Number.isNaN(delayMs)) return { ...asked, retry: "backoff" };
  const bounded = Math.floor(Math.min(DELAY_MS_MAX, Math.max(0, delayMs)));
  return { ...asked, retry: "later", delayMs: durationMs(bounded) };
}

function judged({ error, facts }: { error: unknown; facts: ErrorFacts }): Verdict | null {
  if (facts.errorClass === "governance") return verdictOf("governance");
  const row = ERROR_TABLE.find((each) => fits(each, facts));
  if (row !== undefined) return verdictIn(row);
  if (errorMember(error, "$fault") === "server") return verdictOf("server");
  if (facts.sqlState !== null && textOf(error, "severity") !== null) {
    return { errorClass: "postgres", retry: "backoff", blames: "record" };
  }
  return ownCode(error, facts);
}

function fits(row: ErrorRow, facts: ErrorFacts): boolean {
  const { words, sqlStates, statuses, reasons, messages } = row;
  const { sqlState, status, message } = facts;
  return (
    (words?.some((word) => facts.words.includes(word)) ?? false) ||
    (sqlState !== null && (sqlStates?.some((start) => sqlState.startsWith(start)) ?? false)) ||
    (reasons?.some((reason) => facts.reasons.includes(reason)) ?? false) ||
    (status !== null &&
      (statuses?.some(([from, to]) => status >= from && status <= to) ?? false)) ||
    (messages?.some((start) => message.startsWith(start)) ?? false)
  );
}

/** Codes of ours that have no row, of this version or another, say whether to try again. */
function ownCode(error: unknown, { words }: ErrorFacts): Verdict | null {
  const code = words.find((word) => word.startsWith("TG_"));
  if (code === undefined) return null;
  const known = Object.hasOwn(ERROR_CODES, code) ? ERROR_CODES[code as ErrorCode].retry : null;
  return (known ?? errorMember(error, "retry")) === "never"
    ? { errorClass: "refused", retry: "never", blames: "record" }
    : { errorClass: "unavailable", retry: "backoff", blames: "record" };
}

/** Whatever a user's class is called, it can be stored, listed and typed on a command line (L3). */
function wordOf(text: string): string {
  const word = text.toWellFormed().replace(/[\s\p{C}]+/gu, "-");
  return clampText(word, CLASS_UNITS_MAX);
}
