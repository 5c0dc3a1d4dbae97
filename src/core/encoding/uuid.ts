// UUIDs (RFC 9562).
//   I1. An id derived from data is version 8, because version 7 promises random bits. It uses the
//       layout of version 7 (48 bits of time, then 74 bits), so both sort by time.
//   I2. The same event time and key always give the same id, everywhere.
//   I3. Ids of one version 7 generator strictly grow, also within one millisecond and when the
//       clock goes back.
//   I4. Times are clamped to their 48 bits; an event from before 1970 sorts first.

import { assert } from "../assert.ts";
import { TidegateError } from "../errors.ts";
import type { EpochMs } from "../units.ts";
import { sha256Bytes } from "./hash.ts";

export const UUID_BYTES = 16;
/** The random bytes that `uuidV7` needs: 74 bits fit in ten bytes. */
export const UUID_V7_RANDOM_BYTES = 10;

const TIME_MAX = 2 ** 48 - 1;
const SHAPE = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Version 8 from an event's time and key (I1, I2). */
export function deterministicUuid(eventTime: EpochMs, key: string | Uint8Array): string {
  if (typeof key === "string" && !key.isWellFormed()) {
    throw new TidegateError("TG_VALUE_INVALID", "a key with a lone surrogate has no stable id");
  }
  return compose(eventTime, 8, sha256Bytes(key));
}

/** Version 7 from a time and random bytes; uses the first 74 bits of `random`. */
export function uuidV7(now: EpochMs, random: Uint8Array): string {
  assert(random.length >= UUID_V7_RANDOM_BYTES, "a version 7 UUID takes ten random bytes");
  return compose(now, 7, random);
}

/** The part of the Clock port that a generator needs. */
export interface UuidClock {
  now(): EpochMs;
}
export interface UuidRandom {
  bytes(count: number): Uint8Array;
}

const TAIL_BITS = 74n;
const STEP_BYTES = 4;

/** Creates a generator of strictly growing version 7 ids (I3); use one per process. */
export function createUuidV7(clock: UuidClock, random: UuidRandom): () => string {
  let time = -1;
  let tail = 0n;
  return () => {
    const now = clampTime(clock.now());
    if (now > time) {
      time = now;
      tail = freshTail(random);
    } else {
      // A random step keeps ids hard to guess. If the tail overflows, after about 2^41 steps, the
      // generator borrows the next millisecond: it promises order, not the exact time.
      tail += 1n + bigEndian(random.bytes(STEP_BYTES));
      if (tail >> TAIL_BITS !== 0n) {
        time++;
        assert(time <= TIME_MAX, "the 48 bits of time are used up");
        tail = freshTail(random);
      }
    }
    return compose(time, 7, tailBytes(tail));
  };
}

/** Whether `text` has the shape of a UUID, of any version and in either case. */
export function isUuid(text: string): boolean {
  return SHAPE.test(text);
}

export interface ParsedUuid {
  readonly bytes: Uint8Array;
  readonly version: number;
  /** The first 48 bits: milliseconds in version 7 and in Tidegate's version 8. */
  readonly timeMs: number;
}

/** The parts of a UUID, or null if `text` is not one. */
export function parseUuid(text: string): ParsedUuid | null {
  if (!isUuid(text)) return null;
  const digits = text.replaceAll("-", "");
  const bytes = new Uint8Array(UUID_BYTES);
  for (let index = 0; index < UUID_BYTES; index++) {
    bytes[index] = Number.parseInt(digits.slice(index * 2, index * 2 + 2), 16);
  }
  const version = Number.parseInt(digits.slice(12, 13), 16);
  return { bytes, version, timeMs: Number.parseInt(digits.slice(0, 12), 16) };
}

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

/** The lower-case text of sixteen bytes. */
export function formatUuid(bytes: Uint8Array): string {
  assert(bytes.length === UUID_BYTES, "a UUID has sixteen bytes");
  let text = "";
  for (let index = 0; index < UUID_BYTES; index++) {
    if (index === 4 || index === 6 || index === 8 || index === 10) text += "-";
    text += HEX[bytes[index] as number];
  }
  return text;
}

function clampTime(at: number): number {
  return Math.min(Math.max(Math.floor(at), 0), TIME_MAX); // I4
}

/** 48 bits of time, the version, 12 bits of `source`, the variant, its next 62 bits. */
function compose(at: number, version: 7 | 8, source: Uint8Array): string {
  const time = clampTime(at);
  const bytes = new Uint8Array(UUID_BYTES);
  const high = Math.floor(time / 2 ** 32);
  const low = time % 2 ** 32;
  bytes[0] = high >>> 8;
  bytes[1] = high;
  bytes[2] = low >>> 24;
  bytes[3] = low >>> 16;
  bytes[4] = low >>> 8;
  bytes[5] = low;
  const byteOf = (index: number): number => source[index] as number;
  bytes[6] = (version << 4) | (byteOf(0) >> 4);
  bytes[7] = (byteOf(0) << 4) | (byteOf(1) >> 4);
  bytes[8] = 0x80 | ((byteOf(1) & 0x0f) << 2) | (byteOf(2) >> 6);
  for (let index = 9; index < UUID_BYTES; index++) {
    bytes[index] = (byteOf(index - 7) << 2) | (byteOf(index - 6) >> 6);
  }
  return formatUuid(bytes);
}

function freshTail(random: UuidRandom): bigint {
  return bigEndian(random.bytes(UUID_V7_RANDOM_BYTES)) >> (80n - TAIL_BITS);
}

function bigEndian(bytes: Uint8Array): bigint {
  let value = 0n;
  for (const byte of bytes) value = (value << 8n) | BigInt(byte);
  return value;
}

function tailBytes(tail: bigint): Uint8Array {
  const bytes = new Uint8Array(UUID_V7_RANDOM_BYTES);
  let rest = tail << (80n - TAIL_BITS);
  for (let index = UUID_V7_RANDOM_BYTES - 1; index >= 0; index--) {
    bytes[index] = Number(rest & 0xffn);
    rest >>= 8n;
  }
  return bytes;
}
