// Read event: builds the handler's input from a record.
//   A1. An object is read in the version of its event or not at all: the handler never gets other
//       bytes.
//   A2. Rows and payloads are validated before the handler sees them. The error of a rejected one
//       names its position and is not retried.
//   A3. Nothing is read before the handler asks for it, and no more than it asks for.
//   A4. Rows and claim-checked payloads go to `onRead` before any code can fail on them: an error
//       may quote them, and their masked values have to be known by then.

import { unreachable } from "../../core/assert.ts";
import type { JsonValue } from "../../core/encoding/canonical-json.ts";
import { TidegateError } from "../../core/errors.ts";
import { readClaimCheck, redeemClaimCheck } from "../../core/events/claim-check.ts";
import type { MessageEnvelope } from "../../core/events/envelope.ts";
import type { ObjectEvent } from "../../core/events/object-event.ts";
import type { ObjectPin, ObjectSource } from "../../ports/object-source.ts";
import type { ByteSource, RowReader } from "../../ports/rows.ts";
import type { Pipeline } from "../spec/define-pipeline.ts";
import { PermanentError } from "../spec/handler-errors.ts";
import type { MessageInput, ObjectInput, SchemaIssue } from "../spec/pipeline-spec.ts";

export interface EventReaderPorts {
  readonly objects: ObjectSource | null;
  readonly rows: RowReader | null;
}

/** Objects that are read as text or payload are held in memory. */
export const TEXT_BYTES_MAX = 16_777_216;
const ISSUES_SHOWN_MAX = 5;

/** The object cannot be read as its event describes it (A1). */
export class ObjectGone extends Error {
  override readonly name = "ObjectGone";
  readonly how: "missing" | "replaced" | "forbidden";

  constructor(pin: ObjectPin, how: "missing" | "replaced" | "forbidden", reason: string) {
    super(`s3://${pin.bucket}/${pin.key} ${reason}`);
    this.how = how;
  }
}

export function readObjectEvent(
  pipeline: Pipeline,
  event: ObjectEvent,
  ports: EventReaderPorts,
  signal: AbortSignal,
  onRead: (content: JsonValue) => void = () => undefined,
): ObjectInput<unknown> {
  const { bucket, key, version_id: versionId, etag } = event;
  const open = () => openObject(ports.objects, { bucket, key, versionId, etag }, signal);
  return {
    kind: event.kind,
    object: event,
    async *rows() {
      const { rows: reader } = ports;
      if (reader === null)
        throw new TidegateError(
          "TG_CONFIG_INVALID",
          "rows() needs a row reader, and none is configured",
        );
      const { format, schema } = pipeline;
      for await (const row of reader.read(await open(), { format, name: key, signal })) {
        onRead(row.value);
        yield schema === null ? row.value : await checked(schema, row.value, `row ${row.line}`);
      }
    },
    async *bytes() {
      yield* (await open()).stream(signal);
    },
    async text() {
      const bytes = await readWhole(await open(), key, signal);
      return decodeText(bytes, key);
    },
  };
}

export async function readMessageEvent(
  pipeline: Pipeline,
  envelope: MessageEnvelope,
  ports: EventReaderPorts,
  signal: AbortSignal,
  onRead: (content: JsonValue) => void = () => undefined,
): Promise<MessageInput<unknown>> {
  const whole = await withPayload(envelope, ports, signal);
  onRead(whole);
  const { schema } = pipeline;
  const { payload } = whole;
  if (schema === null) return { envelope: whole, payload };
  return { envelope: whole, payload: await checked(schema, payload, "the payload") };
}

/** Replaces a claim check by the payload that it refers to. */
async function withPayload(
  envelope: MessageEnvelope,
  ports: EventReaderPorts,
  signal: AbortSignal,
): Promise<MessageEnvelope> {
  const check = readClaimCheck(envelope.payload);
  if (check === undefined) return envelope;
  const { bucket, key } = check;
  const pin = { bucket, key, versionId: null, etag: null };
  const bytes = await readWhole(await openObject(ports.objects, pin, signal), key, signal);
  return { ...envelope, payload: redeemClaimCheck(check, bytes) };
}

async function openObject(
  objects: ObjectSource | null,
  pin: ObjectPin,
  signal: AbortSignal,
): Promise<ByteSource> {
  if (objects === null) {
    throw new TidegateError(
      "TG_CONFIG_INVALID",
      "reading objects needs an object source, and none is configured",
    );
  }
  const opened = await objects.open(pin, signal);
  switch (opened.kind) {
    case "opened":
      return opened.bytes;
    case "missing":
      throw new ObjectGone(pin, "missing", "no longer exists");
    case "replaced":
      throw new ObjectGone(pin, "replaced", "was overwritten since the event");
    case "forbidden": {
      const hint = "; without s3:ListBucket, S3 denies access to missing objects, too";
      throw new ObjectGone(pin, "forbidden", `cannot be read: ${opened.reason}${hint}`);
    }
    default:
      return unreachable(opened);
  }
}

/** Permanent, because a retry reads the same bytes. */
function decodeText(bytes: Uint8Array, name: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new PermanentError(`${name} is not UTF-8 text`, { class: "unreadable", cause });
  }
}

async function readWhole(
  source: ByteSource,
  name: string,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let total = 0;
  for await (const part of source.stream(signal)) {
    total += part.byteLength;
    if (total > TEXT_BYTES_MAX) {
      throw new PermanentError(
        `${name} is larger than ${TEXT_BYTES_MAX} bytes; read it with rows()`,
        {
          class: "unreadable",
        },
      );
    }
    parts.push(part);
  }
  return Buffer.concat(parts);
}

async function checked(
  schema: NonNullable<Pipeline["schema"]>,
  value: unknown,
  position: string,
): Promise<unknown> {
  const answer = schema["~standard"].validate(value);
  const result = answer instanceof Promise ? await answer : await Promise.resolve(answer);
  if (result.issues === undefined) return result.value;
  const shown = result.issues.slice(0, ISSUES_SHOWN_MAX).map(describeIssue);
  const more = result.issues.length - shown.length;
  const rest = more > 0 ? `; and ${more} more` : "";
  // A2
  throw new PermanentError(`${position} breaks the schema: ${shown.join("; ")}${rest}`, {
    class: "schema",
  });
}

function describeIssue({ message, path = [] }: SchemaIssue): string {
  const at = path.map((part) => String(typeof part === "object" ? part.key : part)).join(".");
  return at === "" ? message : `${at}: ${message}`;
}
