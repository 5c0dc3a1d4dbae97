// SNS envelopes: what a subscription without raw delivery puts around the message.
//   Y1. What is inside counts; what is outside is kept as a layer, since the attributes of the
//       publisher (a traceparent, for one) are found there and nowhere else.
//   Y2. A signature is not checked: the queue's policy says who may send to it.

import type { JsonObject } from "../../encoding/canonical-json.ts";
import { asObject, memberOf } from "../problem.ts";

/** One SNS envelope that was taken off. */
export interface SnsLayer {
  readonly topicArn: string;
  readonly messageId: string | null;
  readonly subject: string | null;
  /** As it was written. */
  readonly timestamp: string | null;
  /** FIFO topics only. */
  readonly sequenceNumber: string | null;
  /** Name -> {Type, Value}, as it came. */
  readonly attributes: JsonObject;
}

export type SnsEnvelope =
  | { readonly kind: "notification"; readonly layer: SnsLayer; readonly message: string }
  /** Confirmations of subscriptions and the like: SNS talking about itself. */
  | { readonly kind: "control"; readonly type: string };

/** What SNS wrapped, or undefined if `value` is none of its envelopes. */
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
