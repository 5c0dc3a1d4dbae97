// Objects sink: writes the objects that a handler emits to a bucket, each exactly once.
//
//   absent ──put if absent──> stamped (record, fence, digest) ──a later attempt──> replaced
//
//   O1. A first write is on condition that the key has no object, so that of two writers one wins.
//   O2. An object is stamped with the key of its record and the fence of the attempt. An attempt
//       replaces the object of an earlier attempt of the same record, on condition that it is
//       still the one that it saw. It leaves the object of a later attempt alone: it has lost its
//       claim, and the ledger will reject its commit (K2 of ports/sink.ts).
//   O3. An object of another record, or without a stamp, is not replaced unless `onExisting` says
//       so: two records that write one key are a mistake, and silence would hide it.
//   O4. With `names: "sha256"` the key is the digest of the bytes. Such an object never changes, so
//       one that exists is the right one, whichever record wrote it.
//   O5. An attempt that finds its own bytes writes nothing, so a handler whose output depends only
//       on its record writes each object once, and S3 notifies its subscribers once. The limit: if
//       three attempts produce X, Y and X, and the second has lost its claim, then it may still
//       replace X by Y, because neither stamp nor ETag show that the third attempt confirmed X.
//
// If the process dies before a write, the next attempt writes. If it dies after it, the next
// attempt finds its bytes, or replaces those of the dead attempt. A reader sees a whole object or
// none, because a write of S3 is atomic.

import { unreachable } from "../../core/assert.ts";
import { sha256Hex } from "../../core/encoding/hash.ts";
import { utf8ByteLength } from "../../core/encoding/text.ts";
import { TidegateError } from "../../core/errors.ts";
import type { ExistingObject, ObjectWriter } from "../../ports/objects/object-writer.ts";
import type { SinkFunction } from "../../ports/sink.ts";

/** An object that a handler emits. */
export interface EmittedObject {
  /** Its key below `prefix`; omit it with `names: "sha256"`. */
  readonly key?: string;
  readonly body: string | Uint8Array;
  readonly contentType?: string;
}

/** Where objects go, how they are named, and what happens to objects that exist. */
export interface ObjectsSinkOptions {
  readonly bucket: string;
  /** Text before every key. Default: none. */
  readonly prefix?: string;
  /** "given": the handler names each object. "sha256": its digest does. Default: "given". */
  readonly names?: "given" | "sha256";
  /** For an object that another record, or anyone else, wrote. Default: "reject". */
  readonly onExisting?: "reject" | "keep" | "replace";
}

/** Metadata of an object: who wrote it. */
export const STAMP = {
  record: "tidegate-record",
  fence: "tidegate-fence",
  digest: "tidegate-sha256",
} as const;

/** S3's limit for a key. */
const KEY_BYTES_MAX = 1_024;
/** Writers of one key that may come first before the sink counts as unavailable. */
const TRIES_MAX = 16;

interface Attempt {
  readonly record: string;
  readonly fence: number;
}

interface Wanted extends Attempt {
  readonly key: string;
  readonly bytes: Uint8Array;
  readonly digest: string;
  readonly contentType: string | null;
}

/** A sink function that puts every emitted object into the bucket. */
export function createObjectsSink(writer: ObjectWriter, options: ObjectsSinkOptions): SinkFunction {
  checkOptions(options);
  return async (effects, { key: record, fence, signal }) => {
    const wanted = effects.map((effect) => wantedOf(effect, { record, fence }, options));
    const keys = new Set(wanted.map(({ key }) => key));
    if (keys.size < wanted.length && options.names !== "sha256") {
      refuse("a handler emitted two objects with the same key");
    }
    for (const each of wanted) await put(writer, each, options, signal);
  };
}

async function put(
  writer: ObjectWriter,
  wanted: Wanted,
  options: ObjectsSinkOptions,
  signal: AbortSignal,
): Promise<void> {
  const { bucket } = options;
  const { key, bytes, contentType } = wanted;
  const object = { bucket, key, bytes, contentType, metadata: stampOf(wanted) };
  let existing: ExistingObject | undefined;
  for (let nth = 1; nth <= TRIES_MAX; nth += 1) {
    signal.throwIfAborted();
    const verdict = existing === undefined ? "write" : judge(existing, wanted, options);
    if (verdict === "done") return;
    if (verdict === "taken") {
      refuse(`s3://${bucket}/${key} exists, and another record wrote it; see onExisting`);
    }
    const condition = existing === undefined ? { absent: true as const } : { etag: existing.etag };
    const result = await writer.write({ ...object, condition }, signal); // O1, O2
    if (result === "stored") return;
    existing = await writer.look(bucket, key, signal);
  }
  const message = `s3://${bucket}/${key}: ${TRIES_MAX} other writers came first`;
  throw new TidegateError("TG_SINK_UNAVAILABLE", message);
}

/** What to do about an object that exists. */
function judge(
  { metadata }: ExistingObject,
  { record, fence, digest }: Wanted,
  { names = "given", onExisting = "reject" }: ObjectsSinkOptions,
): "write" | "done" | "taken" {
  if (names === "sha256") return "done"; // O4
  if (metadata[STAMP.record] !== record) return forOther(onExisting); // O3
  if (metadata[STAMP.digest] === digest) return "done"; // O5
  const storedFence = Number(metadata[STAMP.fence]);
  if (storedFence > fence) return "done"; // O2: a later attempt has written it.
  return "write"; // O2
}

function forOther(onExisting: "reject" | "keep" | "replace"): "write" | "done" | "taken" {
  switch (onExisting) {
    case "reject":
      return "taken";
    case "keep":
      return "done";
    case "replace":
      return "write";
    default:
      return unreachable(onExisting);
  }
}

function stampOf({ record, fence, digest }: Wanted): Record<string, string> {
  return { [STAMP.record]: record, [STAMP.fence]: String(fence), [STAMP.digest]: digest };
}

function wantedOf(effect: unknown, attempt: Attempt, options: ObjectsSinkOptions): Wanted {
  const { prefix = "", names = "given" } = options;
  if (effect === null || typeof effect !== "object" || !("body" in effect)) {
    refuse("a handler must emit objects such as { key, body } to objects()");
  }
  const { key: name, body, contentType = null } = effect as EmittedObject;
  const bytes = bytesOf(body);
  const digest = sha256Hex(bytes);
  if (names === "sha256" && name !== undefined) {
    refuse(`the object ${JSON.stringify(name)} has a key, but names is "sha256"; omit the key`);
  }
  const key = `${prefix}${names === "sha256" ? digest : checkedName(name)}`;
  if (utf8ByteLength(key) > KEY_BYTES_MAX) {
    refuse(`the key ${JSON.stringify(key)} is longer than ${KEY_BYTES_MAX} bytes`);
  }
  return { ...attempt, key, bytes, digest, contentType };
}

function checkedName(name: unknown): string {
  if (typeof name === "string" && name !== "" && name.isWellFormed()) return name;
  return refuse(`${JSON.stringify(name)} is not the key of an object; emit { key, body }`);
}

function bytesOf(body: unknown): Uint8Array {
  if (body instanceof Uint8Array) return body;
  if (typeof body === "string") return new TextEncoder().encode(body);
  return refuse("the body of an object must be a text or bytes");
}

function refuse(message: string): never {
  throw new TidegateError("TG_SINK_REFUSED", message);
}

function checkOptions({
  bucket,
  names = "given",
  onExisting = "reject",
}: ObjectsSinkOptions): void {
  const invalid = (message: string) => new TidegateError("TG_CONFIG_INVALID", message);
  if (typeof bucket !== "string" || bucket === "") throw invalid("objects() needs a bucket");
  if (!["given", "sha256"].includes(names)) {
    throw invalid(`names ${JSON.stringify(names)} of objects() must be "given" or "sha256"`);
  }
  if (!["reject", "keep", "replace"].includes(onExisting)) {
    const choices = '"reject", "keep" or "replace"';
    throw invalid(`onExisting ${JSON.stringify(onExisting)} of objects() must be ${choices}`);
  }
}
