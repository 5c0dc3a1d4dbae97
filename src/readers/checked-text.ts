// Checked text: passes UTF-8 through, and reports where other bytes are.
//   T1. Invalid UTF-8 is rejected with its line and byte, never replaced by U+FFFD: a name damaged
//       in transit would become another key.
//   T2. No output chunk ends inside a character.
//   T3. One byte order mark at the start is dropped; it does not belong to the first column's name.
//   T4. NUL is rejected. UTF-16 and binary files contain it, databases do not accept it in text,
//       and CSV parsers disagree on it. JSON may still contain it, escaped.

import { Buffer, isUtf8 } from "node:buffer";
import type { ByteCursor } from "./byte-cursor.ts";
import { hasByteOrderMark } from "./row-format.ts";
import { unreadable } from "./unreadable.ts";

const NEWLINE = 0x0a;
const MARK_BYTES = 3;

export async function* checkText(input: ByteCursor, name: string): AsyncGenerator<Buffer> {
  let offset = await skipMark(input, name);
  let line = 1;
  let carry: Buffer = Buffer.alloc(0);
  for (let chunk = await input.take(); chunk !== null; chunk = await input.take()) {
    const joined = carry.length > 0 ? Buffer.concat([carry, chunk]) : viewOf(chunk);
    const text = joined.subarray(0, wholeCharacters(joined));
    checkChunk(text, { name, line, offset });
    carry = joined.subarray(text.length); // T2
    line += countNewlines(text);
    offset += text.length;
    if (text.length > 0) yield text;
  }
  if (carry.length > 0) throw refuse("ends inside a character", carry, 0, { name, line, offset });
}

interface ChunkPosition {
  readonly name: string;
  /** The line and the byte at which the chunk starts, from 1 and from 0. */
  readonly line: number;
  readonly offset: number;
}

/** The number of bytes skipped (T3). */
async function skipMark(input: ByteCursor, name: string): Promise<number> {
  const head = await input.peek(MARK_BYTES);
  if ((head[0] === 0xff && head[1] === 0xfe) || (head[0] === 0xfe && head[1] === 0xff)) {
    throw unreadable(name, "is UTF-16; write it as UTF-8", { line: 1 });
  }
  if (!hasByteOrderMark(head)) return 0;
  const first = await input.take();
  input.giveBack(first?.subarray(MARK_BYTES) ?? new Uint8Array());
  return MARK_BYTES;
}

function checkChunk(text: Buffer, position: ChunkPosition): void {
  if (!isUtf8(text)) throw refuse("is not UTF-8", text, firstInvalid(text), position); // T1
  const nul = text.indexOf(0);
  if (nul >= 0) throw refuse("is NUL, which text must not contain", text, nul, position); // T4
}

function refuse(what: string, text: Buffer, at: number, position: ChunkPosition) {
  const line = position.line + countNewlines(text.subarray(0, at));
  return unreadable(position.name, `byte ${position.offset + at + 1} ${what}`, { line });
}

/** The start of the last character if it is incomplete, else the length. */
function wholeCharacters(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const at = bytes.length - back;
    const length = characterBytes(bytes[at] ?? 0);
    if (length > 0) return length > back ? at : bytes.length;
  }
  return bytes.length;
}

/** The length that a first byte announces; 0 if it cannot be a first byte. */
function characterBytes(first: number): number {
  if (first < 0x80) return 1;
  if (first >= 0xc0 && first < 0xe0) return 2;
  if (first >= 0xe0 && first < 0xf0) return 3;
  return first >= 0xf0 && first < 0xf8 ? 4 : 0;
}

function firstInvalid(bytes: Buffer): number {
  let at = 0;
  while (at < bytes.length) {
    const length = Math.max(1, characterBytes(bytes[at] ?? 0));
    if (!isUtf8(bytes.subarray(at, at + length))) return at;
    at += length;
  }
  return at;
}

function countNewlines(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, at + 1)) count++;
  return count;
}

function viewOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
