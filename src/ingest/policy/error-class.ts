// Error class: decides from a thrown value whether its record is retried.
//   L1. The pipeline's `retry.classify` decides first. PermanentError and RetryLater anywhere in the
//       chain of causes come second. The table comes last: the thrown value, then its causes.
//       A GovernanceError is final: another class would store the payload that it withholds.
//   L2. Nothing here throws, whatever the handler threw and whatever `retry.classify` does. An error
//       that nothing recognises is "unknown", which is retried.
//   L3. A class is a short word that every store can hold.
//   L4. `shown` removes masked values from a class that a handler chose, before it is cut.

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

/** A pipeline's own judgement of an error; undefined leaves it to the built-in table. */
export type ErrorClassifier = (error: unknown) => ErrorVerdict | undefined;

export interface ErrorVerdict {
  /** A short word for metrics and `tidegate dlq list --class`, such as "throttling". */
  readonly errorClass: string;
  /** "never" dead-letters the record immediately. */
  readonly retry: "backoff" | "never";
}

/** Whether a failed record is retried, and what caused the failure. */
export interface Verdict {
  readonly errorClass: string;
  /** "later" waits for `delayMs`; "backoff" waits longer with every attempt. */
  readonly retry: "backoff" | "never" | "later";
  readonly delayMs?: DurationMs;
  /** The dependency that has to recover; feeds the circuit breaker. */
  readonly blames: Blame;
}

const CLASS_UNITS_MAX = 64;

/** The verdict on any thrown value (L1). */
export function classify(
  error: unknown,
  classifier: ErrorClassifier | null = null,
  shown: (text: string) => string = (text) => text,
): Verdict {
  const chain = chainOf(error).map((each) => ({ error: each, facts: errorFacts(each) }));
  const refuses = ({ facts }: { facts: ErrorFacts }) => facts.words.includes("GovernanceError");
  if (chain.some(refuses)) return verdictOf("governance"); // L1
  const table = () => chain.map(tableVerdict).find((verdict) => verdict !== null);
  const fromClassifier = classifier === null ? null : askClassifier(error, classifier, shown);
  // A classifier does not name a cause, so the table does.
  if (fromClassifier !== null) return { ...fromClassifier, blames: table()?.blames ?? "record" };
  const fromHandler = chain
    .map(({ facts }) => handlerVerdict(facts, shown))
    .find((verdict) => verdict !== null);
  return fromHandler ?? table() ?? verdictOf("unknown");
}

/** The verdict on a failure that the runtime detects itself, without a thrown value. */
export function verdictOf(errorClass: BuiltInClass): Verdict {
  return verdictIn(ERROR_TABLE.find((row) => row.errorClass === errorClass) ?? UNKNOWN_ROW);
}

function verdictIn({ errorClass, retry, blames }: ErrorRow): Verdict {
  return { errorClass, retry, blames };
}

function askClassifier(
  error: unknown,
  classifier: ErrorClassifier,
  shown: (text: string) => string,
): Omit<Verdict, "blames"> | null {
  try {
    const verdict: unknown = classifier(error);
    const errorClass = textOf(verdict, "errorClass");
    const retry = errorMember(verdict, "retry");
    if (errorClass === null || (retry !== "backoff" && retry !== "never")) return null;
    return { errorClass: wordOf(shown(errorClass)), retry };
  } catch {
    return null; // A classifier that throws has no verdict; the original error matters more (L2).
  }
}

/** The verdict of PermanentError and RetryLater. */
function handlerVerdict(
  { asks, errorClass, delayMs }: ErrorFacts,
  shown: (text: string) => string,
): Verdict | null {
  if (asks === "permanent") {
    const word = wordOf(shown(errorClass ?? "permanent")); // L4
    return { errorClass: word, retry: "never", blames: "record" };
  }
  if (asks !== "later") return null;
  const later = { errorClass: "retry-later", blames: "record" } as const;
  if (delayMs === null || Number.isNaN(delayMs)) return { ...later, retry: "backoff" };
  const bounded = Math.floor(Math.min(DELAY_MS_MAX, Math.max(0, delayMs)));
  return { ...later, retry: "later", delayMs: durationMs(bounded) };
}

function tableVerdict({ error, facts }: { error: unknown; facts: ErrorFacts }): Verdict | null {
  if (facts.errorClass === "governance") return verdictOf("governance");
  const row = ERROR_TABLE.find((each) => matches(each, facts));
  if (row !== undefined) return verdictIn(row);
  if (errorMember(error, "$fault") === "server") return verdictOf("server");
  if (facts.sqlState !== null && textOf(error, "severity") !== null) {
    return { errorClass: "postgres", retry: "backoff", blames: "record" };
  }
  return ownCode(error, facts);
}

function matches(row: ErrorRow, facts: ErrorFacts): boolean {
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

/** Tidegate's own codes without a row, of this version or another, carry a retry verdict. */
function ownCode(error: unknown, { words }: ErrorFacts): Verdict | null {
  const code = words.find((word) => word.startsWith("TG_"));
  if (code === undefined) return null;
  const ownRetry = Object.hasOwn(ERROR_CODES, code) ? ERROR_CODES[code as ErrorCode].retry : null;
  return (ownRetry ?? errorMember(error, "retry")) === "never"
    ? { errorClass: "refused", retry: "never", blames: "record" }
    : { errorClass: "unavailable", retry: "backoff", blames: "record" };
}

/** Makes any class name storable, listable and typeable on a command line (L3). */
function wordOf(text: string): string {
  const word = text.toWellFormed().replace(/[\s\p{C}]+/gu, "-");
  return clampText(word, CLASS_UNITS_MAX);
}
