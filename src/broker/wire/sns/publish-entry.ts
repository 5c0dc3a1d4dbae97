// Publish entries: convert a published message, single or in a batch, to the broker's input.

import { hasInvalidXmlCharacter } from "../../../core/encoding/text.ts";
import { SNS_SUBJECT_CHARACTERS_MAX } from "../../../core/limits.ts";
import { type Result, succeed } from "../../../core/result.ts";
import type { Fault } from "../../model/fault.ts";
import type { PublishEntry } from "../../model/sns/topic-operations-contract.ts";
import type { RefusedAction } from "../protocol/call.ts";
import { type FieldsOf, textShape } from "../protocol/shape.ts";
import { publishAttributes, readPublishAttributes } from "./publish-attributes.ts";
import { absent, invalidSnsParameter } from "./sns-request.ts";

/** Letters, digits and punctuation: the printable ASCII characters without the space. */
const ORDERING_ID = /^[!-~]{1,128}$/;

/** The fields of one message, shared by Publish and the entries of PublishBatch. */
export const publishFields = {
  Subject: textShape,
  Message: textShape,
  MessageStructure: textShape,
  MessageAttributes: publishAttributes,
  MessageDeduplicationId: textShape,
  MessageGroupId: textShape,
} as const;

type PublishFields = FieldsOf<typeof publishFields>;

/** `path` is the location of the entry in the request, as AWS's error messages name it. */
export function readPublishEntry(input: PublishFields, path: string): Result<PublishEntry, Fault> {
  const { Message: message, Subject: subject } = input;
  if (message === undefined || message === null) return absent(`${path}message`);
  const refused = checkTexts(message, subject) ?? checkIds(input);
  if (refused !== null) return refused;
  const read = readPublishAttributes(input.MessageAttributes, `${path}messageAttributes`);
  if (!read.ok) return read;
  const texts = readStructure(message, input.MessageStructure);
  if (!texts.ok) return texts;
  return succeed({
    body: texts.value.body,
    bodies: texts.value.bodies,
    subject: subject ?? null,
    attributes: read.value.attributes,
    sizeBytes: Buffer.byteLength(message) + read.value.sizeBytes,
    groupId: input.MessageGroupId ?? null,
    dedupId: input.MessageDeduplicationId ?? null,
  });
}

function checkTexts(message: string, subject: string | null | undefined): RefusedAction | null {
  if (message === "") return invalidSnsParameter("Empty message");
  if (hasInvalidXmlCharacter(message)) {
    return invalidSnsParameter("Message Reason: Invalid characters found");
  }
  if (subject === undefined || subject === null) return null;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it finds control characters.
  const controls = /[\u0000-\u001F\u007F]/.test(subject);
  const fits = subject !== "" && subject.length <= SNS_SUBJECT_CHARACTERS_MAX && !controls;
  return fits && !hasInvalidXmlCharacter(subject) ? null : invalidSnsParameter("Subject");
}

function checkIds(input: PublishFields): RefusedAction | null {
  for (const name of ["MessageGroupId", "MessageDeduplicationId"] as const) {
    const value = input[name];
    if (value === undefined || value === null || ORDERING_ID.test(value)) continue;
    return invalidSnsParameter(
      `${name} Reason: ${name} can only include alphanumeric and punctuation characters. ` +
        "1 to 128 in length",
    );
  }
  return null;
}

interface Texts {
  readonly body: string;
  /** Bodies for single protocols; null if all protocols get the same body. */
  readonly bodies: Readonly<Record<string, string>> | null;
}

function readStructure(
  message: string,
  structure: string | null | undefined,
): Result<Texts, Fault> {
  if (structure === undefined || structure === null) {
    return succeed({ body: message, bodies: null });
  }
  if (structure !== "json") return invalidSnsParameter("MessageStructure");
  let parsed: unknown;
  try {
    parsed = JSON.parse(message);
  } catch {
    return invalidSnsParameter("Message Structure - JSON message body failed to parse");
  }
  // Values that are not strings are ignored, even as the default.
  const texts = Object.entries(parsed ?? {}).filter(([, value]) => typeof value === "string");
  const { default: body, ...bodies } = Object.fromEntries(texts) as Record<string, string>;
  if (body === undefined) {
    return invalidSnsParameter("Message Structure - No default entry in JSON message body");
  }
  return succeed({ body, bodies });
}
