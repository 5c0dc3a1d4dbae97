// Broker objects: the objects of the embedded cloud, read without HTTP in between.
//   J1. Every read looks the object up again and compares it with the one that was opened: its
//       blobs are kept only for those who read them, not for those who might.
//   J2. Chunks are copies. The store's own are good for a moment only, and the reader's to keep are
//       the ones it got here.

import type { Broker } from "../broker/engine/broker.ts";
import type { OperationResult } from "../broker/model/operations.ts";
import type { S3Code, S3Fault } from "../broker/model/s3/s3-fault.ts";
import { TidegateError } from "../core/errors.ts";
import type { StoredObject } from "../core/object-change.ts";
import type { BlobStore } from "../ports/blob-store.ts";
import type { ObjectPin, ObjectSource, OpenedObject } from "../ports/object-source.ts";
import type { ByteSource } from "../ports/rows.ts";

/** A chunk at the most, so that a slow reader holds no more than that. */
const CHUNK_BYTES_MAX = 262_144;

/** Faults that a retry may clear. */
const PASSING: ReadonlySet<S3Code> = new Set<S3Code>(["ServiceUnavailable", "SlowDown"]);

export function createBrokerObjects(ports: {
  readonly broker: Broker;
  readonly blobs: Pick<BlobStore, "read">;
}): ObjectSource {
  const { broker, blobs } = ports;
  return {
    async open(pin, signal) {
      const found = await find(broker, pin, pin.versionId);
      if (!found.ok) return notOpened(pin, found.fault);
      const { object } = found.value;
      if (pin.etag !== null && pin.etag !== object.etag) return { kind: "replaced" };
      const { etag, modifiedAt: lastModified } = object;
      const bytes = bytesOf(broker, blobs, pin, object, signal);
      return { kind: "opened", bytes, etag, lastModified };
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
    const found = await find(broker, pin, opened.version);
    if (!found.ok || found.value.object.etag !== opened.etag) {
      throw unavailable(pin, "the object was replaced or deleted after it was opened"); // J1
    }
    if (through < from) return;
    // The same bytes may lie in other blobs by now, if they were put once more.
    for await (const chunk of blobs.read(found.value.object.pieces, { from, through })) {
      for (let at = 0; at < chunk.length; at += CHUNK_BYTES_MAX) {
        signal.throwIfAborted();
        // Not slice, which copies nothing where a chunk is a Buffer (J2).
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

/** What stands in the way, if it is one of the things that happen to objects. */
function notOpened(pin: ObjectPin, { code, message }: S3Fault): OpenedObject {
  switch (code) {
    case "NoSuchKey":
    case "NoSuchVersion":
    case "MethodNotAllowed": // A delete marker, named by its version.
    case "InvalidArgument": // No version can have such an id.
      return { kind: "missing" };
    case "AccessDenied":
      return { kind: "forbidden", reason: message };
    default:
      throw unavailable(pin, `${code}: ${message}`);
  }
}

function unavailable({ bucket, key }: ObjectPin, why: string, cause?: unknown): TidegateError {
  return new TidegateError("TG_OBJECTS_UNAVAILABLE", `s3://${bucket}/${key}: ${why}`, { cause });
}
