// Notification: the JSON that a topic sends, key by key as AWS writes it.
//   N1. The order of keys and the white space are AWS's own; readers that compare bytes exist.
//   N2. A FIFO topic's notification has a sequence number and nothing about a signature.
//   N3. The signature is left empty here and filled in when somebody reads the message: it follows
//       from the rest and the key, so that it is the same whenever it is made, and it costs more
//       than everything else a publish does. SIGNATURE_BYTES is counted in its stead.
//   N4. What is signed: the keys below and their values, a line each.

import type { MessageAttribute } from "../operations.ts";
import type { SignatureVersion } from "./topic-operations-contract.ts";

/** Length of the signature by a key of 2,048 bits, in base64. */
export const SIGNATURE_BYTES = 344;

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
  /** Null on FIFO topics, and where nobody can sign (N2). */
  readonly signature: SignatureLinks | null;
  readonly unsubscribeUrl: string;
  readonly attributes: Readonly<Record<string, MessageAttribute>> | null;
  readonly replayed: boolean;
}

export function writeNotification(fields: NotificationFields): string {
  const { sequenceNumber, subject, signature, attributes } = fields;
  let text = `{\n  "Type" : "Notification"${line("MessageId", fields.messageId)}`;
  if (sequenceNumber !== null) text += line("SequenceNumber", sequenceNumber);
  text += line("TopicArn", fields.topicArn);
  if (subject !== null) text += line("Subject", subject);
  text += line("Message", fields.message) + line("Timestamp", fields.timestamp);
  text += writeSignature(signature) + line("UnsubscribeURL", fields.unsubscribeUrl);
  if (fields.replayed) text += line("Replayed", true);
  if (attributes !== null) text += writeAttributes(attributes);
  return `${text}\n}`;
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

/** A key and its value on a line of their own, behind another (N1). */
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

/** The text whose signature a notification or confirmation carries (N4). */
export function textToSign(body: string): string {
  const fields = JSON.parse(body) as Readonly<Record<string, unknown>>;
  const keys = fields.Type === "Notification" ? NOTIFICATION_KEYS : CONFIRMATION_KEYS;
  return keys
    .filter((key) => fields[key] !== undefined)
    .map((key) => `${key}\n${String(fields[key])}\n`)
    .join("");
}

/** The same body with its signature filled in. No value can hold the line that is looked for. */
export function fillSignature(body: string, signature: string): string {
  const at = body.indexOf(EMPTY_SIGNATURE);
  if (at < 0) return body;
  const end = at + EMPTY_SIGNATURE.length;
  return `${body.slice(0, end - 1)}${signature}"${body.slice(end)}`;
}
