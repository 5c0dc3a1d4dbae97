// Memory object writer: a bucket in memory with the conditions of S3, for tests and simulations.

import { md5Hex } from "../../core/encoding/hash.ts";
import type {
  ExistingObject,
  ObjectWrite,
  ObjectWriter,
} from "../../ports/objects/object-writer.ts";

export interface MemoryObjectWriter extends ObjectWriter {
  /** The object of a key; undefined if there is none. */
  read(bucket: string, key: string): (ExistingObject & { readonly bytes: Uint8Array }) | undefined;
}

export function createMemoryObjectWriter(
  onStored: (object: ObjectWrite) => void = () => {},
): MemoryObjectWriter {
  const objects = new Map<string, ExistingObject & { readonly bytes: Uint8Array }>();
  const idOf = (bucket: string, key: string) => `${bucket}/${key}`;
  return {
    async write(object) {
      const { bucket, key, bytes, metadata, condition } = object;
      const existing = objects.get(idOf(bucket, key));
      const holds =
        "etag" in condition ? existing?.etag === condition.etag : existing === undefined;
      if (!holds) return "exists";
      objects.set(idOf(bucket, key), { etag: md5Hex(bytes), metadata: { ...metadata }, bytes });
      onStored(object);
      return "stored";
    },
    async look(bucket, key) {
      const object = objects.get(idOf(bucket, key));
      return object && { etag: object.etag, metadata: object.metadata };
    },
    read: (bucket, key) => objects.get(idOf(bucket, key)),
  };
}
