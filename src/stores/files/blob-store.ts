// Blobs as files: DATA/blobs/<two digits>/<id>, written under DATA/blobs/new and renamed.
//   F1. An id is 32 hex digits that this file draws. Its first two name the folder, which changes
//       only every so many blobs, so that blobs that are published together share one sync of their
//       folder.
//   F2. publish: rename the file, sync it and its folder. Only then may anybody speak of it; what a
//       crash leaves under its name before that is garbage.
//   F3. What lies in `new` at the start belongs to nobody.
//   F4. A sweep never takes a blob that this process made and has not settled yet.
//   F6. DATA/blobs is durable in DATA before a blob is published.
//   F5. Memory is given back by hand, and not left to the garbage collector, which lets tens of
//       megabytes of buffers lie before it looks at them: a chunk is freed once it is written, and
//       a reader has one buffer. So no chunk is kept beyond the turn of its giver.

import { randomBytes } from "node:crypto";
import { statSync } from "node:fs";
import { type FileHandle, mkdir, open, readdir, rename, rm, unlink } from "node:fs/promises";
import { join } from "node:path";
import { reasonOf, TidegateError } from "../../core/errors.ts";
import type { Piece } from "../../core/object-change.ts";
import type { BlobStore, ByteRange, StagedBlob } from "../../ports/blob-store.ts";
import { SharedSync } from "./shared-sync.ts";

const ID_PATTERN = /^[0-9a-f]{32}$/;
const FOLDERS = 256;
const BLOBS_PER_FOLDER_TURN = 256;
/** Chunks below this are gathered, up to this, so that they do not cost a call each. */
const WRITE_BYTES = 32 * 1_024;
const READ_BYTES = 128 * 1_024;
const NOTHING = Buffer.alloc(0);
/** Files that a sweep looks at before it lets others work. */
const SWEEP_STRIDE = 200;

export interface FileBlobStoreOptions {
  readonly folder: string;
  /** Hears of a file that could not be removed; a later sweep tries again. */
  readonly onError: (error: unknown) => void;
}

/** Refuses a data folder that can never hold blobs, before anything is written to it. */
export function checkBlobFolder(folder: string): void {
  const found = statSync(join(folder, "blobs"), { throwIfNoEntry: false });
  if (found === undefined || found.isDirectory()) return;
  const message = `The data folder ${folder} cannot be used: blobs in it is a file, and no folder.`;
  throw new TidegateError("TG_STORE_UNAVAILABLE", message);
}

/** Makes the folders and empties the one for what was never published (F3). */
export async function createFileBlobStore(options: FileBlobStoreOptions): Promise<BlobStore> {
  const root = join(options.folder, "blobs");
  try {
    await rm(join(root, "new"), { recursive: true, force: true });
    await mkdir(join(root, "new"), { recursive: true });
    await syncFolder(options.folder); // F6
  } catch (cause) {
    const message = `The data folder ${options.folder} cannot be used now: ${reasonOf(cause)}.`;
    throw new TidegateError("TG_STORE_UNAVAILABLE", message, { cause });
  }
  return new FileBlobStore(root, options.onError);
}

class FileBlobStore implements BlobStore {
  readonly #root: string;
  readonly #onError: (error: unknown) => void;
  readonly #folderSyncs = new Map<string, SharedSync>();
  /** Blobs of this process that nobody remembers yet (F4). */
  readonly #unsettled = new Set<string>();
  readonly #readers = new Map<string, number>();
  readonly #doomed = new Set<string>();
  readonly #removals = new Set<Promise<void>>();
  #made = Math.floor(Math.random() * FOLDERS) * BLOBS_PER_FOLDER_TURN;
  #folders: Promise<void> | null = null;
  #closing = false;

  constructor(root: string, onError: (error: unknown) => void) {
    this.#root = root;
    this.#onError = onError;
  }

  async stage(chunks: AsyncIterable<Uint8Array>): Promise<StagedBlob> {
    this.#folders ??= makeFolders(this.#root);
    await this.#folders.catch((error: unknown) => {
      this.#folders = null; // A disk that was full is asked again.
      throw error;
    });
    const id = this.#newId();
    const draft = join(this.#root, "new", id);
    this.#unsettled.add(id);
    const file = await open(draft, "wx");
    let sizeBytes = 0;
    try {
      sizeBytes = await writeAll(file, chunks);
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
        await rename(draft, this.#pathOf(id));
        published = true;
        // Both at once: until both are done nobody speaks of the blob, so their order is free (F2).
        await Promise.all([file.sync(), this.#syncFolderOf(id)]);
        await file.close();
      },
      discard: async () => {
        await file.close();
        await this.#discard(id, published ? this.#pathOf(id) : draft);
      },
      settle: () => void this.#unsettled.delete(id),
    };
  }

  read(pieces: readonly Piece[], range: ByteRange): AsyncIterable<Uint8Array> {
    const wanted = piecesWithin(pieces, range);
    for (const { blob } of wanted) this.#readers.set(blob, (this.#readers.get(blob) ?? 0) + 1);
    let left = false;
    const leave = () => {
      if (!left) for (const { blob } of wanted) this.#leave(blob);
      left = true;
    };
    return leaving(this.#readFiles(wanted), leave);
  }

  remove(blobs: readonly string[]): void {
    for (const blob of blobs) this.#doomed.add(blob);
    const removal = this.#removeUnread(blobs);
    this.#removals.add(removal);
    void removal.finally(() => this.#removals.delete(removal));
  }

  async sweep(isKept: (blob: string) => boolean): Promise<void> {
    let seen = 0;
    const entries = await readdir(this.#root, { withFileTypes: true });
    for (const { name: folder } of entries.filter((entry) => entry.isDirectory())) {
      if (folder === "new" || this.#closing) continue;
      for (const name of await readdir(join(this.#root, folder))) {
        if (this.#closing) return;
        if (!ID_PATTERN.test(name) || this.#unsettled.has(name) || isKept(name)) continue; // F4
        await unlink(join(this.#root, folder, name)).catch(this.#onError);
        seen += 1;
        if (seen % SWEEP_STRIDE === 0) await nextTurn();
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
        const left = through - at + 1;
        // The first time, and whenever the reader has given the memory back.
        if (buffer.length === 0) buffer = Buffer.allocUnsafeSlow(Math.min(READ_BYTES, left)); // F5
        const { bytesRead } = await file.read(buffer, 0, Math.min(buffer.length, left), at);
        if (bytesRead === 0) throw new Error(`blob ${blob} is shorter than it was`);
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

  /** Leaves what is being read to its last reader. */
  async #removeUnread(blobs: readonly string[]): Promise<void> {
    await nextTurn(); // Whoever was told of the blob in this turn has begun to read it by then.
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
    this.#unsettled.delete(id);
    await rm(path, { force: true }).catch(this.#onError);
  }

  #pathOf(id: string): string {
    if (!ID_PATTERN.test(id)) throw new Error(`${JSON.stringify(id)} names no blob`); // F1
    return join(this.#root, id.slice(0, 2), id);
  }

  #newId(): string {
    this.#made += 1;
    const folder = Math.floor(this.#made / BLOBS_PER_FOLDER_TURN) % FOLDERS;
    return folderName(folder) + randomBytes(15).toString("hex");
  }
}

async function writeAll(file: FileHandle, chunks: AsyncIterable<Uint8Array>): Promise<number> {
  let waiting: Uint8Array[] = [];
  let waitingBytes = 0;
  let sizeBytes = 0;
  const flush = async () => {
    const written = waiting;
    waiting = [];
    waitingBytes = 0;
    await writeChunks(file, written);
    written.forEach(giveBack);
  };
  for await (const chunk of chunks) {
    // What is not written before the next chunk is asked for is copied (F5).
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
 * Frees the memory of a chunk now (F5). One that shares its memory with others is left alone: the
 * rest of what a socket read may still be needed.
 */
function giveBack({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}

/** All of some chunks, without putting them together in memory first. */
async function writeChunks(file: FileHandle, chunks: Uint8Array[]): Promise<void> {
  const sizeBytes = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  const { bytesWritten } = await file.writev(chunks);
  if (bytesWritten === sizeBytes) return;
  // A disk that fills up takes a part and then says why it takes no more.
  const rest = Buffer.concat(chunks).subarray(bytesWritten);
  for (let at = 0; at < rest.length; ) {
    at += (await file.write(rest, at, rest.length - at)).bytesWritten;
  }
}

/** Calls `leave` when the reading ends in whatever way, even if it never began. */
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

/** Which bytes of which blobs a range over all of them covers. */
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

/** Made with the first blob, and durable before anything is in them. */
async function makeFolders(root: string): Promise<void> {
  const there = new Set(await readdir(root));
  for (let folder = 0; folder < FOLDERS; folder += 1) {
    const name = folderName(folder);
    if (!there.has(name)) await mkdir(join(root, name));
  }
  await syncFolder(root);
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
