// File check: verifies the broker's files before any database opens them.
//   F1. It only reads. A folder that fails here is byte for byte unchanged.
//   F2. A crash can tear the last commit of the log and nothing before it, as each commit was
//       synced before the next started. Two or more commits beyond a bad frame are therefore
//       damage, where SQLite itself would silently return to the last good frame.
//   F3. Pages missing from the file must be in the log: a crash between the two leaves them there.

import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { TidegateError } from "../../../core/errors.ts";
import { APPLICATION_ID, PAGE_BYTES, SCHEMA_VERSION } from "./broker-schema.ts";

const MAGIC = Buffer.from("SQLite format 3\0");
const DATABASE_HEADER_BYTES = 100;
const LOG_HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
const FRAME_BYTES = FRAME_HEADER_BYTES + PAGE_BYTES;
const LOG_MAGIC = 0x377f0682;
/** Frames per read (4 MiB), so that a huge log does not need as much memory. */
const FRAMES_PER_READ = 1_024;
/** A crash may tear one commit (F2). */
const TORN_COMMITS_MAX = 1;

export function checkBrokerFiles(path: string): void {
  const pagesInFile = checkDatabaseHeader(path);
  const log = scanLog(`${path}-wal`, pagesInFile.held);
  const pagesNeeded = log?.pageCount ?? pagesInFile.named;
  for (let page = pagesInFile.held + 1; page <= pagesNeeded; page += 1) {
    if (log?.pagesBeyondFile.has(page) !== true) throw corrupt(path, "it is truncated"); // F3
  }
}

export function corrupt(path: string, what: string, cause?: unknown): TidegateError {
  const message = `data file ${path} is damaged: ${what}`;
  return new TidegateError("TG_STORE_CORRUPT", message, { cause });
}

function checkDatabaseHeader(path: string): { held: number; named: number } {
  return withFile(path, (descriptor, sizeBytes) => {
    const header = Buffer.alloc(DATABASE_HEADER_BYTES);
    const got = readSync(descriptor, header, 0, header.length, 0);
    if (got < header.length || !header.subarray(0, MAGIC.length).equals(MAGIC)) {
      throw corrupt(path, "it is not a database");
    }
    if (header.readUInt32BE(68) !== APPLICATION_ID) {
      throw corrupt(path, "it belongs to another application");
    }
    const version = header.readUInt32BE(60);
    if (version > SCHEMA_VERSION) {
      const message = `data file ${path} has format ${version}; this release reads up to ${SCHEMA_VERSION}`;
      throw new TidegateError("TG_STORE_NEWER", message);
    }
    if (version < 1 || header.readUInt16BE(16) !== PAGE_BYTES) {
      throw corrupt(path, "its header is not Tidegate's");
    }
    return { held: Math.floor(sizeBytes / PAGE_BYTES), named: header.readUInt32BE(28) };
  });
}

interface LogState {
  /** Pages of the database after the last good commit, or null without one. */
  readonly pageCount: number | null;
  readonly pagesBeyondFile: ReadonlySet<number>;
}

function scanLog(path: string, pagesInFile: number): LogState | null {
  try {
    return withFile(path, (descriptor, sizeBytes) =>
      scanFrames(path, descriptor, sizeBytes, pagesInFile),
    );
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

function scanFrames(path: string, file: number, sizeBytes: number, pagesInFile: number): LogState {
  const header = Buffer.alloc(LOG_HEADER_BYTES + FRAME_HEADER_BYTES);
  const none: LogState = { pageCount: null, pagesBeyondFile: new Set() };
  if (readSync(file, header, 0, header.length, 0) < header.length) return none; // Never used.
  if (header.every((byte) => byte === 0)) return none;
  const sum = headerSum(path, header.subarray(0, LOG_HEADER_BYTES));
  const salt = header.subarray(16, 24);

  const frames = Math.floor((sizeBytes - LOG_HEADER_BYTES) / FRAME_BYTES);
  const beyond = new Set<number>();
  const pending: number[] = [];
  const tail = createTail(path);
  let pageCount: number | null = null;
  let good = true;
  for (const frame of framesOf(file, frames)) {
    // Frames from before the log was last reset have another salt: its valid part ends there.
    const current = frame.subarray(8, 16).equals(salt);
    const chained = addFrame(sum, frame);
    const committedPages = frame.readUInt32BE(4);
    good &&= current && chained;
    if (!good) {
      tail.add(current, chained, committedPages > 0);
      continueFrom(sum, frame);
      continue;
    }
    const page = frame.readUInt32BE(0);
    if (page > pagesInFile) pending.push(page);
    if (committedPages === 0) continue;
    pageCount = committedPages;
    for (const committed of pending.splice(0)) beyond.add(committed);
  }
  return { pageCount, pagesBeyondFile: beyond };
}

/** Counts the commits beyond the first bad frame, and throws on too many (F2). */
function createTail(path: string) {
  let commits = 0;
  // A commit with a foreign salt is a leftover, unless a current frame continues its checksum. Then
  // it was written just before that frame, and its salt is what broke. (Leftovers continue each
  // other as well, by the hundreds once the log was reset and is filled again.)
  let doubtful = false;
  return {
    add(current: boolean, chained: boolean, commit: boolean): void {
      if (doubtful && chained && current) commits += 1;
      if (commit && current) commits += 1;
      doubtful = commit && !current;
      if (commits > TORN_COMMITS_MAX) throw corrupt(path, "it contains broken commits");
    },
  };
}

/** Trusts a frame's checksum, to see whether the next one was written after it. */
function continueFrom(sum: LogSum, frame: Buffer): void {
  sum.first = frame.readUInt32BE(16);
  sum.second = frame.readUInt32BE(20);
}

function* framesOf(file: number, frames: number): Generator<Buffer> {
  const chunk = Buffer.alloc(Math.min(frames, FRAMES_PER_READ) * FRAME_BYTES);
  for (let first = 0; first < frames; first += FRAMES_PER_READ) {
    const count = Math.min(FRAMES_PER_READ, frames - first);
    const at = LOG_HEADER_BYTES + first * FRAME_BYTES;
    readSync(file, chunk, 0, count * FRAME_BYTES, at);
    for (let index = 0; index < count; index += 1) {
      yield chunk.subarray(index * FRAME_BYTES, (index + 1) * FRAME_BYTES);
    }
  }
}

/** The running checksum of a log: two words, and their byte order. */
interface LogSum {
  first: number;
  second: number;
  readonly bigEndian: boolean;
}

function headerSum(path: string, header: Buffer): LogSum {
  const magic = header.readUInt32BE(0);
  const sum: LogSum = { first: 0, second: 0, bigEndian: (magic & 1) === 1 };
  addBytes(sum, header, 0, 24);
  const sound =
    (magic & ~1) === LOG_MAGIC &&
    header.readUInt32BE(8) === PAGE_BYTES &&
    header.readUInt32BE(24) === sum.first &&
    header.readUInt32BE(28) === sum.second;
  if (!sound) throw corrupt(path, "its header is broken");
  return sum;
}

/** Adds a frame to the running checksum; returns whether the frame contains that checksum. */
function addFrame(sum: LogSum, frame: Buffer): boolean {
  addBytes(sum, frame, 0, 8);
  addBytes(sum, frame, FRAME_HEADER_BYTES, FRAME_BYTES);
  return frame.readUInt32BE(16) === sum.first && frame.readUInt32BE(20) === sum.second;
}

function addBytes(sum: LogSum, bytes: Buffer, from: number, to: number): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let { first, second } = sum;
  for (let at = from; at < to; at += 8) {
    first = (first + view.getUint32(at, !sum.bigEndian) + second) >>> 0;
    second = (second + view.getUint32(at + 4, !sum.bigEndian) + first) >>> 0;
  }
  sum.first = first;
  sum.second = second;
}

function withFile<T>(path: string, use: (descriptor: number, sizeBytes: number) => T): T {
  const descriptor = openSync(path, "r");
  try {
    return use(descriptor, fstatSync(descriptor).size);
  } finally {
    closeSync(descriptor);
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}
