// Letter: what a dead letter says of itself. Its body is the whole message it came in, which may
// tell of several records; only one of them was given up on.

import { DEAD_LETTER_ATTRIBUTES, type FailureFacts } from "../ingest/dead-letters/dead-letter.ts";
import type { RecordNames } from "./record-names.ts";

export interface SimDeadLetter {
  readonly name: string;
  /** Of the attempt it was given up with. */
  readonly fence: number;
}

/** The letter that a message with these attributes is; null for any other message. */
export function simDeadLetterOf(
  attribute: (name: string) => string | undefined,
  names: Pick<RecordNames, "ofKey">,
): SimDeadLetter | null {
  const key = attribute(DEAD_LETTER_ATTRIBUTES.key);
  const facts = attribute(DEAD_LETTER_ATTRIBUTES.failure);
  if (key === undefined || facts === undefined) return null;
  return { name: names.ofKey(key), fence: (JSON.parse(facts) as FailureFacts).fence };
}

/** The records that a message is there for: a letter for its own, any other for all in its body. */
export function namesOfMessage(
  message: {
    readonly body: string;
    readonly attributes: Readonly<Record<string, { readonly value: string }>> | null;
  },
  names: Pick<RecordNames, "ofKey" | "ofBody">,
): readonly string[] {
  const { body, attributes } = message;
  const letter = simDeadLetterOf((name) => attributes?.[name]?.value, names);
  return letter === null ? names.ofBody(body) : [letter.name];
}
