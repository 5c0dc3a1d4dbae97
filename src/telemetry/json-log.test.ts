import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ManualClock } from "../../test/support/manual-clock.ts";
import type { LogFields, LogLevel } from "../ports/telemetry.ts";
import { createJsonLog, type LogOptions } from "./json-log.ts";

const clock = new ManualClock(1_700_000_000_123);

function setUp(options: LogOptions = {}) {
  const lines: string[] = [];
  const log = createJsonLog(clock, { to: (line) => lines.push(line), ...options });
  const only = (): Record<string, unknown> => {
    expect(lines).toHaveLength(1);
    expect(lines[0]?.indexOf("\n")).toBe((lines[0]?.length ?? 0) - 1);
    return JSON.parse(lines[0] ?? "");
  };
  return { log, lines, only };
}

/** Values that the types forbid and programs pass anyway. */
const odd = (fields: Record<string, unknown>) => fields as LogFields;

test("a line has level, time, message and its fields", () => {
  const { log, only } = setUp({ fields: { run_id: "run", pipeline: "p" } });
  log("warn", "it happened", {
    message_id: "m",
    object_key: "a/b.csv",
    idempotency_key: "k",
    trace_id: null,
    attempt: 2,
    last: false,
    left_out: undefined,
  });
  expect(only()).toEqual({
    level: "warn",
    time: "2023-11-14T22:13:20.123Z",
    msg: "it happened",
    run_id: "run",
    pipeline: "p",
    message_id: "m",
    object_key: "a/b.csv",
    idempotency_key: "k",
    attempt: 2,
    last: false,
  });
});

test("a line contains no character that a terminal obeys, and keeps its value (J4)", () => {
  const { log, lines, only } = setUp();
  const key = "a\u001b[2J\u009b31m\u202eb\u007f.csv";
  log("warn", key, { object_key: key });
  // biome-ignore lint/suspicious/noControlCharactersInRegex: none of them may be there.
  expect(lines[0]).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
  expect(only()).toMatchObject({ msg: key, object_key: key });
});

test("lines below the level are not written", () => {
  const { log, lines } = setUp({ level: "warn" });
  for (const level of ["debug", "info", "warn", "error"] satisfies LogLevel[]) log(level, level);
  expect(lines.map((line) => JSON.parse(line).level)).toEqual(["warn", "error"]);
});

test("a field of a line overrides the same field of every line", () => {
  const { log, only } = setUp({ fields: { run_id: "all" } });
  log("info", "x", { run_id: "mine" });
  expect(only().run_id).toBe("mine");
});

describe("odd values", () => {
  test.each<[string, unknown, unknown]>([
    ["a bigint", 2n ** 70n, "1180591620717411303424"],
    ["no number", Number.NaN, "NaN"],
    ["infinity", Number.NEGATIVE_INFINITY, "-Infinity"],
    ["half a character", "a\ud800b", "a\ufffdb"],
    ["a symbol", Symbol("s"), "Symbol(s)"],
    ["an object", { a: [1n, { b: 2 }] }, '{"a":["1",{"b":2}]}'],
    ["a date that is none", new Date(Number.NaN), "null"],
    ["an object without prototype", Object.create(null), "{}"],
  ])("%s is written as text", (_what, value, expected) => {
    const { log, only } = setUp();
    log("info", "odd", odd({ value, message_id: "m" }));
    expect(only()).toMatchObject({ msg: "odd", value: expected, message_id: "m" });
  });

  test("a cycle, or a getter or toJSON that throws, costs at most its own field", () => {
    const cycle: Record<string, unknown> = { name: "c" };
    cycle.self = cycle;
    const fields = {
      cycle,
      throwing: {
        toJSON() {
          throw new Error("no");
        },
      },
      get got(): string {
        throw new Error("not yours");
      },
      message_id: "m",
    };
    const { log, only } = setUp();
    log("error", "odd", odd(fields));
    expect(only()).toMatchObject({
      msg: "odd",
      message_id: "m",
      cycle: '{"name":"c","self":"[repeated]"}',
      throwing: "[unprintable: no]",
      got: "[unprintable: not yours]",
    });
  });

  test("an error is written with its stack", () => {
    const { log, only } = setUp();
    log("error", "failed", odd({ err: new TypeError("broken") }));
    expect(only().err).toMatch(/^TypeError: broken\n\s+at /);
  });

  test("fields with reserved names are renamed", () => {
    const { log, only } = setUp();
    const fields = { level: "mine", time: 1, msg: "x", socket: "s", method: "GET", headers: "h" };
    log("info", "said", odd(fields));
    expect(only()).toMatchObject({
      level: "info",
      time: "2023-11-14T22:13:20.123Z",
      msg: "said",
      field_level: "mine",
      field_time: 1,
      field_msg: "x",
      field_socket: "s",
      method: "GET",
      headers: "h",
    });
  });

  test("a message is written unchanged, including percent signs and line breaks", () => {
    const { log, only } = setUp();
    log("info", '100%s %d %% "x"\nnext');
    expect(only().msg).toBe('100%s %d %% "x"\nnext');
  });

  test("a very long text is cut", () => {
    const { log, lines } = setUp();
    log("info", "x".repeat(10_000_000), { field: "y".repeat(10_000_000) });
    expect(lines[0]?.length).toBeLessThan(40_000);
  });

  test("every line is JSON and keeps its message id, whatever its other fields are", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "binary" }),
        fc.dictionary(fc.string({ unit: "binary" }), fc.anything({ withBigInt: true })),
        (message, fields) => {
          const { log, only } = setUp();
          log("info", message, odd({ ...fields, message_id: "m" }));
          expect(only()).toMatchObject({ level: "info", message_id: "m" });
        },
      ),
    );
  });
});

test("an error of the destination does not reach the caller", () => {
  const log = createJsonLog(clock, {
    to: () => {
      throw new Error("the disk is full");
    },
  });
  expect(() => log("info", "x")).not.toThrow();
});
