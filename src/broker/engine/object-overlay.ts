// ObjectOverlay: objects as the steps of one batch have left them, before the store has them.
//   V1. A read of one key, upload or part sees every change of the batch.
//   V2. A listing sees only the store; the engine runs one only while the batch changed no objects.

import { assert } from "../../core/assert.ts";
import type { Change } from "../../ports/broker/broker-change.ts";
import type {
  KeyPosition,
  ObjectReads,
  StoredEntry,
  StoredObject,
  StoredPart,
  StoredUpload,
} from "../../ports/broker/object-change.ts";

/** The changes of the batch to one key. */
interface TouchedKey {
  readonly put: Map<number, StoredObject>;
  readonly deleted: Set<number>;
}

export class ObjectOverlay implements ObjectReads {
  readonly #store: ObjectReads;
  readonly #keys = new Map<string, TouchedKey>();
  /** Null: deleted in this batch. */
  readonly #uploads = new Map<string, StoredUpload | null>();
  readonly #parts = new Map<string, StoredPart>();

  constructor(store: ObjectReads) {
    this.#store = store;
  }

  /** Whether a listing of the store alone would miss something. */
  get touched(): boolean {
    return this.#keys.size > 0 || this.#uploads.size > 0 || this.#parts.size > 0;
  }

  note(change: Change): void {
    switch (change.kind) {
      case "put-object": {
        const { bucket, key, seq } = change.object;
        this.#touch(bucket, key).put.set(seq, change.object);
        return;
      }
      case "delete-object": {
        const touched = this.#touch(change.bucket, change.key);
        touched.put.delete(change.seq);
        touched.deleted.add(change.seq);
        return;
      }
      case "put-upload":
        this.#uploads.set(change.upload.id, change.upload);
        return;
      case "delete-upload":
        this.#uploads.set(change.id, null);
        return;
      case "put-part":
        this.#parts.set(partKey(change.part.upload, change.part.number), change.part);
        return;
      default:
    }
  }

  newest(bucket: number, key: string, before: number): StoredObject | undefined {
    const touched = this.#keys.get(objectKey(bucket, key));
    let newest = this.#store.newest(bucket, key, before);
    if (touched === undefined) return newest;
    while (
      newest !== undefined &&
      (touched.deleted.has(newest.seq) || touched.put.has(newest.seq))
    ) {
      newest = this.#store.newest(bucket, key, newest.seq);
    }
    for (const put of touched.put.values()) {
      if (put.seq < before && put.seq > (newest?.seq ?? 0)) newest = put;
    }
    return newest; // V1
  }

  version(bucket: number, key: string, version: string): StoredObject | undefined {
    const touched = this.#keys.get(objectKey(bucket, key));
    for (const put of touched?.put.values() ?? []) if (put.version === version) return put;
    const stored = this.#store.version(bucket, key, version);
    if (stored === undefined || touched?.deleted.has(stored.seq) === true) return undefined;
    return stored;
  }

  entries(bucket: number, from: KeyPosition): Iterable<StoredEntry> {
    this.#assertUntouched();
    return this.#store.entries(bucket, from);
  }

  upload(bucket: number, key: string, id: string): StoredUpload | undefined {
    const touched = this.#uploads.get(id);
    if (touched === undefined) return this.#store.upload(bucket, key, id);
    return touched?.bucket === bucket && touched.key === key ? touched : undefined;
  }

  uploads(bucket: number, from: KeyPosition): Iterable<StoredUpload> {
    this.#assertUntouched();
    return this.#store.uploads(bucket, from);
  }

  part(upload: string, number: number): StoredPart | undefined {
    if (this.#uploads.get(upload) === null) return undefined;
    return this.#parts.get(partKey(upload, number)) ?? this.#store.part(upload, number);
  }

  parts(upload: string, after: number): Iterable<StoredPart> {
    this.#assertUntouched();
    return this.#store.parts(upload, after);
  }

  hasBlob(blob: string): boolean {
    return this.#store.hasBlob(blob);
  }

  #touch(bucket: number, key: string): TouchedKey {
    const at = objectKey(bucket, key);
    const touched = this.#keys.get(at) ?? { put: new Map(), deleted: new Set() };
    this.#keys.set(at, touched);
    return touched;
  }

  #assertUntouched(): void {
    assert(!this.touched, "a listing runs before the batch changes objects"); // V2
  }
}

function objectKey(bucket: number, key: string): string {
  return `${bucket}/${key}`;
}

function partKey(upload: string, number: number): string {
  return `${upload}/${number}`;
}
