import fc from "fast-check";
import { expect, test } from "vitest";
import { HIDDEN_TEXT, MASKED, Secrets, withoutSecrets } from "./secrets.ts";

test("a number is removed from a text in each form in which it is written (S1)", () => {
  const written = [
    "1234567",
    "1,234,567",
    "1.234.567",
    "1 234 567",
    "1'234'567",
    "1\u202f234\u202f567",
  ];
  const text = written.map((each) => `no. ${each}x`).join("; ");
  expect(withoutSecrets(text, ["1234567"])).toBe(written.map(() => "no. ***x").join("; "));
  expect(withoutSecrets("paid 12,345.50 or -12345.5", ["-12345.5"])).toBe("paid ***.50 or ***");
});

test("a value is removed from JSON, and from JSON in a string of JSON (S1)", () => {
  const value = 'O"Br\\ien';
  const body = JSON.stringify({ name: value });
  const message = JSON.stringify({ body });
  expect(withoutSecrets(body, [value])).toBe('{"name":"***"}');
  expect(withoutSecrets(message, [value])).toBe(JSON.stringify({ body: '{"name":"***"}' }));
});

test("a value of one row is still removed after many other rows (S2)", () => {
  const secrets = new Secrets(["own value"]);
  for (let row = 0; row < 20_000; row++) secrets.add([`person-${row}@example.org`]);
  const text = "from person-0@example.org to person-19999@example.org with own value";
  expect(secrets.hide(text)).toBe("from *** to *** with ***");
});

test("with more values than are in memory, a text is hidden as a whole (S2)", () => {
  const secrets = new Secrets(["own value"]);
  for (let row = 0; row <= 20_000; row++) secrets.add([`person-${row}@example.org`]);
  expect(secrets.hide("a harmless text")).toBe(HIDDEN_TEXT);
  expect(secrets.hide("")).toBe("");
  expect(secrets.hideInName("in/own value.csv")).toBe("in/***.csv"); // S3
  const long = new Secrets();
  long.add(["x".repeat(4_194_305)]);
  expect(long.hide("a harmless text")).toBe(HIDDEN_TEXT);
});

test("the same values again do not count against the limit (S2)", () => {
  const secrets = new Secrets();
  for (let row = 0; row < 100_000; row++) secrets.add([`person-${row % 100}@example.org`]);
  expect(secrets.hide("to person-7@example.org")).toBe("to ***");
});

test("the longest of several values with one start is removed", () => {
  expect(withoutSecrets("abcdefghijkl!", ["abcdefghi", "abcdefghijkl", "abc"])).toBe("***!");
});

// A search that compares every value of one start at every place needs about a minute for it.
test("many values with one start are removed from a long text (S4)", () => {
  const name = (row: number) => `customer-${String(row).padStart(6, "0")}`;
  const secrets = new Secrets();
  for (let row = 0; row < 20_000; row++) secrets.add([name(row)]);
  const numbers = Array.from({ length: 30_000 }, (_, row) => row);
  const text = numbers.map((row) => `${name(row)};`).join("");
  const hidden = numbers.map((row) => (row < 20_000 ? `${MASKED};` : `${name(row)};`)).join("");
  expect(secrets.hide(text)).toBe(hidden);
});

test("a text loses the longest spelling at every place, as a plain search finds it (S1)", () => {
  // Few characters, so that values share starts, overlap and need escapes.
  const unit = fc.constantFrom("a", "b", '"', "'", "\\", " ", "\n", "\ud83d", "1");
  const value = fc.oneof(
    fc.string({ unit, minLength: 1, maxLength: 7 }),
    fc.string({ unit, maxLength: 4 }).map((end) => `aab${end}`),
    fc.integer({ min: -2_000_000, max: 2_000_000 }).map(String),
  );
  const values = fc.array(value, { minLength: 1, maxLength: 12 });
  const input = fc.tuple(values, values).chain(([own, added]) => {
    const spelling = fc.constantFrom(...[...own, ...added].flatMap(plainSpellings));
    const piece = fc.oneof(spelling, fc.string({ unit, maxLength: 3 }));
    const pieces = fc.array(piece, { maxLength: 12 });
    return fc.record({ own: fc.constant(own), added: fc.constant(added), pieces });
  });
  fc.assert(
    fc.property(input, ({ own, added, pieces }) => {
      const text = pieces.join("");
      const secrets = new Secrets(own);
      expect(secrets.hide(text)).toBe(plainlyHidden(text, own));
      secrets.add(added); // after a search
      expect(secrets.hide(text)).toBe(plainlyHidden(text, [...own, ...added]));
    }),
    { numRuns: 500 },
  );
});

function plainlyHidden(text: string, values: readonly string[]): string {
  const spellings = values.filter((value) => value.length >= 3).flatMap(plainSpellings);
  let shown = "";
  let hiddenTo = 0;
  for (let at = 0; at < text.length; at++) {
    const lengths = spellings.map((each) => (text.startsWith(each, at) ? each.length : 0));
    const end = at + Math.max(0, ...lengths);
    if (at >= hiddenTo) shown += end > at ? MASKED : text.charAt(at);
    hiddenTo = Math.max(hiddenTo, end);
  }
  return shown;
}

function plainSpellings(value: string): string[] {
  const url = encodeURIComponent(value.toWellFormed());
  const quotes = [value.split("'").join("\\'"), value.split("'").join("''")];
  const digits = /^-?(\d{4,})$/.exec(value)?.[1];
  const groups = digits?.match(/^\d{1,3}(?=(?:\d{3})*$)|\d{3}/g) ?? [];
  const marks =
    digits === undefined ? [] : ["", ",", ".", " ", "_", "'", "\u2019", "\u00a0", "\u202f"];
  const grouped = marks.map((mark) => groups.join(mark));
  return [
    value,
    inJson(value),
    inJson(inJson(value)),
    ...quotes,
    url,
    url.split("%20").join("+"),
    ...grouped,
  ];
}

function inJson(value: string): string {
  return JSON.stringify(value).slice(1, -1);
}
