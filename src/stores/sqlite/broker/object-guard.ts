// Object guard: the object reads of the port, on whichever connection is currently open.
//   N1. Each read, and each step of a listing, runs under the store's error handling.

import type { ObjectReads } from "../../../ports/broker/object-change.ts";

/** Runs one read on the open connection; null if the file has no object tables. */
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
