// ReceiptHandle: identifies one receive of one message: queue, message number and receive count.
//   R1. The same receive always has the same handle; different receives have different handles.
//   R2. A handle contains a checksum keyed by the broker's secret, which tells garbage and handles
//       of another broker from handles of deleted messages. It does not protect against forgery;
//       handles grant no rights.
//   R3. Handles survive a restart: nothing about them is in memory.

const LENGTH_BYTES = 24;

export interface ReceiptHandle {
  readonly queue: number;
  readonly seq: number;
  readonly receiveCount: number;
}

export interface ReceiptHandles {
  encode(queue: number, seq: number, receiveCount: number): string;
  /** Null if the text is not a handle of this broker (R2). */
  decode(text: string): ReceiptHandle | null;
}

/** Spreads every bit of `value` over all 32 (the finaliser of MurmurHash3). */
function mix(value: number): number {
  let word = value;
  word = Math.imul(word ^ (word >>> 16), 0x85ebca6b);
  word = Math.imul(word ^ (word >>> 13), 0xc2b2ae35);
  return (word ^ (word >>> 16)) >>> 0;
}

function checksum(words: DataView, secret: number): number {
  let sum = mix(secret);
  for (let offset = 0; offset < LENGTH_BYTES - 8; offset += 4) {
    sum = mix(sum ^ words.getUint32(offset));
  }
  return sum;
}

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const LENGTH_TEXT = (LENGTH_BYTES / 3) * 4;
const NO_DIGIT = 64;
/** What each character stands for. */
const DIGITS = new Uint8Array(128).fill(NO_DIGIT);
for (const [value, character] of [...ALPHABET].entries()) DIGITS[character.charCodeAt(0)] = value;

const digitAt = (text: string, at: number): number => DIGITS[text.charCodeAt(at)] ?? NO_DIGIT;

/**
 * Decodes the text into `bytes`; false if it is not base64 of their length. Written by hand, because
 * every delete runs it. The length is a multiple of three, so each handle has exactly one text,
 * without padding or unused bits.
 */
function decodeBase64(text: string, bytes: Uint8Array): boolean {
  if (text.length !== LENGTH_TEXT) return false;
  let wrong = 0;
  for (let from = 0, to = 0; from < LENGTH_TEXT; from += 4, to += 3) {
    const [a, b] = [digitAt(text, from), digitAt(text, from + 1)];
    const [c, d] = [digitAt(text, from + 2), digitAt(text, from + 3)];
    wrong |= (a | b | c | d) & NO_DIGIT;
    bytes[to] = (a << 2) | (b >> 4);
    bytes[to + 1] = (b << 4) | (c >> 2);
    bytes[to + 2] = (c << 6) | d;
  }
  return wrong === 0;
}

/** `secret` is drawn once per data folder. */
export function createReceiptHandles(secret: readonly [number, number]): ReceiptHandles {
  const scratch = Buffer.alloc(LENGTH_BYTES);
  const words = new DataView(scratch.buffer, scratch.byteOffset, LENGTH_BYTES);
  return {
    encode(queue, seq, receiveCount) {
      words.setUint32(0, queue);
      words.setUint32(4, Math.floor(seq / 0x1_0000_0000));
      words.setUint32(8, seq >>> 0);
      words.setUint32(12, receiveCount);
      words.setUint32(16, checksum(words, secret[0]));
      words.setUint32(20, checksum(words, secret[1]));
      return scratch.toString("base64");
    },
    decode(text) {
      if (!decodeBase64(text, scratch)) return null;
      if (words.getUint32(16) !== checksum(words, secret[0])) return null; // R2
      if (words.getUint32(20) !== checksum(words, secret[1])) return null;
      return {
        queue: words.getUint32(0),
        seq: words.getUint32(4) * 0x1_0000_0000 + words.getUint32(8),
        receiveCount: words.getUint32(12),
      };
    },
  };
}
