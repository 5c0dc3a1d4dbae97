// Transcode: turns the bytes of a CSV file in another encoding into UTF-8.
//   E1. Nothing is replaced: what the encoding does not allow is rejected with its line. Latin-1
//       and Windows-1252 assign a character to every byte.
//   E2. Latin-1 is ISO 8859-1. Browsers take that name for Windows-1252, which has other characters
//       from 0x80 to 0x9F.
//   E3. A byte order mark decides between the two forms of UTF-16. It stays in the text, whose
//       reader drops it.

import { Buffer } from "node:buffer";
import type { CsvEncoding } from "../core/csv-format.ts";
import type { ByteCursor } from "./byte-cursor.ts";
import { unreadable } from "./unreadable.ts";

const MARK_BYTES = 2;

/** The same text as UTF-8, or the bytes unchanged if they already are. */
export async function transcode(
  input: ByteCursor,
  encoding: CsvEncoding,
  name: string,
): Promise<AsyncIterable<Uint8Array>> {
  switch (await actualEncoding(input, encoding)) {
    case "utf-16le":
      return fromUtf16(input, false, name);
    case "utf-16be":
      return fromUtf16(input, true, name);
    case "latin1":
      return fromBytes(input, (bytes) => bytes.toString("latin1")); // E2
    case "windows-1252": {
      const decoder = new TextDecoder("windows-1252");
      return fromBytes(input, (bytes) => decoder.decode(bytes));
    }
    default:
      return input;
  }
}

/** The encoding that a byte order mark names, or the given one (E3). */
async function actualEncoding(input: ByteCursor, encoding: CsvEncoding): Promise<CsvEncoding> {
  if (encoding !== "auto" && encoding !== "utf-16") return encoding;
  const [first, second] = await input.peek(MARK_BYTES);
  if (first === 0xfe && second === 0xff) return "utf-16be";
  const isLittle = (first === 0xff && second === 0xfe) || encoding === "utf-16";
  return isLittle ? "utf-16le" : "utf-8";
}

async function* fromBytes(
  input: ByteCursor,
  decode: (bytes: Buffer) => string,
): AsyncGenerator<Uint8Array> {
  for (let chunk = await input.take(); chunk !== null; chunk = await input.take()) {
    yield Buffer.from(decode(viewOf(chunk)));
  }
}

async function* fromUtf16(
  input: ByteCursor,
  bigEndian: boolean,
  name: string,
): AsyncGenerator<Uint8Array> {
  let carry: Buffer = Buffer.alloc(0);
  let line = 1;
  for (let chunk = await input.take(); chunk !== null; chunk = await input.take()) {
    const bytes = Buffer.concat([carry, chunk]);
    const end = wholeCharacters(bytes, bigEndian);
    carry = bytes.subarray(end);
    // A copy, because a swap changes the bytes in place.
    const units = Buffer.from(bytes.subarray(0, end));
    const text = (bigEndian ? units.swap16() : units).toString("utf16le");
    if (!text.isWellFormed()) {
      const before = text.slice(0, loneSurrogate(text));
      const reason = "contains half of a UTF-16 character";
      throw unreadable(name, reason, { line: line + countLines(before) }); // E1
    }
    line += countLines(text);
    yield Buffer.from(text);
  }
  if (carry.length > 0) throw unreadable(name, "ends inside a UTF-16 character", { line });
}

/** The bytes up to a character that continues in the next chunk. */
function wholeCharacters(bytes: Buffer, bigEndian: boolean): number {
  const even = bytes.length - (bytes.length % 2);
  if (even === 0) return 0;
  const last = bytes[bigEndian ? even - 2 : even - 1] ?? 0;
  const isHighSurrogate = last >= 0xd8 && last < 0xdc;
  return isHighSurrogate ? even - 2 : even;
}

function loneSurrogate(text: string): number {
  let at = 0;
  for (const character of text) {
    if (!character.isWellFormed()) return at;
    at += character.length;
  }
  return at;
}

function countLines(text: string): number {
  let count = 0;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) count += 1;
  return count;
}

function viewOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
