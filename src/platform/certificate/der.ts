// DER: encodes the ASN.1 values that a certificate needs.

const SEQUENCE = 0x30;
const SET = 0x31;
const INTEGER = 0x02;
const BIT_STRING = 0x03;
const OCTET_STRING = 0x04;
const NULL = 0x05;
const OBJECT_IDENTIFIER = 0x06;
const UTF8_STRING = 0x0c;
const UTC_TIME = 0x17;
const GENERALIZED_TIME = 0x18;
const BOOLEAN = 0x01;
/** From this year on, UTCTime's two digits do not suffice. */
const UTC_TIME_YEARS_END = 2050;

export function value(tag: number, content: Uint8Array): Buffer {
  const { length } = content;
  if (length < 0x80) return Buffer.concat([Uint8Array.of(tag, length), content]);
  const size: number[] = [];
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) size.unshift(rest % 256);
  return Buffer.concat([Uint8Array.of(tag, 0x80 | size.length, ...size), content]);
}

export function sequence(...parts: Uint8Array[]): Buffer {
  return value(SEQUENCE, Buffer.concat(parts));
}

export function set(...parts: Uint8Array[]): Buffer {
  return value(SET, Buffer.concat(parts));
}

/** A positive number, given as bytes; a leading zero keeps it positive. */
export function derInteger(bytes: Uint8Array): Buffer {
  let start = 0;
  while (start < bytes.length - 1 && bytes[start] === 0) start += 1;
  const digits = bytes.subarray(start);
  const negative = ((digits[0] ?? 0) & 0x80) !== 0;
  return value(INTEGER, negative ? Buffer.concat([Uint8Array.of(0), digits]) : digits);
}

export function bitString(bytes: Uint8Array, unusedBits = 0): Buffer {
  return value(BIT_STRING, Buffer.concat([Uint8Array.of(unusedBits), bytes]));
}

export function octetString(bytes: Uint8Array): Buffer {
  return value(OCTET_STRING, bytes);
}

export function derBoolean(flag: boolean): Buffer {
  return value(BOOLEAN, Uint8Array.of(flag ? 0xff : 0));
}

export function nothing(): Buffer {
  return value(NULL, Uint8Array.of());
}

export function utf8String(text: string): Buffer {
  return value(UTF8_STRING, Buffer.from(text, "utf8"));
}

/** `1.2.840.113549.1.1.11`. */
export function objectIdentifier(dotted: string): Buffer {
  const [first = 0, second = 0, ...arcs] = dotted.split(".").map(Number);
  const bytes = [first * 40 + second];
  for (const arc of arcs) {
    const digits = [arc & 0x7f];
    for (let rest = Math.floor(arc / 128); rest > 0; rest = Math.floor(rest / 128)) {
      digits.unshift((rest & 0x7f) | 0x80);
    }
    bytes.push(...digits);
  }
  return value(OBJECT_IDENTIFIER, Uint8Array.from(bytes));
}

/** X.509 writes years before 2050 with two digits and later ones with four. */
export function time(at: Date): Buffer {
  const digits = `${at.toISOString().replaceAll(/[-:T]|\.\d+Z$/g, "")}Z`;
  const short = at.getUTCFullYear() < UTC_TIME_YEARS_END;
  const text = short ? digits.slice(2) : digits;
  return value(short ? UTC_TIME : GENERALIZED_TIME, Buffer.from(text, "latin1"));
}

/** A field with an explicit tag number around its content. */
export function explicit(number: number, content: Uint8Array): Buffer {
  return value(0xa0 | number, content);
}

export function pem(label: string, bytes: Uint8Array): string {
  const lines =
    Buffer.from(bytes)
      .toString("base64")
      .match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join("\n")}\n-----END ${label}-----\n`;
}
