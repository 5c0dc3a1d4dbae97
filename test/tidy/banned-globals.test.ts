import { expect, test } from "vitest";
import { checkBannedGlobals } from "./banned-globals.ts";
import { parse } from "./source-file.ts";

function count(text: string, path = "src/broker/engine/writer.ts"): number {
  return checkBannedGlobals(parse(path, text)).length;
}

test.each([
  "const now = Date.now();",
  "const now = new Date();",
  "const now = globalThis.Date;",
  `const now = globalThis["Date"];`,
  "setTimeout(done, 5);",
  "const later = { setInterval };",
  "const { Date } = globalThis;",
  "const all = globalThis; all.Date.now();",
  "const now = global.Date.now();",
  "const signal = AbortSignal.timeout(5);",
  `import { randomBytes } from "node:crypto";`,
  "const share = Math.random();",
  "const id = crypto.randomUUID();",
  `import { randomUUID as id } from "node:crypto";`,
  "const { randomUUID } = crypto;",
  "const { randomUUID: id } = crypto;",
  "const { random: draw } = Math;",
  "const { crypto: { randomUUID: id } } = ports;",
  "let draw; ({ random: draw } = Math);",
  "function f({ random: draw } = Math) {}",
  "const { now: at } = Date;",
  "const { Date: Time } = globalThis;",
  "const home = process.env.HOME;",
  "await fetch(url);",
  "const start = performance.now();",
  "const now = (Date as unknown as Clock).now();",
])("is rejected in a pure part: %s", (text) => {
  expect(count(text)).toBe(1);
});

test.each([
  "let at: Date;",
  "type Clock = typeof Date;",
  "const kind = event.process;",
  "const row = { process: 1, Date: 2 };",
  "interface Job { process(): void }",
  "function run(process: () => void) { process(); }",
  "const { fetch } = ports; fetch(url);",
  `import { fetch } from "./queue.ts"; fetch();`,
  "const max = Math.max(1, 2);",
  "const { max: most } = Math; const { random } = ports;",
  `headers.get("Date");`,
  "const digits = value.toString(16); const own = globalThis.constructor;",
  `const text = "Date.now()"; // Date.now() is for the clock`,
])("is not a use of a global: %s", (text) => {
  expect(count(text)).toBe(0);
});

test("parts marked for it, and tests, may use them", () => {
  for (const path of ["src/platform/clock.ts", "src/cli/main.ts", "src/core/units.test.ts"]) {
    expect(count("Date.now();", path)).toBe(0);
  }
  expect(count("Date.now();", "src/core/units.ts")).toBe(1);
});
