import fc from "fast-check";
import { expect, test } from "vitest";
import { TidegateError } from "../../core/errors.ts";
import { FAILURE_MESSAGE_CHARS_MAX } from "../../core/limits.ts";
import { fingerprintOf, messageOf, normalForm, STACK_CHARS_MAX, stackOf } from "./error-text.ts";

/** An error with the given stack frames. */
function thrownAt(message: string, ...frames: string[]): Error {
  const error = new Error(message);
  error.stack = [`Error: ${message}`, ...frames.map((frame) => `    at ${frame}`)].join("\n");
  return error;
}

const print = (error: unknown) => fingerprintOf(error, "unknown");

test("a message includes the messages of its causes, each once", () => {
  const refused = Object.assign(new Error("connect 10.0.0.1:5432"), { code: "ECONNREFUSED" });
  expect(messageOf(new TypeError("fetch failed", { cause: refused }))).toBe(
    "TypeError: fetch failed; caused by ECONNREFUSED: connect 10.0.0.1:5432",
  );
  expect(messageOf(new Error("same", { cause: new Error("same") }))).toBe("same");
  const own = new TidegateError("TG_SINK_REFUSED", "no such table");
  expect(messageOf(own)).toBe("TG_SINK_REFUSED: no such table");
});

test("the fields of a thrown object are not written down: they may be personal data", () => {
  expect(messageOf({ person: "Ada" })).toBe("an object that is not an error was thrown");
});

test("messages and stacks are bounded, well-formed and without NUL", () => {
  const anyText = fc.oneof(
    fc.string({ unit: "binary", maxLength: 50 }),
    fc.string({ unit: "binary", minLength: 3_000, maxLength: 9_000 }),
    fc.constantFrom("\0", "\ud800", "x\ud83d", "\ud83d\ude00".repeat(5_000)),
  );
  fc.assert(
    fc.property(anyText, anyText, anyText, (message, stack, below) => {
      const error = Object.assign(new Error(message, { cause: below }), { stack });
      for (const [text, max] of [
        [messageOf(error), FAILURE_MESSAGE_CHARS_MAX],
        [stackOf(error) ?? "", STACK_CHARS_MAX],
      ] as const) {
        expect(text.length).toBeLessThanOrEqual(max);
        expect(text.isWellFormed()).toBe(true);
        expect(text).not.toContain("\0");
      }
    }),
    { numRuns: 30 },
  );
});

test("a stack includes the stacks of the causes, and is null for a value without one", () => {
  const error = thrownAt("outer", "a (/x/y.ts:1:2)");
  error.cause = thrownAt("inner", "b (/x/z.ts:3:4)");
  expect(stackOf(error)).toContain("caused by Error: inner\n    at b (/x/z.ts:3:4)");
  expect(stackOf("text")).toBeNull();
});

test.each([
  ["row 12 of 4,000 has no station", "row 7 of 12 has no station"],
  ['no station "Oslo"', 'no station "Bergen, west"'],
  ["no station 'O1'", "no station 'B 2'"],
  [
    "event 3f2504e0-4f89-41d3-9a0c-0305e82c3301 is old",
    "event 9b2d4c80-7f21-4d3e-8a1b-0305e82c33ff is old",
  ],
  ["object in/2026/a.csv is empty", "object in/2025/12/b.csv is empty"],
  ["cannot open /tmp/x1/data", "cannot open /var/lib/data"],
  ["GET https://a.example/x?y=1 failed", "GET http://b.example:80/z failed"],
  [
    "etag 9a0364b9e99bb480dd25e1f0284c8555 differs",
    "etag 1bc29b36f623ba82aaf6724fd3b16718 differs",
  ],
  ["at 2026-01-02T03:04:05Z it broke", "at 2025-11-12T13:14:15.123Z it broke"],
  ["address 0xdeadbeef is bad", "address 0x12 is bad"],
  [`unexpected token in "${"x".repeat(3_000)}"`, `unexpected token in "${"y".repeat(2_500)}"`],
])("%s has the fingerprint of another error with the same cause", (one, other) => {
  const [a, b] = [one, other].map((message) => thrownAt(message, "f (/app/p.ts:1:1)"));
  expect(print(a)).toBe(print(b));
});

test("errors that differ in wording, class, name or position have different fingerprints", () => {
  const prints = [
    print(thrownAt("no station", "f (/app/p.ts:1:1)")),
    print(thrownAt("no weather", "f (/app/p.ts:1:1)")),
    print(thrownAt("no station", "g (/app/p.ts:1:1)")),
    print(thrownAt("no station", "f (/app/q.ts:1:1)")),
    fingerprintOf(thrownAt("no station", "f (/app/p.ts:1:1)"), "schema"),
    print(Object.assign(thrownAt("no station", "f (/app/p.ts:1:1)"), { name: "TypeError" })),
  ];
  expect(new Set(prints).size).toBe(prints.length);
});

test("the position is in user code: no frame of Node or a package, no line, no folder of a host", () => {
  const library = "q (/app/node_modules/pg/lib/client.js:9:9)";
  const inner = "node:internal/process/task_queues:105:5";
  const prints = [
    print(thrownAt("m", inner, library, "async handler (file:///app/pipeline.ts:10:3)")),
    print(thrownAt("m", library, "handler (/srv/releases/7/pipeline.ts:99:1)")),
    print(thrownAt("m", "handler (file:///app/pipeline.ts?t=17:99:1)")),
    print(thrownAt("m", "handler (C:\\app\\pipeline.ts:4:1)")),
  ];
  expect(new Set(prints).size).toBe(1);
  const anonymous = [
    print(thrownAt("m", "async file:///app/p.ts:1:2")),
    print(thrownAt("m", "/app/p.ts:7:7")),
  ];
  expect(new Set(anonymous).size).toBe(1);
});

test("the normal form of any message is short and computed quickly", () => {
  const hard = fc.constantFrom("'", '"', "/", "-", "a", "0", "a/", "..", "0x", " ", "é");
  fc.assert(
    fc.property(hard, hard, fc.integer({ min: 1, max: 1_000 }), (a, b, times) => {
      expect(normalForm((a + b).repeat(times)).length).toBeLessThanOrEqual(512);
    }),
  );
});
