// Dead letters: unchanged messages in a queue where operators can inspect them.
//   X1. The ledger is written first, then the dead letter is sent, then the message is
//       acknowledged. A crash in between leaves a parked record without a dead letter, and the next
//       delivery of the message sends it.
//   X2. Key and fence identify a dead letter. A FIFO queue drops a second copy by itself. In a
//       standard queue a crash may leave two copies, which all readers count as one.
//   X3. The body is the original's, byte for byte. Attributes describe the failure, masked. The
//       original's own attributes stay next to them.
//   X4. A dead letter fits into every queue that accepts its message. If body and attributes exceed
//       the limit, the attributes that the dossier also has are left out. If not even the rest
//       fits, the dead letter is bare: the message without Tidegate attributes. A bare dead letter
//       does not name its pipeline, and other pipelines can read the same body; the dossier, which
//       stores its message id, identifies it.
//   X5. A queue may accept less than SQS allows. Its limit is read only after it has permanently
//       rejected a dead letter, because few are that long.
//   X6. A bare dead letter that was moved back is a new message, newer than the dead letter. A
//       message that was sent earlier is therefore an older copy, not a dead letter that came back.
//       Messages are dated by the queue's clock (queue-clock.ts).
//   X7. An error message may contain any character, but SQS accepts only those of XML. A rejected
//       dead letter would be sent again and again, and its record would never finish.
//   X8. The body of an own message does not show its key without its pipeline. Its dead letter
//       carries the identity, which together with the scope gives the record key. A key that is an
//       id of the queue is carried too, because the dead letter and its redrive get new ids.
//   X9. The dead letter of a message that governance refused has another body, which only names the
//       record, and neither attributes nor the group of the original (withheld-body.ts).

import { sha256Hex } from "../../core/encoding/hash.ts";
import { messageBytes } from "../../core/encoding/message-size.ts";
import { MASKED } from "../../core/encoding/secrets.ts";
import { clampText } from "../../core/encoding/text.ts";
import { TidegateError } from "../../core/errors.ts";
import type { Clock } from "../../ports/clock.ts";
import type { OutgoingMessage, QueueSender, SendOutcome } from "../../ports/queue.ts";
import type { Delivery, QueueReceiver } from "../../ports/queue-receiver.ts";
import type { Fence, RecordKey } from "../../ports/record.ts";
import { CLOCKS_APART_MS_MAX, type QueueClock } from "../running/queue-clock.ts";
import type { Dossier } from "./dossier.ts";
import { isWithheld, withheldDelivery } from "./withheld-body.ts";

/** Names of the attributes that Tidegate adds to a dead letter. */
export const DEAD_LETTER_ATTRIBUTES = {
  key: "tidegate.key",
  errorClass: "tidegate.class",
  fingerprint: "tidegate.fingerprint",
  /** JSON of the rest: fence, attempts, message, source, and attributes that did not fit. */
  failure: "tidegate.failure",
} as const;

/** Marks a redriven message: it is claimed before it runs, because its record may have changed. */
export const REDRIVEN_ATTRIBUTE = "tidegate.redriven";

/** The limit of SQS per message, including the attributes of Tidegate. */
export const ATTRIBUTES_MAX = 10;
const MESSAGE_CHARS_MAX = 512;

/** The content of `tidegate.failure`. */
export interface FailureFacts {
  readonly fence: number;
  readonly attempts: number;
  readonly message: string;
  readonly queue: string;
  readonly message_id: string;
  readonly failed_at: number;
  /** The masked `s3://bucket/key`; absent if nothing in it is masked. */
  readonly object?: string;
  /** Only of own messages: the identity, from which the record key follows (X8). */
  readonly identity?: string;
  /** Only of a key that is an id of the queue (X8). */
  readonly transport_key?: string;
  /** Attributes of the original that exceeded ATTRIBUTES_MAX. */
  readonly attributes: Readonly<Record<string, string>>;
}

/** The dead letter of a delivery (X3), with as many attributes as the queue accepts (X4). */
export function deadLetterOf(
  delivery: Delivery,
  dossier: Dossier,
  fence: Fence,
  queue: {
    readonly fifo: boolean;
    readonly messageBytesMax: number;
    readonly transportKey?: string | null;
  },
): { readonly message: OutgoingMessage; readonly bare: boolean } {
  if (dossier.withheld === true && !isWithheld(delivery)) {
    return deadLetterOf(withheldDelivery(delivery, dossier), dossier, fence, queue); // X9
  }
  const { body } = delivery;
  const { fifo, messageBytesMax, transportKey = null } = queue;
  const fits = (candidate: AddedAttributes) =>
    messageBytes(body, attributesOf(delivery, candidate)) <= messageBytesMax;
  const added = addedAttributes(delivery, dossier, fence, transportKey).find(fits) ?? BARE;
  const message = {
    body,
    attributes: attributesOf(delivery, added),
    groupId: fifo ? (delivery.groupId ?? dossier.record_key) : null,
    dedupId: fifo ? deadLetterDedupId(dossier.record_key, fence) : null, // X2
  };
  return { message, bare: added === BARE };
}

/** The attributes that Tidegate adds to those of the original. */
interface AddedAttributes {
  readonly attributes: Readonly<Record<string, string>>;
  readonly facts: Omit<FailureFacts, "attributes"> | null;
}

const BARE: AddedAttributes = { attributes: {}, facts: null };

/** All attributes, and then the fewest by which a dead letter still names its dossier. */
function addedAttributes(
  delivery: Delivery,
  dossier: Dossier,
  fence: Fence,
  transportKey: string | null,
): readonly AddedAttributes[] {
  const { attempts, queue, last_failed_at: failed_at, record_key } = dossier;
  const isOwn = typeof dossier.body_digest === "string";
  const message = clampText(dossier.message, MESSAGE_CHARS_MAX);
  const object = maskedObject(dossier);
  const facts = {
    fence,
    attempts,
    message,
    queue,
    message_id: delivery.messageId,
    failed_at,
    ...(object !== null && { object }),
    ...(isOwn && { identity: dossier.idempotency_key }), // X8
    ...(transportKey !== null && { transport_key: transportKey }), // X8
  };
  const key = { [DEAD_LETTER_ATTRIBUTES.key]: record_key };
  const all = {
    ...key,
    [DEAD_LETTER_ATTRIBUTES.errorClass]: dossier.error_class,
    [DEAD_LETTER_ATTRIBUTES.fingerprint]: dossier.fingerprint,
  };
  return [
    { attributes: all, facts },
    { attributes: key, facts: { ...facts, message: "" } },
  ];
}

/** An upper bound of the fewest attributes, including an object key in JSON escapes. */
const FEWEST_BYTES_MAX = 8_192;
const FEWEST: AddedAttributes = {
  attributes: { [DEAD_LETTER_ATTRIBUTES.key]: "" },
  facts: {
    fence: 0,
    attempts: 0,
    message: "",
    queue: "",
    message_id: "x".repeat(FEWEST_BYTES_MAX),
    failed_at: 0,
  },
};

/** Whether the attributes of Tidegate may not have fitted into a queue of that limit (X4). */
export function mayBeBare(delivery: Delivery, messageBytesMax: number): boolean {
  return messageBytes(delivery.body, attributesOf(delivery, FEWEST)) > messageBytesMax;
}

/** The object's URL if a part of it is masked (X3), otherwise null. */
function maskedObject({ object }: Dossier): string | null {
  const url = object === null ? "" : `s3://${object.bucket}/${object.key}`;
  return url.includes(MASKED) ? url : null;
}

/** The attributes of the original and of Tidegate. Those over the limit go into the failure. */
function attributesOf({ attributes }: Delivery, added: AddedAttributes): Record<string, string> {
  const originals = Object.entries(attributes).filter(([name]) => !isTidegateAttribute(name));
  if (added.facts === null) return Object.fromEntries(originals);
  const originalsMax = ATTRIBUTES_MAX - Object.keys(added.attributes).length - 1;
  const rest = Object.fromEntries(originals.slice(originalsMax));
  const facts: FailureFacts = { ...added.facts, attributes: rest };
  return {
    ...Object.fromEntries(originals.slice(0, originalsMax)),
    ...added.attributes,
    [DEAD_LETTER_ATTRIBUTES.failure]: sendableJson(facts),
  };
}

/** JSON that SQS accepts (X7): escapes two characters that JSON allows and SQS rejects. */
function sendableJson(facts: FailureFacts): string {
  return JSON.stringify(facts).replaceAll("\ufffe", "\\ufffe").replaceAll("\uffff", "\\uffff");
}

export function deadLetterDedupId(key: RecordKey | string, fence: Fence): string {
  return sha256Hex(`dead-letter ${key} ${fence}`);
}

/** Whether Tidegate adds an attribute of this name to dead letters or redriven messages. */
export function isTidegateAttribute(name: string): boolean {
  const names: readonly string[] = Object.values(DEAD_LETTER_ATTRIBUTES);
  return name === REDRIVEN_ATTRIBUTE || names.includes(name);
}

/** Whether a delivery is the dead letter of this key and fence, moved back (X2). */
export function isDeadLetterOf(delivery: Delivery, key: RecordKey, fence: Fence): boolean {
  const { key: keyName, failure } = DEAD_LETTER_ATTRIBUTES;
  if (delivery.attributes[keyName] !== key) return false;
  try {
    const facts = JSON.parse(delivery.attributes[failure] ?? "null") as FailureFacts | null;
    return facts?.fence === fence;
  } catch {
    return false; // Another program wrote an attribute of this name.
  }
}

const TRANSPORT_MARK = "key:";

/** The value of the redrive mark, which carries a key that is an id of the queue (X8). */
export function redriveMark(transportKey: string | undefined): string {
  return transportKey === undefined ? "1" : `${TRANSPORT_MARK}${transportKey}`;
}

/** The id that a redriven message or a dead letter had as its key; null without one (X8). */
export function transportKeyIn({ attributes }: Pick<Delivery, "attributes">): string | null {
  const mark = attributes[REDRIVEN_ATTRIBUTE] ?? "";
  if (mark.startsWith(TRANSPORT_MARK)) return mark.slice(TRANSPORT_MARK.length);
  const text = attributes[DEAD_LETTER_ATTRIBUTES.failure];
  if (text === undefined) return null;
  try {
    const facts = JSON.parse(text) as FailureFacts | null;
    return typeof facts?.transport_key === "string" ? facts.transport_key : null;
  } catch {
    return null; // Another program wrote an attribute of this name.
  }
}

/** Whether a delivery may be the bare dead letter of this dossier, moved back (X6). */
export function mayBeBareDeadLetter({ messageId, sentAt }: Delivery, dossier: Dossier): boolean {
  const { dead_letter: deadLetter, message_id } = dossier;
  if (deadLetter?.bare !== true || messageId === message_id) return false;
  return sentAt > (deadLetter.not_before ?? deadLetter.sent_at - CLOCKS_APART_MS_MAX);
}

export type DeadLetterQueue = QueueSender & Pick<QueueReceiver, "facts">;

/**
 * Sends a dead letter and returns what its dossier stores about it. `within` builds the dead
 * letter for a limit in bytes.
 */
export async function sendDeadLetter(
  ports: {
    readonly clock: Clock;
    readonly deadLetters: DeadLetterQueue;
    readonly queueClock: QueueClock;
  },
  within: (messageBytesMax: number) => ReturnType<typeof deadLetterOf>,
): Promise<Omit<NonNullable<Dossier["dead_letter"]>, "fence">> {
  const { clock, deadLetters, queueClock } = ports;
  const not_before = queueClock.now();
  let deadLetter = within(deadLetters.limits.messageBytesMax);
  let outcome = await send(deadLetters, deadLetter.message);
  if (outcome.kind === "refused" && outcome.retry === "never") {
    const { messageBytesMax } = await deadLetters.facts(); // X5
    const { body, attributes } = deadLetter.message;
    if (messageBytes(body, attributes) > messageBytesMax) {
      deadLetter = within(messageBytesMax);
      outcome = await send(deadLetters, deadLetter.message);
    }
  }
  if (outcome.kind === "refused") {
    const reason = `${deadLetters.name}: ${outcome.code}: ${outcome.message}`;
    throw new TidegateError("TG_QUEUE_UNAVAILABLE", reason);
  }
  const { messageId: message_id } = outcome;
  const { bare } = deadLetter;
  const sent = { queue: deadLetters.name, message_id, sent_at: clock.now() };
  return bare ? { ...sent, bare, not_before } : sent;
}

/** Some queues reject the whole call, not only the message, if a message is too long. */
async function send(deadLetters: QueueSender, message: OutgoingMessage): Promise<SendOutcome> {
  try {
    const [outcome] = await deadLetters.sendBatch([message]);
    return outcome ?? { kind: "refused", code: "Unanswered", message: "no answer", retry: "later" };
  } catch (error) {
    if (!(error instanceof TidegateError) || error.code !== "TG_QUEUE_REFUSED") throw error;
    return { kind: "refused", code: error.code, message: error.message, retry: "never" };
  }
}
