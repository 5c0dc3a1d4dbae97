// Dead letter in the simulated world: which record a dead letter is for. Its body is the whole
// original message, which may contain several records; the dead letter is for one of them.

import { DEAD_LETTER_ATTRIBUTES, type FailureFacts } from "../ingest/dead-letters/dead-letter.ts";
import type { RecordNames } from "./record-names.ts";

export interface SimDeadLetter {
  readonly name: string;
  /** Fence of the attempt that parked the record. */
  readonly fence: number;
}

/** The dead letter that these message attributes describe; null for any other message. */
export function simDeadLetterOf(
  attribute: (name: string) => string | undefined,
  names: Pick<RecordNames, "ofKey">,
): SimDeadLetter | null {
  const key = attribute(DEAD_LETTER_ATTRIBUTES.key);
  const facts = attribute(DEAD_LETTER_ATTRIBUTES.failure);
  if (key === undefined || facts === undefined) return null;
  return { name: names.ofKey(key), fence: (JSON.parse(facts) as FailureFacts).fence };
}

/** The records of a message: one for a dead letter, all in the body for any other message. */
export function namesOfMessage(
  message: {
    readonly body: string;
    readonly attributes: Readonly<Record<string, { readonly value: string }>> | null;
  },
  names: Pick<RecordNames, "ofKey" | "ofBody">,
): readonly string[] {
  const { body, attributes } = message;
  const deadLetter = simDeadLetterOf((name) => attributes?.[name]?.value, names);
  return deadLetter === null ? names.ofBody(body) : [deadLetter.name];
}
