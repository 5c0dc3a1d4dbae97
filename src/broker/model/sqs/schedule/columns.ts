// Columns: growing arrays of numbers in fixed chunks, so that millions of messages cost a few typed
// arrays instead of millions of objects, and growth never copies more than one chunk.
//   C1. The first chunk starts small and doubles: a broker may have thousands of queues with a
//       message or two, each with its own columns.

const CHUNK_BITS = 12;
const CHUNK_SLOTS = 1 << CHUNK_BITS;
const CHUNK_MASK = CHUNK_SLOTS - 1;
const FIRST_SLOTS_MIN = 16;

/** One number per slot. Reading a slot that was never reserved is a programming error. */
export interface Column {
  get(slot: number): number;
  set(slot: number, value: number): void;
  /** Allocates every slot below `slots`. */
  reserve(slots: number): void;
}

type Chunk = Float64Array | Uint32Array | Uint8Array;

class ChunkedColumn<T extends Chunk> implements Column {
  readonly #chunks: T[] = [];
  readonly #create: (slots: number) => T;

  constructor(create: (slots: number) => T) {
    this.#create = create;
  }

  get(slot: number): number {
    return (this.#chunks[slot >>> CHUNK_BITS] as T)[slot & CHUNK_MASK] as number;
  }

  set(slot: number, value: number): void {
    (this.#chunks[slot >>> CHUNK_BITS] as T)[slot & CHUNK_MASK] = value;
  }

  reserve(slots: number): void {
    const first = this.#chunks[0];
    if (first === undefined || first.length < CHUNK_SLOTS) this.#growFirst(first, slots);
    while (this.#chunks.length * CHUNK_SLOTS < slots) this.#chunks.push(this.#create(CHUNK_SLOTS));
  }

  #growFirst(first: T | undefined, slots: number): void {
    let length = first?.length ?? FIRST_SLOTS_MIN;
    while (length < slots && length < CHUNK_SLOTS) length *= 2; // C1
    if (first?.length === length) return;
    const grown = this.#create(length);
    if (first !== undefined) grown.set(first);
    this.#chunks[0] = grown;
  }
}

/** Holds instants and sequence numbers. */
export function createFloat64Column(): Column {
  return new ChunkedColumn((slots) => new Float64Array(slots));
}

/** Holds counts, links and positions. */
export function createUint32Column(): Column {
  return new ChunkedColumn((slots) => new Uint32Array(slots));
}

/** Holds small states. */
export function createUint8Column(): Column {
  return new ChunkedColumn((slots) => new Uint8Array(slots));
}
