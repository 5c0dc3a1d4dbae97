// Memory object table: the tables of objects, uploads and parts, for --memory and for tests.
//   M1. Sorted as on disk: by bucket, key in UTF-8 order, newest version first.

import { assert } from "../../core/assert.ts";
import { compareUtf8 } from "../../core/encoding/utf8-order.ts";
import type {
  KeyPosition,
  ObjectChange,
  ObjectReads,
  StoredObject,
  StoredPart,
  StoredUpload,
} from "../../ports/broker/object-change.ts";

/** The sort position of a row; omitted parts sort first. */
interface Position {
  readonly bucket: number;
  readonly key: string;
  readonly seq?: number;
  readonly id?: string;
}

export class MemoryObjects implements ObjectReads {
  readonly #objects: StoredObject[] = [];
  readonly #uploads: StoredUpload[] = [];
  readonly #parts = new Map<string, Map<number, StoredPart>>();
  readonly #blobs = new Set<string>();

  apply(change: ObjectChange): void {
    switch (change.kind) {
      case "put-object":
        insert(this.#objects, change.object);
        return;
      case "delete-object":
        remove(this.#objects, change);
        return;
      case "put-blob":
        this.#blobs.add(change.blob);
        return;
      case "delete-blob":
        this.#blobs.delete(change.blob);
        return;
      case "put-upload":
        insert(this.#uploads, change.upload);
        return;
      case "delete-upload":
        remove(this.#uploads, change);
        this.#parts.delete(change.id);
        return;
      case "put-part": {
        const parts = this.#parts.get(change.part.upload) ?? new Map<number, StoredPart>();
        parts.set(change.part.number, change.part);
        this.#parts.set(change.part.upload, parts);
      }
    }
  }

  newest(bucket: number, key: string, before: number): StoredObject | undefined {
    const at = indexOf(this.#objects, { bucket, key, seq: before - 1 });
    const object = this.#objects[at];
    return object?.bucket === bucket && object.key === key ? object : undefined;
  }

  version(bucket: number, key: string, version: string): StoredObject | undefined {
    const objects = this.#objects;
    for (let at = indexOf(objects, { bucket, key }); at < objects.length; at += 1) {
      const object = objects[at]!;
      if (object.bucket !== bucket || object.key !== key) return undefined;
      if (object.version === version) return object;
    }
    return undefined;
  }

  entries(bucket: number, from: KeyPosition): Iterable<StoredObject> {
    return rowsFrom(this.#objects, bucket, from);
  }

  upload(bucket: number, key: string, id: string): StoredUpload | undefined {
    const upload = this.#uploads[indexOf(this.#uploads, { bucket, key, id })];
    return upload?.bucket === bucket && upload.key === key && upload.id === id ? upload : undefined;
  }

  uploads(bucket: number, from: KeyPosition): Iterable<StoredUpload> {
    return rowsFrom(this.#uploads, bucket, from);
  }

  part(upload: string, number: number): StoredPart | undefined {
    return this.#parts.get(upload)?.get(number);
  }

  parts(upload: string, after: number): Iterable<StoredPart> {
    const parts = [...(this.#parts.get(upload)?.values() ?? [])];
    return parts.filter(({ number }) => number > after).sort((a, b) => a.number - b.number);
  }

  hasBlob(blob: string): boolean {
    return this.#blobs.has(blob);
  }
}

function* rowsFrom<T extends Position>(
  rows: readonly T[],
  bucket: number,
  from: KeyPosition,
): Generator<T> {
  for (let at = indexOf(rows, { bucket, key: from.key }); at < rows.length; at += 1) {
    const row = rows[at]!;
    if (row.bucket !== bucket) return;
    if (!from.after || row.key !== from.key) yield row;
  }
}

/** The index of the first row at or after `position`. */
function indexOf(rows: readonly Position[], position: Position): number {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (comparePositions(rows[middle]!, position) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

function comparePositions(a: Position, b: Position): number {
  return (
    a.bucket - b.bucket ||
    compareUtf8(a.key, b.key) ||
    (b.seq ?? Number.MAX_SAFE_INTEGER) - (a.seq ?? Number.MAX_SAFE_INTEGER) ||
    compareUtf8(a.id ?? "", b.id ?? "")
  );
}

function insert<T extends Position>(rows: T[], row: T): void {
  const at = indexOf(rows, row);
  const exists = rows[at] !== undefined && comparePositions(rows[at], row) === 0;
  rows.splice(at, exists ? 1 : 0, row);
}

function remove(rows: Position[], position: Position): void {
  const at = indexOf(rows, position);
  const exists = rows[at] !== undefined && comparePositions(rows[at], position) === 0;
  assert(exists, `a row of key ${JSON.stringify(position.key)} is missing`);
  rows.splice(at, 1);
}
