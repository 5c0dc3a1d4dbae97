// Notification: the JSON that a topic sends, key by key as AWS writes it.
//   N1. The order of keys and the white space are AWS's; some readers compare bytes.
//   N2. A FIFO topic's notification has a sequence number and no signature fields.
//   N3. The signature is left empty here and filled in when the message is read. It depends only on
//       the rest and the key, so it is the same whenever it is made, and it costs more than the
//       rest of a publish. SIGNATURE_BYTES counts for it until then.
//   N4. The signed text contains the keys below and their values, one per line.
//   N5. Nothing here looks into a long text, so copies share its long parts (X1 of
//       shared-texts.ts). A short text is made one piece instead: as dozens of references it would
//       take more memory than its characters, for as long as the message is cached.

import { utf8ByteLength } from "../../../core/encoding/text.ts";
import type { MessageAttribute } from "../operations.ts";
import { NO_TEXT, type SharedText, type SharedTexts } from "./shared-texts.ts";
import type { SignatureVersion } from "./topic-operations-contract.ts";

/** Length of a base64 signature with a key of 2,048 bits. */
export const SIGNATURE_BYTES = 344;

const END = "\n}";
/** UTF-16 units up to which a message is written for each copy (N5). */
const SHORT_UNITS_MAX = 2_048;
const EMPTY_SIGNATURE = '\n  "Signature" : ""';

export interface SignatureLinks {
  readonly version: SignatureVersion;
  readonly certificateUrl: string;
}

export interface NotificationFields {
  readonly messageId: string;
  readonly sequenceNumber: string | null;
  readonly topicArn: string;
  readonly subject: string | null;
  readonly message: string;
  readonly timestamp: string;
  /** Null on FIFO topics, and without a signer (N2). */
  readonly signature: SignatureLinks | null;
  readonly unsubscribeUrl: string;
  readonly attributes: Readonly<Record<string, MessageAttribute>> | null;
  readonly replayed: boolean;
}

/** The notification of one copy, with the texts that it shares with others (N5). */
export function shareNotification(fields: NotificationFields, shared: SharedTexts): SharedText {
  const { sequenceNumber, subject, message, attributes } = fields;
  let head = `{\n  "Type" : "Notification"${line("MessageId", fields.messageId)}`;
  if (sequenceNumber !== null) head += line("SequenceNumber", sequenceNumber);
  head += line("TopicArn", fields.topicArn);
  if (subject !== null) head += line("Subject", subject);
  let tail = line("Timestamp", fields.timestamp) + writeSignature(fields.signature);
  tail += line("UnsubscribeURL", fields.unsubscribeUrl);
  if (fields.replayed) tail += line("Replayed", true);
  if (message.length <= SHORT_UNITS_MAX && attributes === null) {
    const text = `${head}${line("Message", message)}${tail}${END}`;
    return { text, bytes: utf8ByteLength(text) }; // N5
  }
  const long = shared.of("message", message, () => line("Message", message));
  const last =
    attributes === null
      ? NO_TEXT
      : shared.of("attributes", attributes, () => writeAttributes(attributes));
  return {
    text: `${head}${long.text}${tail}${last.text}${END}`,
    bytes: utf8ByteLength(head) + long.bytes + utf8ByteLength(tail) + last.bytes + END.length,
  };
}

export interface ConfirmationFields {
  readonly messageId: string;
  readonly token: string;
  readonly topicArn: string;
  readonly timestamp: string;
  readonly subscribeUrl: string;
  readonly signature: SignatureLinks | null;
}

export function writeConfirmation(fields: ConfirmationFields): string {
  const { signature, topicArn } = fields;
  const message =
    `You have chosen to subscribe to the topic ${topicArn}.\n` +
    "To confirm the subscription, visit the SubscribeURL included in this message.";
  return (
    `{\n  "Type" : "SubscriptionConfirmation"${line("MessageId", fields.messageId)}` +
    line("Token", fields.token) +
    line("TopicArn", topicArn) +
    line("Message", message) +
    line("SubscribeURL", fields.subscribeUrl) +
    line("Timestamp", fields.timestamp) +
    `${writeSignature(signature)}\n}`
  );
}

/** A key and its value on a new line after another key (N1). */
function line(name: string, value: string | boolean): string {
  return `,\n  "${name}" : ${JSON.stringify(value)}`;
}

function writeSignature(links: SignatureLinks | null): string {
  if (links === null) return ""; // N2
  const version = line("SignatureVersion", links.version);
  return `${version},${EMPTY_SIGNATURE}${line("SigningCertURL", links.certificateUrl)}`; // N3
}

function writeAttributes(attributes: Readonly<Record<string, MessageAttribute>>): string {
  const lines = Object.entries(attributes).map(
    ([name, { type, value }]) =>
      `    ${JSON.stringify(name)} : ${JSON.stringify({ Type: type, Value: value })}`,
  );
  return `,\n  "MessageAttributes" : {\n${lines.join(",\n")}\n  }`;
}

const NOTIFICATION_KEYS = ["Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"];
const CONFIRMATION_KEYS = [
  "Message",
  "MessageId",
  "SubscribeURL",
  "Timestamp",
  "Token",
  "TopicArn",
  "Type",
];

/** The text that a notification or confirmation signs (N4). */
export function textToSign(body: string): string {
  const fields = JSON.parse(body) as Readonly<Record<string, unknown>>;
  const keys = fields.Type === "Notification" ? NOTIFICATION_KEYS : CONFIRMATION_KEYS;
  return keys
    .filter((key) => fields[key] !== undefined)
    .map((key) => `${key}\n${String(fields[key])}\n`)
    .join("");
}

/** The same body with its signature. No value can contain the line that is searched for. */
export function fillSignature(body: string, signature: string): string {
  const at = body.indexOf(EMPTY_SIGNATURE);
  if (at < 0) return body;
  const end = at + EMPTY_SIGNATURE.length;
  return `${body.slice(0, end - 1)}${signature}"${body.slice(end)}`;
}
