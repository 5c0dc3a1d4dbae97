// Send entries: convert a sent message, single or in a batch, to the broker's input.

import { md5Hex } from "../../../core/encoding/hash.ts";
import { hasInvalidXmlCharacter } from "../../../core/encoding/text.ts";
import { type Result, succeed } from "../../../core/result.ts";
import { seconds } from "../../../core/units.ts";
import { type Fault, refuse } from "../../model/fault.ts";
import type { MessageAttribute, SendEntry } from "../../model/operations.ts";
import type { RequestCall } from "../protocol/call.ts";
import { checkDelay, checkOrderingId } from "../protocol/parameters.ts";
import {
  type FieldsOf,
  integerShape,
  messageAttributes,
  messageSystemAttributes,
  textShape,
} from "../protocol/shape.ts";
import { md5OfAttributes } from "./md5-attributes.ts";
import { readAttributes, readTraceHeader } from "./message-attributes.ts";

/** The fields of one message, shared by SendMessage and the entries of SendMessageBatch. */
export const sendFields = {
  MessageBody: textShape,
  DelaySeconds: integerShape,
  MessageAttributes: messageAttributes,
  MessageSystemAttributes: messageSystemAttributes,
  MessageDeduplicationId: textShape,
  MessageGroupId: textShape,
} as const;

/** The output of SendMessage, and of each successful entry of SendMessageBatch. */
export const sentFields = {
  MD5OfMessageBody: textShape,
  MD5OfMessageAttributes: textShape,
  MD5OfMessageSystemAttributes: textShape,
  MessageId: textShape,
  SequenceNumber: textShape,
} as const;

export type SendFields = FieldsOf<typeof sendFields>;

/** The trace header of the HTTP request; messages without their own inherit it. */
export function inheritedTraceHeader(call: Pick<RequestCall, "request">): string | null {
  const header = call.request.headers["x-amzn-trace-id"];
  if (header === undefined || header === "" || hasInvalidXmlCharacter(header)) return null;
  return header;
}

/** Reads one message, whose body must be present. `inherited` is the request's trace header. */
export function readSendEntry(
  input: SendFields,
  inherited: string | null,
): Result<SendEntry, Fault> {
  const body = input.MessageBody!;
  if (hasInvalidXmlCharacter(body)) {
    return refuse(
      "InvalidMessageContents",
      "Invalid characters found. Valid unicode characters are #x9 | #xA | #xD | " +
        "#x20 to #xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF",
    );
  }
  const refused =
    checkDelay(input.DelaySeconds) ??
    checkOrderingId(input.MessageGroupId, "MessageGroupId") ??
    checkOrderingId(input.MessageDeduplicationId, "MessageDeduplicationId");
  if (refused !== null) return refused;
  const read = readAttributes(input.MessageAttributes);
  if (!read.ok) return read;
  const own = readTraceHeader(input.MessageSystemAttributes);
  if (!own.ok) return own;
  const delay = input.DelaySeconds;
  return succeed({
    body,
    sizeBytes: Buffer.byteLength(body) + read.value.sizeBytes,
    attributes: read.value.attributes,
    traceHeader: own.value ?? inherited,
    groupId: input.MessageGroupId ?? null,
    dedupId: input.MessageDeduplicationId ?? null,
    delayMs: delay === undefined || delay === null ? null : seconds(delay),
  });
}

/**
 * The checksums of one message. Only a trace header that the message itself set has one; an
 * inherited header has none.
 */
export function sentChecksums(
  entry: SendEntry,
  input: Pick<SendFields, "MessageSystemAttributes">,
): {
  MD5OfMessageBody: string;
  MD5OfMessageAttributes: string | undefined;
  MD5OfMessageSystemAttributes: string | undefined;
} {
  const ownTraceHeader = input.MessageSystemAttributes?.AWSTraceHeader?.StringValue;
  return {
    MD5OfMessageBody: md5Hex(entry.body),
    MD5OfMessageAttributes:
      entry.attributes === null ? undefined : md5OfAttributes(entry.attributes),
    MD5OfMessageSystemAttributes: ownTraceHeader
      ? md5OfAttributes(systemAttributes(ownTraceHeader))
      : undefined,
  };
}

function systemAttributes(traceHeader: string): Record<string, MessageAttribute> {
  return { AWSTraceHeader: { type: "String", value: traceHeader } };
}
