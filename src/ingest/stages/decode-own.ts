// Decode own: reads a message in the user's own format.
//   W1. Nothing that a decoder or a key function does escapes: what they throw, and what they
//       return, becomes a reason for the dead letter.
//   W2. A message without a key gets an identity from all its bytes, so that it never shares one.
//   W3. The key is read before the schema runs (O2 of own-source.ts), synchronously. A promise is
//       rejected, because the group and the record of a delivery are known only with its key.
//   W4. An id of the queue changes when a message is sent again. A redrive therefore carries the
//       original id in an attribute, and that one counts.

import type { JsonValue } from "../../core/encoding/canonical-json.ts";
import { sha256Hex } from "../../core/encoding/hash.ts";
import { parseStrictJson } from "../../core/encoding/strict-json.ts";
import type { SnsLayer } from "../../core/events/decode/sns-envelope.ts";
import { unwrapSns } from "../../core/events/decode/unwrap-sns.ts";
import { checkOwnKey, type KeyOrigin, ownIdentity } from "../../core/events/own-message.ts";
import { asObject, memberOf } from "../../core/events/problem.ts";
import type { EpochMs } from "../../core/units.ts";
import type { Delivery } from "../../ports/queue-receiver.ts";
import { isTidegateAttribute, transportKeyIn } from "../dead-letters/dead-letter.ts";
import { wholeMessageOf } from "../policy/error-text.ts";
import { readEventTime } from "../policy/event-time.ts";
import type { OwnDecoding, OwnMessageInput } from "../spec/own-source.ts";

interface DecodedOwnMessage {
  /** The SNS envelopes around the body, outermost first. */
  readonly layers: readonly SnsLayer[];
  readonly identity: string;
  /** Null if the message has none. */
  readonly key: string | null;
  /** The key, if it is an id of the queue (W4). */
  readonly transportKey: string | null;
  readonly eventTime: EpochMs;
  /** For dossiers: the JSON body, or the text of another one. */
  readonly original: JsonValue;
}

export type DecodedOwn = DecodedOwnMessage &
  (
    | { readonly kind: "own"; readonly input: OwnMessageInput<unknown> }
    | {
        readonly kind: "unusable";
        readonly reason: string;
        /** Of a body that is not JSON: what user code says about it. */
        readonly detail?: string;
        readonly errorClass: string;
      }
  );

/** The identity of a body that cannot be read, or that has no key (W2). */
export function bodyIdentity(body: string): string {
  return `undecodable:${sha256Hex(body)}`;
}

export function decodeOwn(pipeline: string, own: OwnDecoding, delivery: Delivery): DecodedOwn {
  const unwrapped = own.unwrapSns ? unwrapSns(delivery.body) : plain(delivery.body);
  const { layers } = unwrapped;
  const base = {
    layers,
    identity: bodyIdentity(delivery.body),
    key: null,
    transportKey: null,
    eventTime: delivery.sentAt,
    original: { body: delivery.body },
  };
  if (unwrapped.kind === "undecodable") {
    const { path, reason } = unwrapped.problem;
    return unusable(base, failed(`${path === "" ? "the body" : path} ${reason}`));
  }
  const decoded = decodeText(own.decode, unwrapped.text);
  if (decoded.kind === "failed") return unusable(base, decoded);
  const { body } = decoded;
  const original = own.decode === "json" ? (body as JsonValue) : { body: unwrapped.text };
  const keyed = keyOf(own, body, delivery);
  if (keyed.kind === "failed") return unusable({ ...base, original }, keyed, KEYLESS);
  const { key, origin } = keyed;
  const identity = ownIdentity(pipeline, origin, key);
  const transportKey = origin === "body" ? null : key;
  const record = { ...base, identity, key, transportKey, original };
  const eventTime = eventTimeOf(own, body, delivery.sentAt);
  if (eventTime.kind === "failed") return unusable(record, eventTime);
  return {
    ...record,
    kind: "own",
    eventTime: eventTime.at,
    input: inputOf(delivery, layers, key, body),
  };
}

/** The class of a message without a key. */
const KEYLESS = "keyless";

function plain(text: string): ReturnType<typeof unwrapSns> {
  return { kind: "body", text, layers: [] };
}

function unusable(
  message: DecodedOwnMessage,
  { reason, detail }: Failure,
  errorClass = "undecodable",
): DecodedOwn {
  const content = { kind: "unusable", reason, errorClass } as const;
  return { ...message, ...content, ...(detail !== undefined && { detail }) };
}

type Failure = {
  readonly kind: "failed";
  readonly reason: string;
  readonly detail?: string | undefined;
};

function failed(reason: string): Failure {
  return { kind: "failed", reason };
}

/** What a function of the user threw, which masks cannot search if the body is not JSON. */
function threw(name: string, { decode }: Pick<OwnDecoding, "decode">, message: string): Failure {
  if (decode === "json") return failed(`${name} threw: ${message}`);
  return { kind: "failed", reason: `${name} threw`, detail: message };
}

/** The body in a text, or why there is none (W1). */
function decodeText(
  decode: OwnDecoding["decode"],
  text: string,
): Failure | { readonly kind: "body"; readonly body: unknown } {
  if (decode === "text") return { kind: "body", body: text };
  if (decode === "base64") {
    const bytes = Buffer.from(text, "base64");
    if (bytes.toString("base64") !== text) return failed("the body is not base64");
    return { kind: "body", body: new Uint8Array(bytes) };
  }
  if (decode === "json") {
    const parsed = parseStrictJson(text);
    if (parsed.kind === "value") return { kind: "body", body: parsed.value };
    const where = parsed.place === "the top" ? "the body" : parsed.place;
    return failed(`${where} is not valid JSON: ${parsed.reason}`);
  }
  const called = call(() => decode(text));
  if (called.kind === "threw") return threw("source.decode", { decode }, called.message);
  if (isPromise(called.value)) return failed("source.decode returned a promise; it must not");
  return { kind: "body", body: called.value };
}

function keyOf(
  own: OwnDecoding,
  body: unknown,
  delivery: Delivery,
): Failure | { readonly kind: "key"; readonly key: string; readonly origin: KeyOrigin } {
  const { key } = own;
  if (typeof key === "string") {
    const id = transportKeyIn(delivery) ?? transportIdOf(key, delivery); // W4
    const checked = checkOwnKey(id);
    if (checked.kind === "valid") return { kind: "key", key: checked.key, origin: key };
    return failed(`the message has no key: its ${key} is ${id === null ? "missing" : "not text"}`);
  }
  const called = call(() => key(body as never));
  if (called.kind === "threw") {
    return threw("the message has no key: source.key", own, called.message);
  }
  isPromise(called.value); // W3
  const checked = checkOwnKey(called.value);
  if (checked.kind === "valid") return { kind: "key", key: checked.key, origin: "body" };
  return failed(`the message has no key: source.key returned ${checked.actual}`);
}

function transportIdOf(
  name: "MessageDeduplicationId" | "MessageId",
  { messageId, dedupId }: Delivery,
): string | null {
  return name === "MessageId" ? messageId : (dedupId ?? null);
}

/** The event time, or what is wrong with it. */
function eventTimeOf(
  own: OwnDecoding,
  body: unknown,
  sentAt: EpochMs,
): Failure | { readonly kind: "time"; readonly at: EpochMs } {
  const { eventTime } = own;
  if (eventTime === null) return { kind: "time", at: sentAt };
  const called = call(() => eventTime(body as never));
  if (called.kind === "threw") return threw("source.eventTime", own, called.message);
  const read = readEventTime(called.value);
  if (read.kind === "instant") return { kind: "time", at: read.at };
  isPromise(called.value);
  const reason = read.kind === "invalid" ? read.reason : "nothing";
  return failed(`source.eventTime returned ${reason}`);
}

type Called =
  | { readonly kind: "returned"; readonly value: unknown }
  | { readonly kind: "threw"; readonly message: string };

/** Calls a function of the user (W1). */
function call(run: () => unknown): Called {
  try {
    return { kind: "returned", value: run() };
  } catch (error) {
    return { kind: "threw", message: wholeMessageOf(error) };
  }
}

/** Whether a value is a promise; its rejection no longer ends the process (W1). */
function isPromise(value: unknown): boolean {
  if (!(value instanceof Promise)) return false;
  value.catch(() => undefined);
  return true;
}

function inputOf(
  delivery: Delivery,
  layers: readonly SnsLayer[],
  key: string,
  body: unknown,
): OwnMessageInput<unknown> {
  const { groupId: group, sentAt, receiveCount, messageId } = delivery;
  const published = layers.flatMap(({ attributes }) =>
    Object.entries(attributes).flatMap(([name, attribute]) => {
      const value = memberOf(asObject(attribute), "Value");
      const binary = memberOf(asObject(attribute), "Type") === "Binary";
      return typeof value === "string" && !binary ? [[name, value] as const] : [];
    }),
  );
  const received = Object.entries(delivery.attributes).filter(
    ([name]) => !isTidegateAttribute(name),
  );
  const attributes = Object.fromEntries([...published, ...received]);
  return { body, key, attributes, group, sentAt, receiveCount, messageId };
}
