// Hashed reads: the hash of a record's input, from bytes that the attempt reads anyway.
//   H1. Nothing is read for the hash. An object that is read to its end has the SHA-256 of those
//       bytes. For any other object that was opened, the checksum that the service sent with the
//       opening counts, if it covers the whole object.
//   H2. Bytes are hashed before the handler gets them, so a handler that changes them changes
//       nothing here.
//   H3. A message has the SHA-256 of its body, as the queue delivered it. One with masked values
//       has none: the hash of a short body would reveal them to anyone who can guess.

import { createDigest, type Digest, sha256Bytes } from "../../core/encoding/hash.ts";
import {
  checksumInputHash,
  type InputHash,
  noHash,
  sha256InputHash,
} from "../../core/input-hash.ts";
import type { ObjectSource } from "../../ports/objects/object-source.ts";
import type { ByteSource } from "../../ports/rows.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import type { RecordMask } from "../telemetry/record-mask.ts";
import { observedObjects } from "../telemetry/record-spans.ts";
import type { WorkRecord } from "./decode.ts";

export interface HashedReads {
  /** The same objects; their bytes are hashed. */
  readonly objects: ObjectSource | null;
  /** The hash of the input, by what was read so far. `isMasked`: by `govern` (H3). */
  hash(isMasked: boolean): InputHash;
}

export interface HashedReadsPorts {
  readonly telemetry: Telemetry;
  readonly masked: RecordMask;
  readonly objects: ObjectSource | null;
}

/** Observes and hashes what one attempt at a record reads. `body` is that of its message. */
export function createHashedReads(
  ports: HashedReadsPorts,
  record: WorkRecord,
  body: string,
): HashedReads {
  const objects = observedObjects(ports, ports.objects, record);
  const { content } = record;
  if (content.kind !== "object") {
    const hides = () => ports.masked.secretsOf(record).length > 0;
    const hash = (isMasked: boolean) =>
      isMasked || hides() ? noHash("masked") : sha256InputHash(sha256Bytes(body)); // H3
    return { objects, hash };
  }
  if (content.event.kind === "removed") return { objects, hash: () => noHash("removed") };
  let whole: InputHash | null = null;
  let checksum: InputHash | null = null;
  let isRead = false;
  const onWhole = (digest: Uint8Array) => {
    whole = sha256InputHash(digest);
  };
  return {
    objects: objects && {
      async open(pin, signal) {
        const opened = await objects.open(pin, signal);
        if (opened.kind !== "opened" || whole !== null) return opened;
        if (opened.checksum) checksum ??= checksumInputHash(opened.checksum); // H1
        return { ...opened, bytes: hashedBytes(opened.bytes, () => (isRead = true), onWhole) };
      },
    },
    hash: () => whole ?? checksum ?? noHash(isRead ? "read-in-part" : "not-read"),
  };
}

function hashedBytes(
  bytes: ByteSource,
  onRead: () => void,
  onWhole: (digest: Uint8Array) => void,
): ByteSource {
  const { size } = bytes;
  return {
    size,
    stream: (signal) => hashedStream(bytes.stream(signal), size, onRead, onWhole),
    range(start, end, signal) {
      onRead();
      return bytes.range(start, end, signal);
    },
  };
}

/** Not a generator: each chunk would cost more turns of the event loop than it does now. */
function hashedStream(
  chunks: AsyncIterable<Uint8Array>,
  size: number | null,
  onRead: () => void,
  onWhole: (digest: Uint8Array) => void,
): AsyncIterable<Uint8Array> {
  return {
    [Symbol.asyncIterator]() {
      const iterator = chunks[Symbol.asyncIterator]();
      let digest: Digest | null = null;
      let total = 0;
      let isOver = false;
      const observe = (next: IteratorResult<Uint8Array>): IteratorResult<Uint8Array> => {
        onRead();
        if (isOver) return next;
        const chunk = next.done === true ? null : next.value;
        total += chunk?.byteLength ?? 0;
        isOver = chunk === null || total === size;
        if (chunk === null && size !== null && total !== size) return next; // Cut short.
        if (isOver && digest === null) {
          onWhole(sha256Bytes(chunk ?? "")); // Most objects are one chunk, hashed in one call.
        } else {
          digest ??= createDigest("sha256");
          if (chunk !== null) digest.update(chunk); // H2
          if (isOver) onWhole(digest.digest());
        }
        return next;
      };
      return {
        next: () => iterator.next().then(observe),
        async return(value?: unknown) {
          isOver = true; // What is not read stays unread.
          await iterator.return?.();
          return { done: true, value };
        },
      };
    },
  };
}
