// Send entries: convert a sent message, single or in a batch, to the broker's input.

import { md5Hex } from "../../../core/encoding/hash.ts";
import { hasInvalidXmlCharacter } from "../../../core/encoding/text.ts";
import { seconds } from "../../../core/units.ts";
import { refuse } from "../../model/fault.ts";
import type { MessageAttribute, SendEntry } from "../../model/operations.ts";
import type { RefusedAction, RequestCall } from "../protocol/call.ts";
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

export interface ReadEntry {
  readonly ok: true;
  readonly entry: SendEntry;
  /** The message's own trace header; only this one gets a checksum in the response. */
  readonly ownTraceHeader: string | null;
}

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
): ReadEntry | RefusedAction {
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
  if (own !== null && typeof own !== "string") return own;
  const delay = input.DelaySeconds;
  return {
    ok: true,
    ownTraceHeader: own,
    entry: {
      body,
      sizeBytes: Buffer.byteLength(body) + read.sizeBytes,
      attributes: read.attributes,
      traceHeader: own ?? inherited,
      groupId: input.MessageGroupId ?? null,
      dedupId: input.MessageDeduplicationId ?? null,
      delayMs: delay === undefined || delay === null ? null : seconds(delay),
    },
  };
}

/** The checksums of one message; a part that it does not have gets no checksum. */
export function sentChecksums({ entry, ownTraceHeader }: ReadEntry): {
  MD5OfMessageBody: string;
  MD5OfMessageAttributes: string | undefined;
  MD5OfMessageSystemAttributes: string | undefined;
} {
  return {
    MD5OfMessageBody: md5Hex(entry.body),
    MD5OfMessageAttributes:
      entry.attributes === null ? undefined : md5OfAttributes(entry.attributes),
    MD5OfMessageSystemAttributes:
      ownTraceHeader === null ? undefined : md5OfAttributes(systemAttributes(ownTraceHeader)),
  };
}

function systemAttributes(traceHeader: string): Record<string, MessageAttribute> {
  return { AWSTraceHeader: { type: "String", value: traceHeader } };
}
