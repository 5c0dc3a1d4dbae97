// Object rows: reads and writes of objects, uploads and parts.
//   W1. Every row has a checksum over all columns in use. A mismatch is reported as damage of that
//       object; all others stay readable.
//   W2. Deleting a missing row is a broken invariant of the broker and fails the commit.
//   W3. A listing reads its rows as arrays: it may read every object of a bucket, and SQLite's
//       driver takes twice as long to build an object for each row.

import type { DatabaseSync, StatementSync } from "node:sqlite";
import { assert } from "../../../core/assert.ts";
import type { EpochMs } from "../../../core/units.ts";
import type {
  KeyPosition,
  ObjectChange,
  ObjectReads,
  StoredEntry,
  StoredObject,
  StoredPart,
  StoredUpload,
} from "../../../ports/broker/object-change.ts";
import { rowCheck } from "./row-check.ts";

type Row = Record<string, unknown>;
type Refuse = (what: string) => never;

const ENTRY =
  "bucket, key, age, version, marker, size, etag, modified_at, storage_class, detail, entry_check";
const OBJECT = `${ENTRY}, pieces, pieces_check`;
/**
 * Rows per read of a listing; no statement stays open between two reads. A listing starts with few,
 * since one that skips from folder to folder starts over with each of them.
 */
const ROWS_PER_READ_FIRST = 8;
const ROWS_PER_READ_MAX = 256;
const READ_GROWTH = 4;

/** Returns the function that applies one change; the caller has a transaction open. */
export function prepareObjectWrites(database: DatabaseSync): (change: ObjectChange) => void {
  const sql = prepareWrites(database);
  return (change) => applyChange(sql, change);
}

/** `refuse` gets the name of an object whose checksum does not match. */
export function prepareObjectReads(database: DatabaseSync, refuse: Refuse): ObjectReads {
  const sql = prepareReads(database);
  return {
    newest(bucket, key, before) {
      const row = sql.newest.get(bucket, key, -before);
      return row === undefined ? undefined : objectOf(row, refuse);
    },
    version(bucket, key, version) {
      const row = sql.version.get(bucket, key, version);
      return row === undefined ? undefined : objectOf(row, refuse);
    },
    entries: (bucket, from) => entriesFrom(sql, bucket, from, refuse),
    upload(bucket, key, id) {
      const row = sql.upload.get(bucket, key, id);
      return row === undefined ? undefined : uploadOf(row, refuse);
    },
    uploads: (bucket, from) => uploadsFrom(sql, bucket, from, refuse),
    part(upload, number) {
      const row = sql.part.get(upload, number);
      return row === undefined ? undefined : partOf(row, refuse);
    },
    parts: (upload, after) => sql.parts.all(upload, after).map((row) => partOf(row, refuse)),
    hasBlob: (blob) => sql.hasBlob.get(blob) !== undefined,
  };
}

function prepareWrites(database: DatabaseSync) {
  const prepare = (text: string) => database.prepare(text);
  return {
    putObject: prepare(
      "INSERT OR REPLACE INTO object VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    ),
    deleteObject: prepare("DELETE FROM object WHERE bucket = ? AND key = ? AND age = ?"),
    putBlob: prepare("INSERT OR REPLACE INTO blob VALUES (?)"),
    deleteBlob: prepare("DELETE FROM blob WHERE id = ?"),
    putUpload: prepare("INSERT OR REPLACE INTO upload VALUES (?, ?, ?, ?, ?, ?, ?)"),
    deleteUpload: prepare("DELETE FROM upload WHERE bucket = ? AND key = ? AND id = ?"),
    putPart: prepare("INSERT OR REPLACE INTO part VALUES (?, ?, ?, ?, ?, ?, ?, ?)"),
    deleteParts: prepare("DELETE FROM part WHERE upload = ?"),
  } as const satisfies Record<string, StatementSync>;
}

function prepareReads(database: DatabaseSync) {
  const prepare = (text: string) => database.prepare(text);
  const entries = prepare(
    `SELECT ${ENTRY} FROM object WHERE bucket = ? AND (key, age) > (?, ?)
       ORDER BY key, age LIMIT ?`,
  );
  entries.setReturnArrays(true); // W3
  return {
    entries,
    newest: prepare(
      `SELECT ${OBJECT} FROM object WHERE bucket = ? AND key = ? AND age > ? ORDER BY age LIMIT 1`,
    ),
    version: prepare(`SELECT ${OBJECT} FROM object WHERE bucket = ? AND key = ? AND version = ?`),
    upload: prepare("SELECT * FROM upload WHERE bucket = ? AND key = ? AND id = ?"),
    uploads: prepare(
      `SELECT * FROM upload WHERE bucket = ? AND (key, id) > (?, ?) ORDER BY key, id LIMIT ?`,
    ),
    part: prepare("SELECT * FROM part WHERE upload = ? AND number = ?"),
    parts: prepare("SELECT * FROM part WHERE upload = ? AND number > ? ORDER BY number"),
    hasBlob: prepare("SELECT 1 FROM blob WHERE id = ?"),
  } as const satisfies Record<string, StatementSync>;
}

type Writes = ReturnType<typeof prepareWrites>;
type Reads = ReturnType<typeof prepareReads>;

function applyChange(sql: Writes, change: ObjectChange): void {
  switch (change.kind) {
    case "put-object":
      putObject(sql, change.object);
      return;
    case "delete-object": {
      const { changes } = sql.deleteObject.run(change.bucket, change.key, -change.seq);
      assert(changes === 1, `object ${change.seq} is missing`); // W2
      return;
    }
    case "put-blob":
      sql.putBlob.run(change.blob);
      return;
    case "delete-blob":
      sql.deleteBlob.run(change.blob);
      return;
    case "put-upload": {
      const { bucket, key, id, startedAt, storageClass, detail } = change.upload;
      const check = rowCheck(bucket, key, id, startedAt, storageClass, detail);
      sql.putUpload.run(bucket, key, id, startedAt, storageClass, detail, check);
      return;
    }
    case "delete-upload": {
      const { changes } = sql.deleteUpload.run(change.bucket, change.key, change.id);
      assert(changes === 1, `upload ${change.id} is missing`); // W2
      sql.deleteParts.run(change.id);
      return;
    }
    case "put-part": {
      const { upload, number, blob, sizeBytes, etag, checksum, modifiedAt } = change.part;
      const check = rowCheck(upload, number, blob, sizeBytes, etag, checksum, modifiedAt);
      sql.putPart.run(upload, number, blob, sizeBytes, etag, checksum, modifiedAt, check);
    }
  }
}

function putObject(sql: Writes, object: StoredObject): void {
  const pieces = JSON.stringify(object.pieces.map(({ blob, sizeBytes }) => [blob, sizeBytes]));
  sql.putObject.run(
    object.bucket,
    object.key,
    -object.seq,
    object.version,
    object.marker ? 1 : 0,
    object.sizeBytes,
    object.etag,
    object.modifiedAt,
    object.storageClass,
    object.detail,
    entryCheck(object),
    pieces,
    rowCheck(object.seq, pieces),
  );
}

/** The sizes of successive reads of one listing, endless. */
function* readSizes(): Generator<number> {
  for (let rows = ROWS_PER_READ_FIRST; ; rows = Math.min(rows * READ_GROWTH, ROWS_PER_READ_MAX)) {
    yield rows;
  }
}

function* entriesFrom(
  sql: Reads,
  bucket: number,
  from: KeyPosition,
  refuse: Refuse,
): Generator<StoredEntry> {
  let key = from.key;
  let age = from.after ? Number.MAX_SAFE_INTEGER : -Number.MAX_SAFE_INTEGER;
  for (const limit of readSizes()) {
    const rows = sql.entries.all(bucket, key, age, limit) as unknown as EntryRow[];
    for (const row of rows) yield listedEntry(row, refuse);
    const last = rows.at(-1);
    if (last === undefined || rows.length < limit) return;
    key = last[1];
    age = last[2];
  }
}

/** The columns of ENTRY, in their order (W3). */
type EntryRow = [
  bucket: number,
  key: string,
  age: number,
  version: string,
  marker: number,
  size: number,
  etag: string,
  modifiedAt: number,
  storageClass: string,
  detail: string,
  check: number,
];

function listedEntry(row: EntryRow, refuse: Refuse): StoredEntry {
  const entry: StoredEntry = {
    bucket: row[0],
    key: row[1],
    seq: -row[2],
    version: row[3],
    marker: row[4] === 1,
    sizeBytes: row[5],
    etag: row[6],
    modifiedAt: row[7] as EpochMs,
    storageClass: row[8],
    detail: row[9],
  };
  if (row[10] !== entryCheck(entry)) refuse(`object ${entry.seq}`); // W1
  return entry;
}

function* uploadsFrom(
  sql: Reads,
  bucket: number,
  from: KeyPosition,
  refuse: Refuse,
): Generator<StoredUpload> {
  let key = from.key;
  let id = from.after ? "\u{10ffff}" : ""; // Ids are hex digits.
  for (const limit of readSizes()) {
    const rows = sql.uploads.all(bucket, key, id, limit).map((row) => uploadOf(row, refuse));
    yield* rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < limit) return;
    key = last.key;
    id = last.id;
  }
}

function entryOf(row: Row, refuse: Refuse): StoredEntry {
  const entry: StoredEntry = {
    bucket: row.bucket as number,
    key: row.key as string,
    seq: -(row.age as number),
    version: row.version as string,
    marker: row.marker === 1,
    sizeBytes: row.size as number,
    etag: row.etag as string,
    modifiedAt: row.modified_at as EpochMs,
    storageClass: row.storage_class as string,
    detail: row.detail as string,
  };
  if (row.entry_check !== entryCheck(entry)) refuse(`object ${entry.seq}`); // W1
  return entry;
}

function objectOf(row: Row, refuse: Refuse): StoredObject {
  const entry = entryOf(row, refuse);
  const text = row.pieces as string;
  if (row.pieces_check !== rowCheck(entry.seq, text)) refuse(`object ${entry.seq}`); // W1
  const pieces = (JSON.parse(text) as [string, number][]).map(([blob, sizeBytes]) => ({
    blob,
    sizeBytes,
  }));
  return { ...entry, pieces };
}

function uploadOf(row: Row, refuse: Refuse): StoredUpload {
  const upload: StoredUpload = {
    bucket: row.bucket as number,
    key: row.key as string,
    id: row.id as string,
    startedAt: row.started_at as EpochMs,
    storageClass: row.storage_class as string,
    detail: row.detail as string,
  };
  const { bucket, key, id, startedAt, storageClass, detail } = upload;
  const check = rowCheck(bucket, key, id, startedAt, storageClass, detail);
  if (row.upload_check !== check) refuse(`upload ${id}`); // W1
  return upload;
}

function partOf(row: Row, refuse: Refuse): StoredPart {
  const part: StoredPart = {
    upload: row.upload as string,
    number: row.number as number,
    blob: row.blob as string,
    sizeBytes: row.size as number,
    etag: row.etag as string,
    checksum: row.checksum as string,
    modifiedAt: row.modified_at as EpochMs,
  };
  const { upload, number, blob, sizeBytes, etag, checksum, modifiedAt } = part;
  const check = rowCheck(upload, number, blob, sizeBytes, etag, checksum, modifiedAt);
  if (row.part_check !== check) refuse(`part ${number} of upload ${upload}`); // W1
  return part;
}

function entryCheck(entry: StoredEntry): number {
  const { bucket, key, seq, version, marker, sizeBytes, etag } = entry;
  const { modifiedAt, storageClass, detail } = entry;
  return rowCheck(
    bucket,
    key,
    seq,
    version,
    marker ? 1 : 0,
    sizeBytes,
    etag,
    modifiedAt,
    storageClass,
    detail,
  );
}
