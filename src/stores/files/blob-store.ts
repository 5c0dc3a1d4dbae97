// File blob store: blobs as files DATA/blobs/<two digits>/<id>, written under DATA/blobs/new and
// renamed.
//   F1. An id is 32 hex digits that this file draws. Its first two name the folder, which changes
//       only every so many blobs, so that blobs published together share one sync of their folder.
//   F2. publish syncs the file, renames it, and syncs its folder. Only then may anything refer to
//       the blob. A file whose sync failed never gets the name and is deleted: a second sync of it
//       could succeed without writing anything.
//   F3. Files in `new` at the start are leftovers and are deleted.
//   F4. A sweep never removes a blob that this process created and has not kept yet.
//   F5. Memory is freed explicitly and not left to the garbage collector, which lets tens of
//       megabytes of buffers pile up. A chunk is freed once it is written, and a reader has one
//       buffer. So no one may use a chunk after the turn in which it was passed.
//   F6. DATA/blobs is durable in DATA before a blob is published.
//   F7. While the disk is full, no blob grows: the remaining space is for commits that free some.
//   F8. Folders whose names could not be synced are removed: a second sync could succeed without
//       writing anything, so the next call creates them again.

import { randomBytes } from "node:crypto";
import { statSync } from "node:fs";
import { type FileHandle, mkdir, open, readdir, rename, rm, rmdir, unlink } from "node:fs/promises";
import { join } from "node:path";
import { diskFullError, reasonOf, TidegateError } from "../../core/errors.ts";
import type { BlobStore, ByteRange, StagedBlob } from "../../ports/broker/blob-store.ts";
import type { StoreSpace } from "../../ports/broker/broker-store.ts";
import type { Piece } from "../../ports/broker/object-change.ts";
import { isFull } from "../sqlite/sqlite-code.ts";
import { SharedSync } from "./shared-sync.ts";

const ID_PATTERN = /^[0-9a-f]{32}$/;
const FOLDERS = 256;
const BLOBS_PER_FOLDER_TURN = 256;
/** Smaller chunks are collected up to this size, so that they do not cost a call each. */
const WRITE_BYTES = 32 * 1_024;
const READ_BYTES = 128 * 1_024;
const NOTHING = Buffer.alloc(0);
/** Files that a sweep checks before it yields. */
const SWEEP_STRIDE = 200;

export interface FileBlobStoreOptions {
  readonly folder: string;
  /** Called for a file that could not be removed; a later sweep tries again. */
  readonly onError: (error: unknown) => void;
  /** The space of the store on the same disk. Default: unlimited. */
  readonly space?: StoreSpace | undefined;
}

/** Rejects a data folder that cannot contain blobs, before anything is written to it. */
export function checkBlobFolder(folder: string): void {
  const entry = statSync(join(folder, "blobs"), { throwIfNoEntry: false });
  if (entry === undefined || entry.isDirectory()) return;
  const message = `data folder ${folder} cannot be used: its entry blobs is a file, not a folder`;
  throw new TidegateError("TG_STORE_UNAVAILABLE", message);
}

/** Creates the folders and empties the one for unpublished files (F3). */
export async function createFileBlobStore(options: FileBlobStoreOptions): Promise<BlobStore> {
  const root = join(options.folder, "blobs");
  try {
    await rm(join(root, "new"), { recursive: true, force: true });
    await mkdir(join(root, "new"), { recursive: true });
    await syncFolder(options.folder); // F6
  } catch (cause) {
    const message = `data folder ${options.folder} is unavailable: ${reasonOf(cause)}`;
    throw new TidegateError("TG_STORE_UNAVAILABLE", message, { cause });
  }
  return new FileBlobStore(root, options);
}

class FileBlobStore implements BlobStore {
  readonly #root: string;
  readonly #onError: (error: unknown) => void;
  readonly #space: StoreSpace | undefined;
  readonly #folderSyncs = new Map<string, SharedSync>();
  /** Blobs of this process that no stored row refers to yet (F4). */
  readonly #unreferenced = new Set<string>();
  readonly #readers = new Map<string, number>();
  readonly #doomed = new Set<string>();
  readonly #removals = new Set<Promise<void>>();
  #made = Math.floor(Math.random() * FOLDERS) * BLOBS_PER_FOLDER_TURN;
  #folders: Promise<void> | null = null;
  #closing = false;

  constructor(root: string, { onError, space }: FileBlobStoreOptions) {
    this.#root = root;
    this.#onError = onError;
    this.#space = space;
  }

  async stage(chunks: AsyncIterable<Uint8Array>): Promise<StagedBlob> {
    if (this.#space?.full === true && !(await this.#space.regain())) throw diskFullError(); // F7
    this.#folders ??= makeFolders(this.#root);
    await this.#folders.catch((error: unknown) => {
      this.#folders = null; // The disk may have been full; try again next time.
      throw storeFault(error);
    });
    const id = this.#newId();
    const draft = join(this.#root, "new", id);
    const file = await open(draft, "wx").catch(rethrow);
    this.#unreferenced.add(id);
    let sizeBytes = 0;
    try {
      sizeBytes = await writeAll(file, chunks, this.#space);
    } catch (error) {
      await file.close();
      await this.#discard(id, draft);
      throw error;
    }
    let published = false;
    return {
      id,
      sizeBytes,
      publish: async () => {
        await file.sync().catch(rethrow); // F2
        await rename(draft, this.#pathOf(id)).catch(rethrow);
        published = true;
        await this.#syncFolderOf(id).catch(rethrow);
        await file.close();
      },
      discard: async () => {
        await file.close();
        await this.#discard(id, published ? this.#pathOf(id) : draft);
      },
      keep: () => void this.#unreferenced.delete(id),
    };
  }

  read(pieces: readonly Piece[], range: ByteRange): AsyncIterable<Uint8Array> {
    const wanted = piecesWithin(pieces, range);
    for (const { blob } of wanted) this.#readers.set(blob, (this.#readers.get(blob) ?? 0) + 1);
    let hasLeft = false;
    const leave = () => {
      if (!hasLeft) for (const { blob } of wanted) this.#leave(blob);
      hasLeft = true;
    };
    return leaving(this.#readFiles(wanted), leave);
  }

  remove(blobs: readonly string[]): void {
    for (const blob of blobs) this.#doomed.add(blob);
    const removal = this.#removeUnread(blobs);
    this.#removals.add(removal);
    void removal.finally(() => this.#removals.delete(removal));
  }

  async sweep(isReferenced: (blob: string) => boolean): Promise<void> {
    let checked = 0;
    const entries = await readdir(this.#root, { withFileTypes: true });
    for (const { name: folder } of entries.filter((entry) => entry.isDirectory())) {
      if (folder === "new" || this.#closing) continue;
      for (const name of await readdir(join(this.#root, folder))) {
        if (this.#closing) return;
        if (!ID_PATTERN.test(name) || isReferenced(name)) continue;
        if (this.#unreferenced.has(name)) continue; // F4
        await unlink(join(this.#root, folder, name)).catch(this.#onError);
        checked += 1;
        if (checked % SWEEP_STRIDE === 0) await nextTurn();
      }
    }
  }

  async close(): Promise<void> {
    this.#closing = true;
    await Promise.all(this.#removals);
  }

  async *#readFiles(wanted: readonly WantedBytes[]): AsyncGenerator<Uint8Array> {
    for (const { blob, from, through } of wanted) yield* this.#readFile(blob, from, through);
  }

  async *#readFile(blob: string, from: number, through: number): AsyncGenerator<Uint8Array> {
    const file = await open(this.#pathOf(blob), "r");
    try {
      let at = from;
      let buffer = NOTHING;
      while (at <= through) {
        const remaining = through - at + 1;
        // The first time, and whenever the reader has freed the buffer.
        if (buffer.length === 0) {
          buffer = Buffer.allocUnsafeSlow(Math.min(READ_BYTES, remaining)); // F5
        }
        const { bytesRead } = await file.read(buffer, 0, Math.min(buffer.length, remaining), at);
        if (bytesRead === 0) throw new Error(`blob ${blob} is shorter than when it was written`);
        at += bytesRead;
        yield buffer.subarray(0, bytesRead);
      }
    } finally {
      await file.close();
    }
  }

  #leave(blob: string): void {
    const readers = (this.#readers.get(blob) ?? 1) - 1;
    if (readers > 0) {
      this.#readers.set(blob, readers);
      return;
    }
    this.#readers.delete(blob);
    if (this.#doomed.has(blob)) this.remove([blob]);
  }

  /** Removes blobs without readers; the last reader of the others removes them. */
  async #removeUnread(blobs: readonly string[]): Promise<void> {
    // A request that learned of the blob in this turn has started to read it by then.
    await nextTurn();
    for (const blob of blobs) {
      if (this.#readers.has(blob) || !this.#doomed.delete(blob)) continue;
      await rm(this.#pathOf(blob), { force: true }).catch(this.#onError);
    }
  }

  #syncFolderOf(id: string): Promise<void> {
    const folder = join(this.#root, id.slice(0, 2));
    const sync = this.#folderSyncs.get(folder) ?? new SharedSync(() => syncFolder(folder));
    this.#folderSyncs.set(folder, sync);
    return sync.done();
  }

  async #discard(id: string, path: string): Promise<void> {
    this.#unreferenced.delete(id);
    await rm(path, { force: true }).catch(this.#onError);
  }

  #pathOf(id: string): string {
    if (!ID_PATTERN.test(id)) throw new Error(`${JSON.stringify(id)} is not a blob id`); // F1
    return join(this.#root, id.slice(0, 2), id);
  }

  #newId(): string {
    this.#made += 1;
    const folder = Math.floor(this.#made / BLOBS_PER_FOLDER_TURN) % FOLDERS;
    return folderName(folder) + randomBytes(15).toString("hex");
  }
}

/** An error of the operating system as an operating failure; any other error as it is. */
function storeFault(error: unknown): unknown {
  if (isFull(error)) return diskFullError();
  if (!(error instanceof Error && "syscall" in error)) return error;
  const message = `object bytes cannot be written: ${reasonOf(error)}`;
  return new TidegateError("TG_STORE_UNAVAILABLE", message, { cause: error });
}

function rethrow(error: unknown): never {
  throw storeFault(error);
}

async function writeAll(
  file: FileHandle,
  chunks: AsyncIterable<Uint8Array>,
  space: StoreSpace | undefined,
): Promise<number> {
  let waiting: Uint8Array[] = [];
  let waitingBytes = 0;
  let sizeBytes = 0;
  const flush = async () => {
    const written = waiting;
    waiting = [];
    waitingBytes = 0;
    if (space?.full === true) throw diskFullError(); // F7
    await writeChunks(file, written).catch(rethrow);
    written.forEach(freeMemory);
  };
  for await (const chunk of chunks) {
    // Bytes not written before the next chunk arrives are copied (F5).
    const isWrittenNow = waitingBytes + chunk.length >= WRITE_BYTES;
    waiting.push(isWrittenNow ? chunk : Uint8Array.from(chunk));
    waitingBytes += chunk.length;
    sizeBytes += chunk.length;
    if (waitingBytes >= WRITE_BYTES) await flush();
  }
  if (waitingBytes > 0) await flush();
  return sizeBytes;
}

/**
 * Frees the memory of a chunk now (F5), unless the chunk shares it: the rest of a socket's read may
 * still be needed.
 */
function freeMemory({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}

/** Writes all chunks without concatenating them in memory first. */
async function writeChunks(file: FileHandle, chunks: Uint8Array[]): Promise<void> {
  const sizeBytes = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  const { bytesWritten } = await file.writev(chunks);
  if (bytesWritten === sizeBytes) return;
  // A disk that fills up writes a part first; writing the rest reports why.
  const rest = Buffer.concat(chunks).subarray(bytesWritten);
  for (let at = 0; at < rest.length; ) {
    at += (await file.write(rest, at, rest.length - at)).bytesWritten;
  }
}

/** Calls `leave` when reading ends in any way, even if it never started. */
function leaving(
  chunks: AsyncGenerator<Uint8Array>,
  leave: () => void,
): AsyncIterableIterator<Uint8Array> {
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    async next() {
      try {
        const next = await chunks.next();
        if (next.done === true) leave();
        return next;
      } catch (error) {
        leave();
        throw error;
      }
    },
    async return() {
      await chunks.return(undefined);
      leave();
      return { done: true, value: undefined };
    },
  };
}

interface WantedBytes {
  readonly blob: string;
  readonly from: number;
  /** Included. */
  readonly through: number;
}

/** The bytes of each blob that a range over all of them covers. */
function piecesWithin(pieces: readonly Piece[], range: ByteRange): WantedBytes[] {
  const wanted: WantedBytes[] = [];
  let start = 0;
  for (const { blob, sizeBytes } of pieces) {
    const from = Math.max(range.from - start, 0);
    const through = Math.min(range.through - start, sizeBytes - 1);
    if (from <= through) wanted.push({ blob, from, through });
    start += sizeBytes;
  }
  return wanted;
}

/** Created with the first blob, and durable before any file is in them. */
async function makeFolders(root: string): Promise<void> {
  const there = new Set(await readdir(root));
  const created: string[] = [];
  try {
    for (let folder = 0; folder < FOLDERS; folder += 1) {
      const name = folderName(folder);
      if (there.has(name)) continue;
      await mkdir(join(root, name));
      created.push(name);
    }
    await syncFolder(root);
  } catch (error) {
    // F8; the first error is what is reported.
    for (const name of created) await rmdir(join(root, name)).catch(() => {});
    throw error;
  }
}

function folderName(folder: number): string {
  return folder.toString(16).padStart(2, "0");
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
