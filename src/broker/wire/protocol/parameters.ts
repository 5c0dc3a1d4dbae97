// Parameters: checks that many actions share, each with AWS's own message.
//   P1. A check returns null on success, so that the success case allocates nothing.
//   P2. A message echoes at most ECHO_CHARS_MAX characters of a value.

import { hasInvalidXmlCharacter } from "../../../core/encoding/text.ts";
import {
  SQS_DELAY_MS_MAX,
  SQS_QUEUE_TAGS_MAX,
  SQS_TAG_KEY_CHARACTERS_MAX,
  SQS_TAG_VALUE_CHARACTERS_MAX,
  SQS_VISIBILITY_MS_MAX,
} from "../../../core/limits.ts";
import { refuse } from "../../model/fault.ts";
import type { RefusedAction } from "./call.ts";

export const VISIBILITY_SECONDS_MAX = SQS_VISIBILITY_MS_MAX / 1_000;
const DELAY_SECONDS_MAX = SQS_DELAY_MS_MAX / 1_000;

const ECHO_CHARS_MAX = 1_024;
/** Letters, digits and punctuation: the printable ASCII characters without the space. */
const ORDERING_ID = /^[!-~]{1,128}$/;

type Given<T> = T | null | undefined;

export function missing(name: string): RefusedAction {
  return refuse("MissingParameter", `The request must contain the parameter ${name}.`);
}

export function invalidParameterValue(
  value: string | number,
  name: string,
  reason: string,
): RefusedAction {
  const shown = String(value).slice(0, ECHO_CHARS_MAX); // P2
  return refuse(
    "InvalidParameterValue",
    `Value ${shown} for parameter ${name} is invalid. Reason: ${reason}`,
  );
}

/** Refuses a number outside [min, max]; an absent number passes. */
export function checkRange(
  value: Given<number>,
  name: string,
  min: number,
  max: number,
  reason: string,
): RefusedAction | null {
  if (value === undefined || value === null || (value >= min && value <= max)) return null;
  return invalidParameterValue(value, name, reason);
}

/** MessageGroupId, MessageDeduplicationId and ReceiveRequestAttemptId share one alphabet. */
export function checkOrderingId(value: Given<string>, name: string): RefusedAction | null {
  if (value === undefined || value === null || ORDERING_ID.test(value)) return null;
  return invalidParameterValue(
    value,
    name,
    `${name} can only include alphanumeric and punctuation characters. 1 to 128 in length.`,
  );
}

export function checkDelay(value: Given<number>): RefusedAction | null {
  return checkRange(
    value,
    "DelaySeconds",
    0,
    DELAY_SECONDS_MAX,
    `DelaySeconds must be >= 0 and <= ${DELAY_SECONDS_MAX}.`,
  );
}

/** The new timeout of one received message. */
export function checkNewVisibility(value: number): RefusedAction | null {
  if (value > VISIBILITY_SECONDS_MAX) {
    return invalidParameterValue(
      value,
      "VisibilityTimeout",
      "Total VisibilityTimeout for the message is beyond the limit " +
        `[${VISIBILITY_SECONDS_MAX} seconds]`,
    );
  }
  return checkRange(value, "VisibilityTimeout", 0, VISIBILITY_SECONDS_MAX, "Must be >= 0.");
}

export function checkTags(tags: Readonly<Record<string, string>>): RefusedAction | null {
  const keys = Object.keys(tags);
  if (keys.length > SQS_QUEUE_TAGS_MAX) {
    return refuse(
      "InvalidParameterValue",
      `Too many tags: a queue has at most ${SQS_QUEUE_TAGS_MAX}.`,
    );
  }
  for (const key of keys) {
    if (key.length === 0 || key.length > SQS_TAG_KEY_CHARACTERS_MAX) {
      return invalidParameterValue(
        key,
        "Tag.Key",
        `A tag key has 1 to ${SQS_TAG_KEY_CHARACTERS_MAX} characters.`,
      );
    }
    if (key.toLowerCase().startsWith("aws:")) {
      return invalidParameterValue(key, "Tag.Key", "Tag keys that begin with aws: are reserved.");
    }
    if (tags[key]!.length > SQS_TAG_VALUE_CHARACTERS_MAX) {
      return invalidParameterValue(
        key,
        "Tag.Value",
        `A tag value has up to ${SQS_TAG_VALUE_CHARACTERS_MAX} characters.`,
      );
    }
    if (hasInvalidXmlCharacter(key) || hasInvalidXmlCharacter(tags[key]!)) {
      return invalidParameterValue(key, "Tag", "A tag holds only characters that XML can carry.");
    }
  }
  return null;
}
