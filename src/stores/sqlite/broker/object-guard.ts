// Object guard: the reads of objects as the port promises them, whatever connection is open just
// now.
//   N1. Each read, and each step of a listing, runs under the store's own care for errors.

import type { ObjectReads } from "../../../core/object-change.ts";

/** Runs one read against the rows of the connection that is open; null: there are none. */
export type GuardedRead = <T>(work: (rows: ObjectReads | null) => T) => T;

export function guardObjects(read: GuardedRead): ObjectReads {
  return {
    newest: (bucket, key, before) => read((rows) => rows?.newest(bucket, key, before)),
    version: (bucket, key, version) => read((rows) => rows?.version(bucket, key, version)),
    entries: (bucket, from) => guardRows(read, (rows) => rows.entries(bucket, from)),
    upload: (bucket, key, id) => read((rows) => rows?.upload(bucket, key, id)),
    uploads: (bucket, from) => guardRows(read, (rows) => rows.uploads(bucket, from)),
    part: (upload, number) => read((rows) => rows?.part(upload, number)),
    parts: (upload, after) => read((rows) => rows?.parts(upload, after) ?? []),
    hasBlob: (blob) => read((rows) => rows?.hasBlob(blob) ?? false),
  };
}

function* guardRows<T>(read: GuardedRead, open: (rows: ObjectReads) => Iterable<T>): Generator<T> {
  const iterator = read((rows) => (rows === null ? null : open(rows)[Symbol.iterator]()));
  if (iterator === null) return;
  for (;;) {
    const next = read(() => iterator.next()); // N1
    if (next.done === true) return;
    yield next.value;
  }
}
