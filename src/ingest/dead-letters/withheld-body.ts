// Withheld body: the body of a dead letter whose payload governance refused.
//   B1. It names the record and the message, and contains nothing that the producer wrote, except
//       the identity, which the ledger has too.
//   B2. Sent back to its queue, it is read as the same record, which then fails with the same
//       class: there is nothing to process until the producer sends the message again.

import { sha256Hex } from "../../core/encoding/hash.ts";
import { parseStrictJson } from "../../core/encoding/strict-json.ts";
import { asObject, memberOf } from "../../core/events/problem.ts";
import type { Delivery } from "../../ports/queue-receiver.ts";
import type { Dossier } from "./dossier.ts";

const MEMBER = "tidegate_withheld";
/** No body of this form is longer: an identity is short, and the rest is fixed. */
const BODY_CHARS_MAX = 16_384;
const GROUP_CHARS = 32;

/** The delivery that the dead letter is made of, instead of the one that was refused (B1). */
export function withheldDelivery(delivery: Delivery, dossier: Dossier): Delivery {
  const { idempotency_key, pipeline, queue, message_id } = dossier;
  const body = JSON.stringify({ [MEMBER]: { idempotency_key, pipeline, queue, message_id } });
  const { groupId } = delivery;
  const group = groupId === null ? null : sha256Hex(groupId).slice(0, GROUP_CHARS);
  return { ...delivery, body, attributes: {}, groupId: group };
}

/** The identity of the record in a withheld body; null for any other body. */
export function withheldIdentity(body: string): string | null {
  if (body.length > BODY_CHARS_MAX || !body.startsWith(`{"${MEMBER}":`)) return null;
  const parsed = parseStrictJson(body);
  if (parsed.kind !== "value") return null;
  const facts = asObject(memberOf(asObject(parsed.value) ?? {}, MEMBER));
  const identity = facts?.idempotency_key;
  return typeof identity === "string" && identity !== "" ? identity : null;
}

export function isWithheld({ body }: Pick<Delivery, "body">): boolean {
  return withheldIdentity(body) !== null;
}

/** Whether a delivery has another body than the one of the dossier. */
export function isOtherBody({ body_digest, withheld }: Dossier, { body }: Delivery): boolean {
  if (withheld === true) return false;
  return typeof body_digest === "string" && body_digest !== sha256Hex(body);
}

/** Whether a delivery carries a payload that was withheld, in another message. */
export function isSentAgain({ withheld, message_id }: Dossier, delivery: Delivery): boolean {
  return withheld === true && message_id !== delivery.messageId && !isWithheld(delivery);
}
