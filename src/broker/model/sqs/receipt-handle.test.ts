import fc from "fast-check";
import { expect, test } from "vitest";
import { createReceiptHandles } from "./receipt-handle.ts";

const handles = createReceiptHandles([0xdeadbeef, 0x12345678]);
const anyHandle = fc.record({
  queue: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
  seq: fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
  receiveCount: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
});

test("a handle always decodes to the receive it was made for (R1)", () => {
  fc.assert(
    fc.property(anyHandle, ({ queue, seq, receiveCount }) => {
      const text = handles.encode(queue, seq, receiveCount);
      expect(handles.decode(text)).toEqual({ queue, seq, receiveCount });
      expect(handles.encode(queue, seq, receiveCount)).toBe(text);
    }),
  );
});

test("two receives never share a handle (R1)", () => {
  fc.assert(
    fc.property(anyHandle, anyHandle, (a, b) => {
      fc.pre(JSON.stringify(a) !== JSON.stringify(b));
      const first = handles.encode(a.queue, a.seq, a.receiveCount);
      expect(first).not.toBe(handles.encode(b.queue, b.seq, b.receiveCount));
    }),
  );
});

test("garbage is not a handle (R2)", () => {
  for (const text of ["", "garbage", "=", "A".repeat(32), `${handles.encode(1, 2, 3)} `]) {
    expect(handles.decode(text)).toBe(null);
  }
  fc.assert(fc.property(fc.string(), (text) => handles.decode(text) === null));
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 24, maxLength: 24 }), (bytes) => {
      return handles.decode(Buffer.from(bytes).toString("base64")) === null;
    }),
  );
});

test("another text for the same bytes is not a handle (R2)", () => {
  const text = handles.encode(0xffffffff, Number.MAX_SAFE_INTEGER, 0xfbefbefb);
  expect(text).toMatch(/[+/]/);
  const others = [
    text.replaceAll("+", "-").replaceAll("/", "_"),
    `${text}=`,
    `${text.slice(0, 16)}\n${text.slice(16)}`,
    `${text.slice(0, -1)}=`,
    `${text.slice(0, -1)}\u0141`,
    `${text.slice(0, -1)}\u{1f600}`.slice(0, 32),
  ];
  for (const other of others) expect(handles.decode(other)).toBe(null);
  expect(handles.decode(text)).not.toBe(null);
});

test("a handle with one flipped bit is invalid (R2)", () => {
  fc.assert(
    fc.property(anyHandle, fc.nat(24 * 8 - 1), ({ queue, seq, receiveCount }, bit) => {
      const bytes = Buffer.from(handles.encode(queue, seq, receiveCount), "base64");
      bytes[bit >> 3] = (bytes[bit >> 3] as number) ^ (1 << (bit & 7));
      expect(handles.decode(bytes.toString("base64"))).toBe(null);
    }),
  );
});

test("a handle of another broker is invalid (R2), but handles survive a restart (R3)", () => {
  const others = [
    createReceiptHandles([0xdeadbeef, 0x12345679]),
    createReceiptHandles([0xdeadbeee, 0x12345678]),
  ];
  const text = handles.encode(1, 2, 3);
  for (const other of others) expect(other.decode(text)).toBe(null);
  expect(createReceiptHandles([0xdeadbeef, 0x12345678]).decode(text)?.seq).toBe(2);
});

test("base64 in another spelling is invalid: one receive has one text", () => {
  const text = handles.encode(0xffffffff, 0xffffff, 0xfffffff);
  const url = text.replaceAll("+", "-").replaceAll("/", "_");
  expect(url).not.toBe(text);
  expect(handles.decode(url)).toBe(null);
  expect(handles.decode(`${text}\n`)).toBe(null);
});
