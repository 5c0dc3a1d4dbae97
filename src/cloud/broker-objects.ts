// Broker objects: reads the objects of the embedded cloud without HTTP.
//   J1. Every read looks the object up again and compares it with the opened one: the store keeps
//       blobs only while a read is in progress.
//   J2. Chunks are copies. The store reuses its own chunks; the reader may keep the copies.
//   J3. An object that was written before its bucket had versions has the version "null", by which
//       it stays readable after it was overwritten.

import type { Broker } from "../broker/engine/broker.ts";
import type { OperationResult } from "../broker/model/operations.ts";
import { readDetail } from "../broker/model/s3/object-detail.ts";
import type { S3Code, S3Fault } from "../broker/model/s3/s3-fault.ts";
import { TidegateError } from "../core/errors.ts";
import type { BlobStore } from "../ports/broker/blob-store.ts";
import type { StoredObject } from "../ports/broker/object-change.ts";
import type { ObjectPin, ObjectSource, OpenedObject } from "../ports/objects/object-source.ts";
import type { ByteSource } from "../ports/rows.ts";

/** Bounds what a slow reader holds in memory. */
const CHUNK_BYTES_MAX = 262_144;

const NULL_VERSION = "null";

/** Faults that a retry may clear. */
const PASSING: ReadonlySet<S3Code> = new Set<S3Code>(["ServiceUnavailable", "SlowDown"]);

export function createBrokerObjects(ports: {
  readonly broker: Broker;
  readonly blobs: Pick<BlobStore, "read">;
}): ObjectSource {
  const { broker, blobs } = ports;
  return {
    async open(pin, signal) {
      let lookup = await find(broker, pin, pin.versionId);
      if (!lookup.ok) return notOpened(pin, lookup.fault);
      const isOther = pin.etag !== null && pin.etag !== lookup.value.object.etag;
      if (isOther && pin.versionId === null) lookup = await find(broker, pin, NULL_VERSION); // J3
      if (!lookup.ok) return { kind: "replaced" };
      const { object } = lookup.value;
      if (pin.etag !== null && pin.etag !== object.etag) return { kind: "replaced" };
      const { etag, modifiedAt: lastModified } = object;
      const bytes = bytesOf(broker, blobs, pin, object, signal);
      const { metadata, tags, checksum } = readDetail(object.detail);
      const { version: versionId } = object;
      const facts = { etag, versionId, lastModified, metadata, checksum };
      return { kind: "opened", bytes, ...facts, tags: async () => tags };
    },
  };
}

function bytesOf(
  broker: Broker,
  blobs: Pick<BlobStore, "read">,
  pin: ObjectPin,
  opened: StoredObject,
  signal: AbortSignal,
): ByteSource {
  const { sizeBytes } = opened;
  async function* read(from: number, through: number): AsyncGenerator<Uint8Array> {
    signal.throwIfAborted();
    const lookup = await find(broker, pin, opened.version);
    if (!lookup.ok || lookup.value.object.etag !== opened.etag) {
      throw unavailable(pin, "the object was replaced or deleted after it was opened"); // J1
    }
    if (through < from) return;
    // If the same bytes were put again, they are in other blobs now.
    for await (const chunk of blobs.read(lookup.value.object.pieces, { from, through })) {
      for (let at = 0; at < chunk.length; at += CHUNK_BYTES_MAX) {
        signal.throwIfAborted();
        // Not slice(), which does not copy if the chunk is a Buffer (J2).
        yield new Uint8Array(chunk.subarray(at, at + CHUNK_BYTES_MAX));
      }
    }
  }
  return {
    size: sizeBytes,
    stream: () => read(0, sizeBytes - 1),
    async range(start, end) {
      const bytes = new Uint8Array(Math.max(0, Math.min(end, sizeBytes) - start));
      let at = 0;
      for await (const chunk of read(start, start + bytes.length - 1)) {
        bytes.set(chunk, at);
        at += chunk.length;
      }
      return bytes;
    },
  };
}

async function find(
  broker: Broker,
  pin: ObjectPin,
  version: string | null,
): Promise<OperationResult<"findObject">> {
  const { bucket, key } = pin;
  const outcome = await broker
    .submit("findObject", { bucket, key, version })
    .catch((error: unknown) => {
      if (!(error instanceof TidegateError) || error.retry === "never") throw error;
      throw unavailable(pin, error.message, error);
    });
  if (!outcome.ok && PASSING.has(outcome.fault.code)) {
    throw unavailable(pin, `${outcome.fault.code}: ${outcome.fault.message}`);
  }
  return outcome;
}

/** Maps the faults that belong to the object to a result; throws for all others. */
function notOpened(pin: ObjectPin, { code, message }: S3Fault): OpenedObject {
  switch (code) {
    case "NoSuchKey":
    case "NoSuchVersion":
    case "MethodNotAllowed": // The version is a delete marker.
    case "InvalidArgument": // Not a valid version id.
      return { kind: "missing" };
    case "AccessDenied":
      return { kind: "forbidden", reason: message };
    default:
      throw unavailable(pin, `${code}: ${message}`);
  }
}

function unavailable({ bucket, key }: ObjectPin, reason: string, cause?: unknown): TidegateError {
  return new TidegateError("TG_OBJECTS_UNAVAILABLE", `s3://${bucket}/${key}: ${reason}`, { cause });
}
