// Dead letters: the message itself, unchanged, in a queue where somebody can look at it.
//   X1. The ledger comes first, the dead letter second, the acknowledgement last. Whoever dies in
//       between leaves a parked record without a dead letter, and the next delivery of the message
//       sends it.
//   X2. A dead letter is named by key and fence. A FIFO queue drops a second copy by itself; in a
//       standard queue a crash at the wrong moment may leave two, which all readers take for one.
//   X3. The body is the original's, byte for byte. What is known of the failure is in attributes,
//       masked, and the original's own attributes are kept beside it.
//   X4. A letter fits into every queue that takes its message. Where body and attributes would be
//       over what the queue takes, what the dossier tells as well is left out; where no byte is to
//       spare, the letter is bare: the message as it was and no word of ours. Nobody can tell from
//       it whose it is, as others read the same in its body; the dossier, which has its id, can.
//   X5. What a queue takes may be less than SQS allows. It is asked only when it has refused a
//       letter for good: hardly any letter is that long.
//   X6. A bare letter that somebody moved back is a new message, and newer than the letter was. So
//       what was sent before is no letter come back, but an older copy. The queue's clock is what
//       messages are dated by (queue-clock.ts).
//   X7. What an error quotes may be anything, and SQS takes only the characters of XML. A letter
//       that it refused would be sent again and again, and its record never be done with.

import { sha256Hex } from "../../core/encoding/hash.ts";
import { MASKED } from "../../core/encoding/mask.ts";
import { messageBytes } from "../../core/encoding/message-size.ts";
import { clampText } from "../../core/encoding/text.ts";
import { TidegateError } from "../../core/errors.ts";
import type { Clock } from "../../ports/clock.ts";
import type { OutgoingMessage, QueueSender, SendOutcome } from "../../ports/queue.ts";
import type { Delivery, QueueReceiver } from "../../ports/queue-receiver.ts";
import type { Fence, RecordKey } from "../../ports/record.ts";
import { CLOCKS_APART_MS_MAX, type QueueClock } from "../running/queue-clock.ts";
import type { Dossier } from "./dossier.ts";

/** Names of the attributes that a dead letter carries. */
export const DEAD_LETTER_ATTRIBUTES = {
  key: "tidegate.key",
  errorClass: "tidegate.class",
  fingerprint: "tidegate.fingerprint",
  /** The rest as JSON: fence, attempts, message, source, and attributes there was no room for. */
  failure: "tidegate.failure",
} as const;

/** On what was sent again: it is claimed before it runs, as much may have happened since. */
export const REDRIVEN_ATTRIBUTE = "tidegate.redriven";

/** SQS takes ten, ours among them. */
export const ATTRIBUTES_MAX = 10;
const MESSAGE_CHARS_MAX = 512;

/** What `tidegate.failure` holds. */
export interface FailureFacts {
  readonly fence: number;
  readonly attempts: number;
  readonly message: string;
  readonly queue: string;
  readonly message_id: string;
  readonly failed_at: number;
  /** As `s3://bucket/key` with what is masked hidden; left out where nothing is. */
  readonly object?: string;
  /** Attributes of the original that did not fit beside ours. */
  readonly attributes: Readonly<Record<string, string>>;
}

/** The dead letter of a delivery (X3), in the fullest form that the queue takes (X4). */
export function deadLetterOf(
  delivery: Delivery,
  dossier: Dossier,
  fence: Fence,
  { fifo, messageBytesMax }: { readonly fifo: boolean; readonly messageBytesMax: number },
): { readonly message: OutgoingMessage; readonly bare: boolean } {
  const { body } = delivery;
  const fits = (own: OwnWords) =>
    messageBytes(body, attributesOf(delivery, own)) <= messageBytesMax;
  const words = ownWords(delivery, dossier, fence).find(fits) ?? BARE;
  const message = {
    body,
    attributes: attributesOf(delivery, words),
    groupId: fifo ? (delivery.groupId ?? dossier.record_key) : null,
    dedupId: fifo ? deadLetterDedupId(dossier.record_key, fence) : null, // X2
  };
  return { message, bare: words === BARE };
}

/** What we put beside an original's own attributes. */
interface OwnWords {
  readonly attributes: Readonly<Record<string, string>>;
  readonly facts: Omit<FailureFacts, "attributes"> | null;
}

const BARE: OwnWords = { attributes: {}, facts: null };

/** All that we would say, and the least by which a letter names its dossier. */
function ownWords(delivery: Delivery, dossier: Dossier, fence: Fence): readonly OwnWords[] {
  const { attempts, queue, last_failed_at: failed_at, record_key } = dossier;
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

/** As long as the least of our words may ever be, an object's key in escapes among them. */
const LEAST_BYTES_MAX = 8_192;
const LEAST: OwnWords = {
  attributes: { [DEAD_LETTER_ATTRIBUTES.key]: "" },
  facts: {
    fence: 0,
    attempts: 0,
    message: "",
    queue: "",
    failed_at: 0,
    message_id: "x".repeat(LEAST_BYTES_MAX),
  },
};

/** Whether a queue that takes so many bytes may have had no room for a word of ours (X4). */
export function mayBeBare(delivery: Delivery, messageBytesMax: number): boolean {
  return messageBytes(delivery.body, attributesOf(delivery, LEAST)) > messageBytesMax;
}

/** The object as it may be shown, where that is not as it is (X3). */
function maskedObject({ object }: Dossier): string | null {
  const url = object === null ? "" : `s3://${object.bucket}/${object.key}`;
  return url.includes(MASKED) ? url : null;
}

/** The original's attributes and ours; those that are too many go along in ours. */
function attributesOf({ attributes }: Delivery, own: OwnWords): Record<string, string> {
  const originals = Object.entries(attributes).filter(([name]) => !isOurs(name));
  if (own.facts === null) return Object.fromEntries(originals);
  const room = ATTRIBUTES_MAX - Object.keys(own.attributes).length - 1;
  const rest = Object.fromEntries(originals.slice(room));
  const facts: FailureFacts = { ...own.facts, attributes: rest };
  return {
    ...Object.fromEntries(originals.slice(0, room)),
    ...own.attributes,
    [DEAD_LETTER_ATTRIBUTES.failure]: sendableJson(facts),
  };
}

/** JSON of which SQS takes every character (X7): two that it refuses need no escape in JSON. */
function sendableJson(facts: FailureFacts): string {
  return JSON.stringify(facts).replaceAll("\ufffe", "\\ufffe").replaceAll("\uffff", "\\uffff");
}

export function deadLetterDedupId(key: RecordKey | string, fence: Fence): string {
  return sha256Hex(`dead-letter ${key} ${fence}`);
}

/** Whether an attribute is one that we put on dead letters, or on what was sent again. */
export function isOurs(name: string): boolean {
  const own: readonly string[] = Object.values(DEAD_LETTER_ATTRIBUTES);
  return name === REDRIVEN_ATTRIBUTE || own.includes(name);
}

/** Whether a delivery is the dead letter of that key and fence, come back (X2). */
export function isDeadLetterOf(delivery: Delivery, key: RecordKey, fence: Fence): boolean {
  const { key: keyName, failure } = DEAD_LETTER_ATTRIBUTES;
  if (delivery.attributes[keyName] !== key) return false;
  try {
    const facts = JSON.parse(delivery.attributes[failure] ?? "null") as FailureFacts | null;
    return facts?.fence === fence;
  } catch {
    return false; // Somebody else's attribute of that name.
  }
}

/** Whether a delivery may be the bare letter of that dossier, come back (X6). */
export function mayBeBareDeadLetter({ messageId, sentAt }: Delivery, dossier: Dossier): boolean {
  const { dead_letter: letter, message_id } = dossier;
  if (letter?.bare !== true || messageId === message_id) return false;
  return sentAt > (letter.not_before ?? letter.sent_at - CLOCKS_APART_MS_MAX);
}

/** Where dead letters go to. */
export type DeadLetterQueue = QueueSender & Pick<QueueReceiver, "facts">;

/**
 * Puts a dead letter into its queue and tells what to write down about it. `within` makes the letter
 * that has so many bytes at most.
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
  let letter = within(deadLetters.limits.messageBytesMax);
  let answer = await send(deadLetters, letter.message);
  if (answer.kind === "refused" && answer.retry === "never") {
    const { messageBytesMax } = await deadLetters.facts(); // X5
    const { body, attributes } = letter.message;
    if (messageBytes(body, attributes) > messageBytesMax) {
      letter = within(messageBytesMax);
      answer = await send(deadLetters, letter.message);
    }
  }
  if (answer.kind === "refused") {
    const reason = `${deadLetters.name}: ${answer.code}: ${answer.message}`;
    throw new TidegateError("TG_QUEUE_UNAVAILABLE", reason);
  }
  const { messageId: message_id } = answer;
  const { bare } = letter;
  const sent = { queue: deadLetters.name, message_id, sent_at: clock.now() };
  return bare ? { ...sent, bare, not_before } : sent;
}

/** Some refuse the whole call for a message that is too long, and not the message alone. */
async function send(deadLetters: QueueSender, message: OutgoingMessage): Promise<SendOutcome> {
  try {
    const [outcome] = await deadLetters.sendBatch([message]);
    return outcome ?? { kind: "refused", code: "Unanswered", message: "no answer", retry: "later" };
  } catch (error) {
    if (!(error instanceof TidegateError) || error.code !== "TG_QUEUE_REFUSED") throw error;
    return { kind: "refused", code: error.code, message: error.message, retry: "never" };
  }
}
