// UUIDs (RFC 9562).
//   I1. An id derived from data is version 8, because version 7 promises random bits. It uses the
//       layout of version 7 (48 bits of time, then 74 bits), so both sort by time.
//   I2. The same event time and key always give the same id, everywhere.
//   I3. Times are clamped to their 48 bits; an event from before 1970 sorts first.

import { assert } from "../assert.ts";
import { TidegateError } from "../errors.ts";
import type { EpochMs } from "../units.ts";
import { sha256Bytes } from "./hash.ts";

export const UUID_BYTES = 16;

const VERSION = 8;
const TIME_MAX = 2 ** 48 - 1;
const SHAPE = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Version 8 from an event's time and key (I1, I2). */
export function deterministicUuid(eventTime: EpochMs, key: string | Uint8Array): string {
  if (typeof key === "string" && !key.isWellFormed()) {
    throw new TidegateError("TG_VALUE_INVALID", "a key with a lone surrogate has no stable id");
  }
  return compose(eventTime, sha256Bytes(key));
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
  return Math.min(Math.max(Math.floor(at), 0), TIME_MAX); // I3
}

/** 48 bits of time, the version (I1), 12 bits of `source`, the variant, its next 62 bits. */
function compose(at: number, source: Uint8Array): string {
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
  bytes[6] = (VERSION << 4) | (byteOf(0) >> 4);
  bytes[7] = (byteOf(0) << 4) | (byteOf(1) >> 4);
  bytes[8] = 0x80 | ((byteOf(1) & 0x0f) << 2) | (byteOf(2) >> 6);
  for (let index = 9; index < UUID_BYTES; index++) {
    bytes[index] = (byteOf(index - 7) << 2) | (byteOf(index - 6) >> 6);
  }
  return formatUuid(bytes);
}
