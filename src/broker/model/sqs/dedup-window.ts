// DedupWindow: the deduplication ids that one queue has accepted in the last five minutes.
//   D1. An id is kept for exactly the window, from its first acceptance. A duplicate does not
//       extend it, and neither receiving nor deleting the message ends it.
//   D2. Entries enter and leave in order of time: expiry pops the oldest.
//   D3. Ids are stored as 128-bit digests. Collisions are too unlikely to handle.
//   D4. An id costs at most a hundred bytes: digests, ids and instants are columns in chunks, found
//       through an open-addressed index of entry numbers. Chunks are small, and an empty window has
//       none, because there may be thousands of queues with an id or two.

import { sha256Bytes } from "../../../core/encoding/hash.ts";
import { type EpochMs, epochMs } from "../../../core/units.ts";

const CHUNK_BITS = 7;
const CHUNK_ENTRIES = 1 << CHUNK_BITS;
const CHUNK_MASK = CHUNK_ENTRIES - 1;
const INDEX_SLOTS_MIN = 64;
/** Entry numbers grow without limit; the index stores their low 31 bits, plus one. */
const NUMBER_MASK = 0x7fffffff;

/** The result of the first send of an id, which its duplicates get as well. */
export interface AcceptedSend {
  readonly messageId: string;
  readonly seq: number;
}

/** A 128-bit digest of an id within its scope. */
export type DedupDigest = Buffer;

/** `group` is null if the scope is the whole queue. */
export function dedupDigest(group: string | null, id: string): DedupDigest {
  // Neither a group nor an id can contain NUL, so the separator is unambiguous.
  const digest = sha256Bytes(group === null ? id : `${group}\u0000${id}`);
  return Buffer.from(digest.buffer, digest.byteOffset, 16);
}

class DedupChunk {
  readonly digests = new Uint32Array(CHUNK_ENTRIES * 4);
  readonly messageIds = Buffer.allocUnsafeSlow(CHUNK_ENTRIES * 16);
  readonly acceptedAt = new Float64Array(CHUNK_ENTRIES);
  readonly seqs = new Float64Array(CHUNK_ENTRIES);
}

export class DedupWindow {
  /** Null if all its entries have expired; removed many at a time. */
  readonly #chunks: (DedupChunk | null)[] = [];
  /** Number of the first entry of the first chunk, whether or not the entry still exists. */
  #base = 0;
  #chunksGone = 0;
  #first = 0;
  #end = 0;
  #popped = 0;
  #index = new Uint32Array(INDEX_SLOTS_MIN);

  get size(): number {
    return this.#end - this.#first;
  }

  /** The acceptance that a digest repeats, or null. Call `expire` first. */
  find(digest: DedupDigest): AcceptedSend | null {
    const number = this.#lookup(wordsOf(digest));
    if (number < 0) return null;
    const chunk = this.#chunkOf(number);
    const offset = number & CHUNK_MASK;
    return {
      messageId: formatUuid(chunk.messageIds, offset * 16),
      seq: chunk.seqs[offset] as number,
    };
  }

  /** Adds an acceptance; `acceptedAt` is never earlier than the previous one (D2). */
  add(digest: DedupDigest, acceptedAt: EpochMs, accepted: AcceptedSend): void {
    if (this.size * 2 >= this.#index.length) this.#resize(this.#index.length * 2);
    const number = this.#end;
    this.#end += 1;
    if (number - this.#base >= this.#chunks.length * CHUNK_ENTRIES) {
      this.#chunks.push(new DedupChunk());
    }
    const chunk = this.#chunkOf(number);
    const offset = number & CHUNK_MASK;
    chunk.digests.set(wordsOf(digest), offset * 4);
    chunk.messageIds.write(accepted.messageId.replaceAll("-", ""), offset * 16, 16, "hex");
    chunk.acceptedAt[offset] = acceptedAt;
    chunk.seqs[offset] = accepted.seq;
    this.#insert(number);
  }

  /** Drops entries that were accepted at or before `through`. */
  expire(through: EpochMs): void {
    const before = this.#first;
    while (this.#first < this.#end) {
      const offset = this.#first & CHUNK_MASK;
      if ((this.#chunkOf(this.#first).acceptedAt[offset] as number) > through) break;
      this.#erase(this.#first);
      this.#first += 1;
      if ((this.#first & CHUNK_MASK) === 0) this.#dropChunk();
    }
    const popped = this.#first - before;
    this.#popped += popped;
    if (popped > 0 && this.size === 0) this.#empty(); // D4
    const roomy = this.#index.length > INDEX_SLOTS_MIN && this.size * 8 < this.#index.length;
    if (popped > 0 && roomy) this.#resize(this.#index.length / 2);
  }

  /** How many expired entries the store still has. */
  get popped(): number {
    return this.#popped;
  }

  /** Called when the store has deleted the expired entries. */
  forgetPopped(): void {
    this.#popped = 0;
  }

  /** When the oldest entry was accepted, or null when there is none. */
  oldest(): EpochMs | null {
    if (this.size === 0) return null;
    return epochMs(this.#chunkOf(this.#first).acceptedAt[this.#first & CHUNK_MASK] as number);
  }

  clear(): void {
    this.#empty();
    this.#index = new Uint32Array(INDEX_SLOTS_MIN);
  }

  /** Releases all chunks; numbers continue with the next chunk. */
  #empty(): void {
    this.#chunks.length = 0;
    this.#chunksGone = 0;
    this.#base = Math.ceil(this.#end / CHUNK_ENTRIES) * CHUNK_ENTRIES;
    this.#first = this.#base;
    this.#end = this.#base;
  }

  /**
   * Removing the first of thousands moves all the others, so null chunks are cut off when they are
   * half of all.
   */
  #dropChunk(): void {
    this.#chunks[this.#chunksGone] = null;
    this.#chunksGone += 1;
    if (this.#chunksGone * 2 < this.#chunks.length) return;
    this.#chunks.splice(0, this.#chunksGone);
    this.#base += this.#chunksGone * CHUNK_ENTRIES;
    this.#chunksGone = 0;
  }

  #chunkOf(number: number): DedupChunk {
    return this.#chunks[Math.floor((number - this.#base) / CHUNK_ENTRIES)] as DedupChunk;
  }

  /** The entry number of an index cell: the only live one with those low bits. */
  #numberIn(cell: number): number {
    return this.#first + ((cell - 1 - (this.#first & NUMBER_MASK)) & NUMBER_MASK);
  }

  #homeOf(number: number): number {
    const chunk = this.#chunkOf(number);
    return (chunk.digests[(number & CHUNK_MASK) * 4] as number) & (this.#index.length - 1);
  }

  #lookup(words: Uint32Array): number {
    const mask = this.#index.length - 1;
    for (let at = (words[0] as number) & mask; ; at = (at + 1) & mask) {
      const cell = this.#index[at] as number;
      if (cell === 0) return -1;
      const number = this.#numberIn(cell);
      const { digests } = this.#chunkOf(number);
      const offset = (number & CHUNK_MASK) * 4;
      if (
        digests[offset] === words[0] &&
        digests[offset + 1] === words[1] &&
        digests[offset + 2] === words[2] &&
        digests[offset + 3] === words[3]
      ) {
        return number;
      }
    }
  }

  #insert(number: number): void {
    const mask = this.#index.length - 1;
    let at = this.#homeOf(number);
    while (this.#index[at] !== 0) at = (at + 1) & mask;
    this.#index[at] = (number & NUMBER_MASK) + 1;
  }

  /** Removes a cell and closes the gap, so that no probe ends too early. */
  #erase(number: number): void {
    const mask = this.#index.length - 1;
    const wanted = (number & NUMBER_MASK) + 1;
    let gap = this.#homeOf(number);
    while (this.#index[gap] !== wanted) gap = (gap + 1) & mask;
    for (let at = (gap + 1) & mask; this.#index[at] !== 0; at = (at + 1) & mask) {
      const home = this.#homeOf(this.#numberIn(this.#index[at] as number));
      if (((at - home) & mask) >= ((at - gap) & mask)) {
        this.#index[gap] = this.#index[at] as number;
        gap = at;
      }
    }
    this.#index[gap] = 0;
  }

  #resize(slots: number): void {
    this.#index = new Uint32Array(Math.max(slots, INDEX_SLOTS_MIN));
    for (let number = this.#first; number < this.#end; number += 1) this.#insert(number);
  }
}

function wordsOf(digest: DedupDigest): Uint32Array {
  return Uint32Array.of(
    digest.readUInt32BE(0),
    digest.readUInt32BE(4),
    digest.readUInt32BE(8),
    digest.readUInt32BE(12),
  );
}

function formatUuid(bytes: Buffer, offset: number): string {
  const hex = bytes.toString("hex", offset, offset + 16);
  const parts = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20)];
  return `${parts.join("-")}-${hex.slice(20)}`;
}
