// CRC: the cyclic checksums that S3 stores for objects (CRC-32, CRC-32C, CRC-64/NVME).
//   Y1. All three are reflected, start with all ones and end by inverting; only width and
//       polynomial differ. Digests are big-endian, as in S3.
//   Y2. Processes eight bytes at a time through eight tables, with 32-bit integers only: every byte
//       of an upload passes here, and BigInt would be the slowest part of it.
//   Y3. `combineCrc` computes the CRC of two concatenated pieces from those of the pieces, so that
//       a multipart upload gets the checksum of the whole without another read.

export interface CrcKind {
  readonly bits: 32 | 64;
  /** Reflected. */
  readonly polynomial: bigint;
}

export const CRC32: CrcKind = { bits: 32, polynomial: 0xedb88320n };
export const CRC32C: CrcKind = { bits: 32, polynomial: 0x82f63b78n };
export const CRC64NVME: CrcKind = { bits: 64, polynomial: 0x9a6c9329ac4bc9b5n };

export interface RunningCrc {
  update(chunk: Uint8Array): void;
  digest(): Uint8Array;
}

const STRIDE = 8;
const WORD = 0xffff_ffffn;
const tables = new Map<CrcKind, readonly [low: Int32Array, high: Int32Array]>();

export function createCrc(kind: CrcKind): RunningCrc {
  return kind.bits === 32 ? createCrc32(kind) : createCrc64(kind);
}

/** `lengthB` is the number of bytes that the second CRC covers (Y3). */
export function combineCrc(kind: CrcKind, a: bigint, b: bigint, lengthB: number): bigint {
  const one = 1n << BigInt(kind.bits - 1);
  let shift = one;
  let power = one >> 8n; // x^8: one byte.
  for (let rest = BigInt(lengthB); rest > 0n; rest >>= 1n) {
    if (rest & 1n) shift = multiply(kind, shift, power);
    power = multiply(kind, power, power);
  }
  return multiply(kind, shift, a) ^ b;
}

/** The product of two reflected polynomials, modulo the one of `kind`. */
function multiply(kind: CrcKind, a: bigint, b: bigint): bigint {
  let product = 0n;
  let term = b;
  for (let bit = kind.bits - 1; bit >= 0; bit -= 1) {
    if ((a >> BigInt(bit)) & 1n) product ^= term;
    term = term & 1n ? (term >> 1n) ^ kind.polynomial : term >> 1n;
  }
  return product;
}

function createCrc32(kind: CrcKind): RunningCrc {
  const [table] = tablesOf(kind);
  let crc = -1;
  return {
    update(chunk) {
      let at = 0;
      const wholeEnd = chunk.length - (chunk.length % STRIDE);
      let state = crc;
      while (at < wholeEnd) {
        state ^= word(chunk, at);
        const next = word(chunk, at + 4);
        state =
          table[1792 + (state & 255)]! ^
          table[1536 + ((state >>> 8) & 255)]! ^
          table[1280 + ((state >>> 16) & 255)]! ^
          table[1024 + (state >>> 24)]! ^
          table[768 + (next & 255)]! ^
          table[512 + ((next >>> 8) & 255)]! ^
          table[256 + ((next >>> 16) & 255)]! ^
          table[next >>> 24]!;
        at += STRIDE;
      }
      for (; at < chunk.length; at += 1) state = table[(state ^ chunk[at]!) & 255]! ^ (state >>> 8);
      crc = state;
    },
    digest() {
      const bytes = Buffer.alloc(4);
      bytes.writeInt32BE(~crc);
      return bytes;
    },
  };
}

function createCrc64(kind: CrcKind): RunningCrc {
  const [low, high] = tablesOf(kind);
  let crcLow = -1;
  let crcHigh = -1;
  return {
    update(chunk) {
      let at = 0;
      const wholeEnd = chunk.length - (chunk.length % STRIDE);
      let a = crcLow;
      let b = crcHigh;
      while (at < wholeEnd) {
        a ^= word(chunk, at);
        b ^= word(chunk, at + 4);
        const i0 = 1792 + (a & 255);
        const i1 = 1536 + ((a >>> 8) & 255);
        const i2 = 1280 + ((a >>> 16) & 255);
        const i3 = 1024 + (a >>> 24);
        const i4 = 768 + (b & 255);
        const i5 = 512 + ((b >>> 8) & 255);
        const i6 = 256 + ((b >>> 16) & 255);
        const i7 = b >>> 24;
        a = low[i0]! ^ low[i1]! ^ low[i2]! ^ low[i3]! ^ low[i4]! ^ low[i5]! ^ low[i6]! ^ low[i7]!;
        b =
          high[i0]! ^
          high[i1]! ^
          high[i2]! ^
          high[i3]! ^
          high[i4]! ^
          high[i5]! ^
          high[i6]! ^
          high[i7]!;
        at += STRIDE;
      }
      for (; at < chunk.length; at += 1) {
        const index = (a ^ chunk[at]!) & 255;
        a = low[index]! ^ ((a >>> 8) | (b << 24));
        b = high[index]! ^ (b >>> 8);
      }
      crcLow = a;
      crcHigh = b;
    },
    digest() {
      const bytes = Buffer.alloc(8);
      bytes.writeInt32BE(~crcHigh, 0);
      bytes.writeInt32BE(~crcLow, 4);
      return bytes;
    },
  };
}

function word(chunk: Uint8Array, at: number): number {
  return chunk[at]! | (chunk[at + 1]! << 8) | (chunk[at + 2]! << 16) | (chunk[at + 3]! << 24);
}

/** Table 0 has the CRC of every byte; table n that of the byte followed by n zero bytes (Y2). */
function tablesOf(kind: CrcKind): readonly [Int32Array, Int32Array] {
  const cached = tables.get(kind);
  if (cached !== undefined) return cached;
  const low = new Int32Array(STRIDE * 256);
  const high = new Int32Array(STRIDE * 256);
  for (let byte = 0; byte < 256; byte += 1) {
    let crc = BigInt(byte);
    for (let lane = 0; lane < STRIDE; lane += 1) {
      for (let bit = 0; bit < 8; bit += 1)
        crc = crc & 1n ? (crc >> 1n) ^ kind.polynomial : crc >> 1n;
      low[lane * 256 + byte] = Number(BigInt.asIntN(32, crc & WORD));
      high[lane * 256 + byte] = Number(BigInt.asIntN(32, crc >> 32n));
    }
  }
  const made = [low, high] as const;
  tables.set(kind, made);
  return made;
}
