import { expect, test } from "vitest";
import { HIDDEN_TEXT, Secrets, withoutSecrets } from "./secrets.ts";

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
