// Read event: builds the handler's input from a record.
//   A1. An object is read in the version of its event or not at all: the handler never gets other
//       bytes.
//   A2. Rows and payloads are validated before the handler sees them. The error of a rejected one
//       names its position and is not retried.
//   A3. Nothing is read before the handler asks for it, and no more than it asks for.
//   A4. Rows and claim-checked payloads go to `onRead` before any code can fail on them: an error
//       may quote them, and their masked values have to be known by then.
//   A5. A row that the schema rejects ends the attempt, unless the pipeline quarantines such rows.
//       Then the handler gets the next row (Q1 of quarantine.ts).
//   A6. Governance judges content after A4 and before A2 (G1 of govern.ts).

import { unreachable } from "../../core/assert.ts";
import type { JsonValue } from "../../core/encoding/canonical-json.ts";
import { refuseConfig, TidegateError } from "../../core/errors.ts";
import { readClaimCheck, redeemClaimCheck } from "../../core/events/claim-check.ts";
import type { MessageEnvelope } from "../../core/events/envelope.ts";
import type { ObjectEvent } from "../../core/events/object-event.ts";
import type { ObjectPin, ObjectSource } from "../../ports/objects/object-source.ts";
import type { ByteSource, NumberedRow, RowReader } from "../../ports/rows.ts";
import type { Pipeline } from "../spec/define-pipeline.ts";
import { PermanentError } from "../spec/handler-errors.ts";
import type { OwnMessageInput } from "../spec/own-source.ts";
import type { MessageInput, ObjectInput } from "../spec/pipeline-spec.ts";
import type { SchemaIssue } from "../spec/standard-schema.ts";
import type { Governance } from "./govern.ts";

export interface EventReaderPorts {
  readonly objects: ObjectSource | null;
  readonly rows: RowReader | null;
}

/** What a handler's reads report to, and wait for. */
export interface ReadHooks {
  /** A4 */
  readonly onRead: (content: JsonValue) => void;
  /** Null, or when the next row may be read: effects are staged first (B1 of effect-buffer.ts). */
  readonly ready: () => Promise<void> | null;
  /** Takes a rejected row; null ends the attempt instead (A5). */
  readonly onBadRow?: ((row: NumberedRow, reason: string) => void) | null;
  /** The quarantined rows to read instead of those of the object. */
  readonly redrivenRows?: AsyncIterable<NumberedRow> | null;
  /** Judges what the handler may get; null allows everything. */
  readonly governance?: Governance | null;
}

const NO_HOOKS: ReadHooks = { onRead: () => undefined, ready: () => null };

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
  hooks: ReadHooks = NO_HOOKS,
): ObjectInput<unknown> {
  const { onRead, ready, onBadRow = null, redrivenRows = null, governance = null } = hooks;
  const { bucket, key, version_id: versionId, etag, size: expectedBytes } = event;
  const pin = { bucket, key, versionId, etag, expectedBytes };
  const open = () => openObject(ports.objects, pin, signal);
  return {
    kind: event.kind as ObjectInput<unknown>["kind"], // A RemovedInput, whose reads find no object.
    object: event,
    async *rows() {
      const { format, csv, schema } = pipeline;
      const options = { format, csv, name: key, signal };
      const rows = redrivenRows ?? readerOf(ports).read(await open(), options);
      for await (const read of rows) {
        const wait = ready();
        if (wait !== null) await wait;
        onRead(read.value);
        const row = governance === null ? read : await governance.row(read); // A6
        const { value, line, unit = "line" } = row;
        const checked: Checked = schema === null ? { value } : await check(schema, value);
        if (checked.reason === undefined) yield checked.value;
        else if (onBadRow === null) refuse(`${unit} ${line}`, checked.reason);
        else onBadRow(row, checked.reason); // A5
      }
    },
    async *bytes() {
      governance?.checkBytes();
      yield* (await open()).stream(signal);
    },
    async text() {
      governance?.checkBytes();
      const bytes = await readWhole(await open(), key, signal);
      return decodeText(bytes, key);
    },
  };
}

function readerOf({ rows }: EventReaderPorts): RowReader {
  if (rows !== null) return rows;
  refuseConfig("rows() needs a row reader, and none is configured");
}

export async function readMessageEvent(
  pipeline: Pipeline,
  envelope: MessageEnvelope,
  ports: EventReaderPorts,
  signal: AbortSignal,
  { onRead, governance = null }: Pick<ReadHooks, "onRead" | "governance"> = NO_HOOKS,
): Promise<MessageInput<unknown>> {
  const read = await withPayload(envelope, ports, signal);
  onRead(read);
  const whole = governance === null ? read : await governance.envelope(read); // A6
  const { schema } = pipeline;
  const { payload } = whole;
  if (schema === null) return { envelope: whole, payload };
  return { envelope: whole, payload: await checked(schema, payload, "the payload") };
}

/** The handler's input of an own message, whose body is still to be validated (A2). */
export async function readOwnEvent(
  { source }: Pipeline,
  input: OwnMessageInput<unknown>,
): Promise<OwnMessageInput<unknown>> {
  const schema = source.own?.schema ?? null;
  if (schema === null) return input;
  return { ...input, body: await checked(schema, input.body, "the body") };
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

/** The value as the schema returns it, or what it rejects. */
type Checked =
  | { readonly value: unknown; readonly reason?: undefined }
  | { readonly reason: string };

async function check(schema: NonNullable<Pipeline["schema"]>, value: unknown): Promise<Checked> {
  const answer = schema["~standard"].validate(value);
  const result = answer instanceof Promise ? await answer : await Promise.resolve(answer);
  if (result.issues === undefined) return { value: result.value };
  const shown = result.issues.slice(0, ISSUES_SHOWN_MAX).map(describeIssue);
  const more = result.issues.length - shown.length;
  return { reason: `${shown.join("; ")}${more > 0 ? `; and ${more} more` : ""}` };
}

async function checked(
  schema: NonNullable<Pipeline["schema"]>,
  value: unknown,
  position: string,
): Promise<unknown> {
  const result = await check(schema, value);
  return result.reason === undefined ? result.value : refuse(position, result.reason);
}

/** A2 */
function refuse(position: string, reason: string): never {
  throw new PermanentError(`${position} breaks the schema: ${reason}`, { class: "schema" });
}

function describeIssue({ message, path = [] }: SchemaIssue): string {
  const at = path.map((part) => String(typeof part === "object" ? part.key : part)).join(".");
  return at === "" ? message : `${at}: ${message}`;
}
