// Reserve: disk space that the store holds, so that a full disk can be emptied.
//   R1. The store accepts more data only while it holds the reserve and the disk is not full. Once
//       it is, only commits that free space are accepted, until there is space again.
//   R2. The reserve is given up only when such a commit finds no space, so that other programs do
//       not take it in the meantime.
//   R3. The reserve covers twice the longest log: a start copies the log before it folds it, and
//       folding may enlarge the data file by as much (renew-log.ts).
//       It does not cover a copy of the data file, and is not given up for one that still does not
//       fit.
//   R4. The file holds bytes that do not compress, so that no file system stores it as less.
//   R5. The disk counts as full until there is some space beyond the reserve, and the reserve is
//       not taken before that. Otherwise the next write would give it up again. Only a start takes
//       it without such space: its log has just been folded, so it needs little.
//   R6. While the store waits for more space than the reserve covers, the disk counts as full.
//   R7. It is not part of the data: a power cut may lose it, and the next start takes it again.

import {
  closeSync,
  fsync,
  fsyncSync,
  openSync,
  rmSync,
  statfsSync,
  statSync,
  write,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import type { StoreSpace } from "../../../ports/broker/broker-store.ts";
import { freeBytesOf } from "../renew-log.ts";
import { syncPath } from "../replace-file.ts";
import { CHECKPOINT_PAGES, PAGE_BYTES } from "./broker-schema.ts";
import type { WriterLimits } from "./disk-thread.ts";

export const RESERVE_FILE = "broker.reserve";
const RESERVE_BYTES_MAX = 2 * CHECKPOINT_PAGES * PAGE_BYTES + 1_024 * 1_024;
/** A small disk gives up at most this fraction of it. */
const DISK_FRACTION = 1 / 8;
/** Free space beyond the reserve itself, as a fraction of it (R5). */
const MARGIN = 1 / 4;
const BLOCK_BYTES = 512;
const CHUNK_BYTES = 1_024 * 1_024;
/** Pause after a disk that seemed to have space did not, as under a quota. */
const RETRY_MS = 1_000;

/** Gives the space back to the disk; returns whether there was any (R2). */
export function releaseReserve(folder: string): boolean {
  const path = join(folder, RESERVE_FILE);
  if (statSync(path, { throwIfNoEntry: false }) === undefined) return false;
  rmSync(path, { force: true });
  syncPath(folder); // Journalling file systems free the space only then.
  return true;
}

/** Whether giving up the reserve can help a call that failed for lack of so much space (R3). */
export function isWithinReserve(folder: string, error: unknown): boolean {
  const { neededBytes, freeBytes } = error as { neededBytes?: number; freeBytes?: number };
  if (neededBytes === undefined || freeBytes === undefined) return true;
  const file = statSync(join(folder, RESERVE_FILE), { throwIfNoEntry: false });
  return freeBytes + (file?.blocks ?? 0) * BLOCK_BYTES >= neededBytes;
}

/** Space that the store waits for (R6). */
interface AwaitedSpace {
  readonly error: unknown;
  readonly bytes: number;
  readonly onFree: () => void;
}

export class Reserve implements StoreSpace {
  /** Keeps the log within what the reserve covers (R3). */
  readonly limits: Pick<WriterLimits, "checkpointPages" | "commitsPerLook">;
  readonly #folder: string;
  readonly #path: string;
  readonly #bytes: number;
  #begun = false;
  #full = false;
  #taking: Promise<boolean> | null = null;
  #closed = false;
  #failedAt = Number.NEGATIVE_INFINITY;
  #awaited: AwaitedSpace | null = null;

  constructor(folder: string) {
    this.#folder = folder;
    this.#path = join(folder, RESERVE_FILE);
    const { blocks, bsize } = statfsSync(folder);
    this.#bytes = Math.min(RESERVE_BYTES_MAX, Math.floor(blocks * bsize * DISK_FRACTION));
    const covered = Math.floor(this.#bytes / 2 / PAGE_BYTES);
    // A small disk has a short log, which a few commits fill.
    this.limits =
      covered < CHECKPOINT_PAGES
        ? { checkpointPages: Math.max(1, covered), commitsPerLook: 1 }
        : {};
  }

  /** Whether only commits that free space may be accepted (R1). */
  get full(): boolean {
    return this.#full || this.#awaited !== null;
  }

  get waitsFor(): unknown {
    return this.#awaited?.error ?? null;
  }

  /** Calls `onFree` when a look finds so many free bytes, because of `error` (R6). */
  awaitBytes(bytes: number, error: unknown, onFree: () => void): void {
    this.#awaited = { bytes, error, onFree };
  }

  /** Whether the reserve is on disk, complete. */
  get held(): boolean {
    const file = statSync(this.#path, { throwIfNoEntry: false });
    return file !== undefined && file.blocks * BLOCK_BYTES >= this.#bytes;
  }

  /** Finds the reserve, or takes it in the background if there is space; once per process. */
  begin(): void {
    if (this.#begun) return;
    this.#begun = true;
    if (this.held) return;
    this.#full = !this.#fits(this.#bytes);
    // With enough space, the first request does not wait until the reserve is taken.
    if (this.#full) this.#takeNow();
    else void this.regain();
  }

  /** A write found no space. */
  noteFull(): void {
    this.#full = true;
  }

  /** Takes the reserve unless the disk is still full; resolves to whether it is not. */
  regain(): Promise<boolean> {
    this.#taking ??= this.#take().finally(() => {
      this.#taking = null;
    });
    return this.#taking;
  }

  /** Stops writing the file, if it is being written. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#taking;
  }

  async #take(): Promise<boolean> {
    const awaited = this.#awaited;
    if (awaited !== null) {
      if (freeBytesOf(this.#folder) < awaited.bytes) return false;
      this.#awaited = null;
      awaited.onFree();
      return true;
    }
    if (performance.now() - this.#failedAt < RETRY_MS) return false;
    const { held } = this;
    this.#full = !this.#fits(held ? 0 : this.#bytes);
    if (this.#full || held) return !this.#full;
    const isHeld = await this.#write();
    if (!isHeld) this.#failedAt = performance.now();
    this.#full = !isHeld;
    return isHeld;
  }

  async #write(): Promise<boolean> {
    return this.#writing(async (file) => {
      for (const bytes of chunkSizes(this.#bytes)) {
        await calling((done) => write(file, chunkOf(bytes), done));
        if (this.#closed) return;
      }
      await calling((done) => fsync(file, done));
    });
  }

  /** Takes the reserve without waiting, if the disk has just the space for it (R5). */
  #takeNow(): void {
    void this.#writing(async (file) => {
      for (const bytes of chunkSizes(this.#bytes)) writeSync(file, chunkOf(bytes));
      fsyncSync(file);
    });
  }

  /** Runs `fill` on the new file; returns whether all of it is there. Never rejects. */
  async #writing(fill: (file: number) => Promise<void>): Promise<boolean> {
    try {
      const file = openSync(this.#path, "w");
      try {
        await fill(file);
      } finally {
        closeSync(file);
      }
    } catch {
      // No space after all.
    }
    if (this.held) return true;
    rmSync(this.#path, { force: true });
    return false;
  }

  /** Whether the disk has space for so many bytes and some data (R5). */
  #fits(bytes: number): boolean {
    return freeBytesOf(this.#folder) >= bytes + this.#bytes * MARGIN;
  }
}

function* chunkSizes(bytes: number): Generator<number> {
  for (let at = 0; at < bytes; at += CHUNK_BYTES) yield Math.min(CHUNK_BYTES, bytes - at);
}

let chunk: Uint8Array | null = null;

/** Bytes of a xorshift generator (R4). */
function chunkOf(bytes: number): Uint8Array {
  chunk ??= new Uint8Array(randomWords(CHUNK_BYTES / 4).buffer);
  return chunk.subarray(0, bytes);
}

function randomWords(count: number): Uint32Array {
  let word = 0x9e3779b9;
  return Uint32Array.from({ length: count }, () => {
    word ^= word << 13;
    word ^= word >>> 17;
    word ^= word << 5;
    return word;
  });
}

function calling(call: (done: (error: Error | null) => void) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    call((error) => (error === null ? resolve() : reject(error)));
  });
}
