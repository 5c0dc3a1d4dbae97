// Parameters: the checks that many actions share, each with AWS's own sentence.
//   P1. A check gives null when all is well, so that the good case allocates nothing.
//   P2. A value is echoed at most ECHO_CHARS_MAX characters long, whatever was sent.

import { refuse } from "../model/fault.ts";
import type { Refusal } from "./call.ts";

export const VISIBILITY_SECONDS_MAX = 43_200;
export const DELAY_SECONDS_MAX = 900;
export const TAGS_MAX = 50;

const ECHO_CHARS_MAX = 1_024;
const TAG_KEY_CHARS_MAX = 128;
const TAG_VALUE_CHARS_MAX = 256;
/** Letters, digits and punctuation are just what ASCII prints, without the space. */
const ORDERING_ID = /^[!-~]{1,128}$/;

/** Exactly what AWS takes in a message: the characters XML 1.0 can carry. */
const FORBIDDEN_CHARACTER = /[^\t\n\r -\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/u;

type Given<T> = T | null | undefined;

export function missing(name: string): Refusal {
  return refuse("MissingParameter", `The request must contain the parameter ${name}.`);
}

export function invalid(value: string | number, name: string, reason: string): Refusal {
  const shown = String(value).slice(0, ECHO_CHARS_MAX); // P2
  return refuse(
    "InvalidParameterValue",
    `Value ${shown} for parameter ${name} is invalid. Reason: ${reason}`,
  );
}

/** Refuses a number outside [min, max]; an absent one is fine. */
export function checkRange(
  value: Given<number>,
  name: string,
  min: number,
  max: number,
  reason: string,
): Refusal | null {
  if (value === undefined || value === null || (value >= min && value <= max)) return null;
  return invalid(value, name, reason);
}

/** MessageGroupId, MessageDeduplicationId and ReceiveRequestAttemptId share one alphabet. */
export function checkOrderingId(value: Given<string>, name: string): Refusal | null {
  if (value === undefined || value === null || ORDERING_ID.test(value)) return null;
  return invalid(
    value,
    name,
    `${name} can only include alphanumeric and punctuation characters. 1 to 128 in length.`,
  );
}

export function checkDelay(value: Given<number>): Refusal | null {
  return checkRange(
    value,
    "DelaySeconds",
    0,
    DELAY_SECONDS_MAX,
    `DelaySeconds must be >= 0 and <= ${DELAY_SECONDS_MAX}.`,
  );
}

/** The new timeout of one received message. */
export function checkNewVisibility(value: number): Refusal | null {
  if (value > VISIBILITY_SECONDS_MAX) {
    return invalid(
      value,
      "VisibilityTimeout",
      "Total VisibilityTimeout for the message is beyond the limit " +
        `[${VISIBILITY_SECONDS_MAX} seconds]`,
    );
  }
  return checkRange(value, "VisibilityTimeout", 0, VISIBILITY_SECONDS_MAX, "Must be >= 0.");
}

export function hasForbiddenCharacter(value: string): boolean {
  return FORBIDDEN_CHARACTER.test(value);
}

export function checkTags(tags: Readonly<Record<string, string>>): Refusal | null {
  const keys = Object.keys(tags);
  if (keys.length > TAGS_MAX) {
    return refuse("InvalidParameterValue", `Too many tags: a queue has at most ${TAGS_MAX}.`);
  }
  for (const key of keys) {
    if (key.length === 0 || key.length > TAG_KEY_CHARS_MAX) {
      return invalid(key, "Tag.Key", `A tag key has 1 to ${TAG_KEY_CHARS_MAX} characters.`);
    }
    if (key.toLowerCase().startsWith("aws:")) {
      return invalid(key, "Tag.Key", "Tag keys that begin with aws: are reserved.");
    }
    if (tags[key]!.length > TAG_VALUE_CHARS_MAX) {
      return invalid(key, "Tag.Value", `A tag value has up to ${TAG_VALUE_CHARS_MAX} characters.`);
    }
    if (hasForbiddenCharacter(key) || hasForbiddenCharacter(tags[key]!)) {
      return invalid(key, "Tag", "A tag holds only characters that XML can carry.");
    }
  }
  return null;
}
