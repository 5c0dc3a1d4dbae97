import fc from "fast-check";
import { expect, test } from "vitest";
import { collect, sourceOf } from "../../test/support/byte-sources.ts";
import { ByteCursor } from "./byte-cursor.ts";
import { checkText } from "./checked-text.ts";

const signal = new AbortController().signal;

async function check(bytes: Uint8Array, lengths?: readonly number[]): Promise<Buffer[]> {
  return collect(checkText(new ByteCursor(sourceOf(bytes, lengths).stream(signal)), "a"));
}

const anyLengths = fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 4 });

test("text passes through unchanged, and no chunk ends inside a character", async () => {
  const text = fc
    .string({ unit: "binary", maxLength: 40 })
    .map((it) => it.replace(/[\0\ufeff]/g, ""));
  const property = fc.asyncProperty(text, anyLengths, async (written, lengths) => {
    const chunks = await check(Buffer.from(written.toWellFormed()), lengths);
    expect(chunks.map((chunk) => chunk.toString("utf8")).join("")).toBe(written.toWellFormed());
  });
  await fc.assert(property);
});

test("bytes are rejected exactly if they are not UTF-8, at the position of the first error", async () => {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const bytes = fc.array(
    fc.constantFrom(0x41, 0x0a, 0xc3, 0xa9, 0xe2, 0x82, 0xac, 0xf0, 0x9f, 0xed),
    {
      maxLength: 12,
    },
  );
  const property = fc.asyncProperty(bytes, anyLengths, async (list, lengths) => {
    const data = Uint8Array.from(list);
    const whole = await check(data).then(
      () => null,
      (error: Error) => error.message,
    );
    const cut = await check(data, lengths).then(
      () => null,
      (error: Error) => error.message,
    );
    expect(cut === null).toBe(whole === null);
    let valid = true;
    try {
      decoder.decode(data);
    } catch {
      valid = false;
    }
    expect(whole === null).toBe(valid);
    expect(cut?.match(/line \d+: byte \d+/)?.[0]).toBe(whole?.match(/line \d+: byte \d+/)?.[0]);
  });
  await fc.assert(property, { numRuns: 1_000 });
});

test.each([
  [[0x61, 0x0a, 0x62, 0xff], "a, line 2: byte 4 is not UTF-8"],
  [[0x61, 0xe2, 0x82], "a, line 1: byte 2 ends inside a character"],
  [[0xef, 0xbb, 0xbf, 0x61, 0x00], "a, line 1: byte 5 is NUL, which text must not contain"],
  [[0xff, 0xfe, 0x61, 0x00], "a, line 1: is UTF-16; write it as UTF-8"],
  [[0xed, 0xa0, 0x80], "a, line 1: byte 1 is not UTF-8"],
])("%j is rejected with its line and byte", async (bytes, message) => {
  await expect(check(Uint8Array.from(bytes))).rejects.toMatchObject({
    code: "TG_OBJECT_UNREADABLE",
    message,
  });
});

test("one byte order mark is dropped, a second is a character like any other", async () => {
  const chunks = await check(Buffer.from("\ufeff\ufeffa"), [1]);
  expect(Buffer.concat(chunks).toString("utf8")).toBe("\ufeffa");
});
