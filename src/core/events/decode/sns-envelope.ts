// SNS envelopes: what a subscription without raw delivery wraps around the message.
//   Y1. The content counts; the envelope is kept as a layer, since only it has the attributes of
//       the publisher (for example a traceparent).
//   Y2. Signatures are not checked: the queue's policy decides who may send to it.

import type { JsonObject } from "../../encoding/canonical-json.ts";
import { asObject, memberOf } from "../problem.ts";

/** One SNS envelope that was removed. */
export interface SnsLayer {
  readonly topicArn: string;
  readonly messageId: string | null;
  readonly subject: string | null;
  /** The original text. */
  readonly timestamp: string | null;
  /** FIFO topics only. */
  readonly sequenceNumber: string | null;
  /** Name -> {Type, Value}, unchanged. */
  readonly attributes: JsonObject;
}

export type SnsEnvelope =
  | { readonly kind: "notification"; readonly layer: SnsLayer; readonly message: string }
  /** Control messages of SNS, such as subscription confirmations. */
  | { readonly kind: "control"; readonly type: string };

/** The wrapped message, or undefined if `value` is not an SNS envelope. */
export function readSnsEnvelope(value: JsonObject): SnsEnvelope | undefined {
  const type = memberOf(value, "Type");
  const topicArn = memberOf(value, "TopicArn");
  const message = memberOf(value, "Message");
  if (typeof type !== "string" || typeof topicArn !== "string") return undefined;
  if (typeof message !== "string") return undefined;
  if (type !== "Notification") return { kind: "control", type };
  const layer: SnsLayer = {
    topicArn,
    messageId: textOf(value, "MessageId"),
    subject: textOf(value, "Subject"),
    timestamp: textOf(value, "Timestamp"),
    sequenceNumber: textOf(value, "SequenceNumber"),
    attributes: asObject(memberOf(value, "MessageAttributes")) ?? {},
  };
  return { kind: "notification", layer, message };
}

function textOf(value: JsonObject, name: string): string | null {
  const member = memberOf(value, name);
  return typeof member === "string" ? member : null;
}
