// Archived form: the message of a record, as it may be stored.
//   F1. A message that `govern` had masked is stored masked: neither its body nor its attributes
//       contain a value that the handler did not get.
//   F2. A message whose key is masked is not archived: its record is named by the key.
//   F3. A claim check is stored with its reference, never with its payload. A masked one is not
//       archived if the mask covers the reference, or a hidden value is part of it.
//   F4. Events of objects are not archived: the bucket has the object. Nor is a dropped message,
//       since nothing judged its payload.

import type { JsonValue } from "../../core/encoding/canonical-json.ts";
import type { ArchivedMessage } from "../../core/events/archived-message.ts";
import type { MessageEnvelope } from "../../core/events/envelope.ts";
import type { Delivery } from "../../ports/queue-receiver.ts";
import type { OwnMessageInput } from "../spec/own-source.ts";
import type { WorkRecord } from "../stages/decode.ts";

/** What the handler got instead of the message. */
export type MaskedMessage =
  | { readonly kind: "message"; readonly envelope: MessageEnvelope }
  | { readonly kind: "own"; readonly input: OwnMessageInput<unknown> }
  /** The message may not be stored (F3, F4). */
  | { readonly kind: "withheld" };

/** Null for a record that is not archived (F2, F3, F4). */
export function archivedForm(
  { identity, content, businessKey }: WorkRecord,
  delivery: Delivery,
  masked: MaskedMessage | null,
): ArchivedMessage | null {
  if (content.kind !== "message" && content.kind !== "own") return null; // F4
  const { body, attributes, groupId, dedupId = null, sentAt, messageId } = delivery;
  const plain = { identity, groupId, dedupId, sentAt, messageId };
  if (masked === null) return { ...plain, masked: false, body, attributes };
  if (masked.kind === "withheld") return null; // F3, F4
  const key = masked.kind === "own" ? masked.input.key : masked.envelope.dedupe_key;
  if (key !== businessKey) return null; // F2
  const shownId = dedupId === key ? dedupId : null;
  return { ...plain, dedupId: shownId, masked: true, ...maskedParts(masked) }; // F1
}

function maskedParts(
  masked: Exclude<MaskedMessage, { kind: "withheld" }>,
): Pick<ArchivedMessage, "body" | "attributes"> {
  if (masked.kind === "message") return { body: JSON.stringify(masked.envelope), attributes: {} };
  const { body, attributes } = masked.input;
  const text = typeof body === "string" ? body : JSON.stringify(body as JsonValue);
  return { body: text, attributes };
}
