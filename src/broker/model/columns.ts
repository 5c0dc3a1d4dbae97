// Columns: growing arrays of numbers in fixed chunks, so that millions of messages cost a few
// typed arrays instead of millions of objects, and growing never copies.

const CHUNK_BITS = 12;
const CHUNK_SLOTS = 1 << CHUNK_BITS;
const CHUNK_MASK = CHUNK_SLOTS - 1;

/** One number per slot. Reading a slot that was never reserved is a programming error. */
export interface Column {
  get(slot: number): number;
  set(slot: number, value: number): void;
  /** Makes room for every slot below `slots`. */
  reserve(slots: number): void;
}

type Chunk = Float64Array | Uint32Array | Uint8Array;

class ChunkedColumn<T extends Chunk> implements Column {
  readonly #chunks: T[] = [];
  readonly #create: () => T;

  constructor(create: () => T) {
    this.#create = create;
  }

  get(slot: number): number {
    return (this.#chunks[slot >>> CHUNK_BITS] as T)[slot & CHUNK_MASK] as number;
  }

  set(slot: number, value: number): void {
    (this.#chunks[slot >>> CHUNK_BITS] as T)[slot & CHUNK_MASK] = value;
  }

  reserve(slots: number): void {
    while (this.#chunks.length * CHUNK_SLOTS < slots) this.#chunks.push(this.#create());
  }
}

/** Holds instants and sequence numbers. */
export function createFloat64Column(): Column {
  return new ChunkedColumn(() => new Float64Array(CHUNK_SLOTS));
}

/** Holds counts, links and positions. */
export function createUint32Column(): Column {
  return new ChunkedColumn(() => new Uint32Array(CHUNK_SLOTS));
}

/** Holds small states. */
export function createUint8Column(): Column {
  return new ChunkedColumn(() => new Uint8Array(CHUNK_SLOTS));
}
