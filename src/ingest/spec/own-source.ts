// Own source: a queue of messages in the user's own format.
//   O1. A key is required. A default, such as the message id, would process a message that was
//       sent twice twice, and the file would not show it.
//   O2. The key is read from the decoded body, before the schema validates it. So a change of the
//       schema never changes a key, and a message that the schema rejects is found by its key.

import type { JsonValue } from "../../core/encoding/canonical-json.ts";
import type { EpochMs } from "../../core/units.ts";
import type { StandardSchema } from "./standard-schema.ts";

/** The built-in decoders, by the form of the text that they read. */
export type TextForm = "json" | "text" | "base64";

/** What a built-in decoder returns. */
export type DecodedBy<D extends TextForm> = D extends "text"
  ? string
  : D extends "base64"
    ? Uint8Array
    : JsonValue;

/** Ids that can serve as a key, by name. See docs/guides/own-messages.md for what each gives up. */
export type TransportKey = "MessageDeduplicationId" | "MessageId";

/** Messages of a queue in your own format. */
export interface OwnSource<D extends TextForm = TextForm, In = DecodedBy<D>, Out = In> {
  /** A name, or a URL. */
  readonly queue: string;
  /** Validates each body; the handler gets its output. Any Standard Schema library works. */
  readonly schema?: StandardSchema<Out, In>;
  /** How the text of a message becomes a body. Default: "json". */
  readonly decode?: D | ((text: string) => In);
  /** The business key: messages with the same key are one record. */
  readonly key: ((body: In) => string | number) | TransportKey;
  /** When it happened: RFC 3339 text, milliseconds since 1970, or a Date. Default: sent time. */
  readonly eventTime?: (body: In) => string | number | Date;
  /** Whether SNS envelopes around the body are removed. Default: true. */
  readonly unwrapSns?: boolean;
}

/** An own source of any types. */
export interface AnyOwnSource {
  readonly queue: string;
  readonly schema?: StandardSchema<unknown>;
  readonly decode?: TextForm | ((text: string) => unknown);
  readonly key: ((body: never) => string | number) | TransportKey;
  readonly eventTime?: (body: never) => string | number | Date;
  readonly unwrapSns?: boolean;
}

/** A message in the user's own format, as the handler gets it. */
export interface OwnMessageInput<Body> {
  /** The decoded body, validated by the schema if there is one. */
  readonly body: Body;
  /** The business key of the message. */
  readonly key: string;
  /** Text attributes of the message; those of the publisher if SNS wrapped it. */
  readonly attributes: Readonly<Record<string, string>>;
  /** The message group; null without one. */
  readonly group: string | null;
  /** When the message was sent, in milliseconds since 1970. */
  readonly sentAt: EpochMs;
  /** How often the queue has delivered the message; 1 for the first time. */
  readonly receiveCount: number;
  /** The id of the message in the queue; another one after a redrive. */
  readonly messageId: string;
}

/** The own source of a validated pipeline. */
export interface OwnDecoding {
  readonly schema: StandardSchema<unknown> | null;
  readonly decode: TextForm | ((text: string) => unknown);
  readonly key: ((body: never) => unknown) | TransportKey;
  readonly eventTime: ((body: never) => unknown) | null;
  readonly unwrapSns: boolean;
}

const DECODERS: readonly unknown[] = ["json", "text", "base64"];
const TRANSPORT_KEYS: readonly unknown[] = ["MessageDeduplicationId", "MessageId"];
const FIFO_SUFFIX = ".fifo";

/** Whether a source is meant as an own source. */
export function isOwnSource(source: object): source is AnyOwnSource {
  return OWN_FIELDS.some((name) => name in source);
}

/** Forbids the fields of an own source, so that a wrong one is not taken for another source. */
export type WithoutOwnFields = { readonly [F in (typeof OWN_FIELDS)[number]]?: never };

const OWN_FIELDS = ["key", "decode", "eventTime", "unwrapSns", "schema"] as const;

export function ownDecoding(source: AnyOwnSource): OwnDecoding {
  const { schema = null, decode = "json", key, eventTime = null, unwrapSns = true } = source;
  return { schema, decode, key, eventTime, unwrapSns };
}

/** The problems of an own source, which may have been written without types. */
export function ownSourceProblems(source: Readonly<Record<string, unknown>>): string[] {
  const { key, decode = "json", eventTime, unwrapSns = true, schema, queue, contents } = source;
  const problems: string[] = [];
  const check = (holds: boolean, problem: string) => void (holds || problems.push(problem));
  const named = typeof key === "string" ? ` ${JSON.stringify(key)}` : "";
  check(
    typeof key === "function" || TRANSPORT_KEYS.includes(key),
    `source.key${named} must be a function such as (body) => body.id, ` +
      '"MessageDeduplicationId" or "MessageId"', // O1
  );
  check(
    typeof decode === "function" || DECODERS.includes(decode),
    'source.decode must be "json", "text", "base64" or a function of the text',
  );
  check(
    eventTime === undefined || typeof eventTime === "function",
    "source.eventTime must be a function of the body",
  );
  check(typeof unwrapSns === "boolean", "source.unwrapSns must be true or false");
  check(isSchema(schema), "source.schema must be of a Standard Schema library");
  check(
    contents === undefined || contents === "messages",
    'source.contents must be left out: a source with a key reads messages, not "objects"',
  );
  check(
    key !== "MessageDeduplicationId" || typeof queue !== "string" || queue.endsWith(FIFO_SUFFIX),
    'source.key "MessageDeduplicationId" needs a FIFO queue; take the key from the body',
  );
  return problems;
}

export function isSchema(schema: unknown): boolean {
  if (schema === undefined) return true;
  const standard = (schema as StandardSchema<unknown> | null)?.["~standard"];
  return typeof standard?.validate === "function";
}
