import { expect, test } from "vitest";
import { epochMs } from "../core/units.ts";
import {
  appendToLog,
  decodeEntries,
  encodeEntries,
  LOG_CHARS_MAX,
  logEntry,
} from "./record-log.ts";
import { fenceOf } from "./record-state.ts";

const failure = {
  errorClass: "c",
  fingerprint: "f",
  message: `"quoted"\nand broken ${"x".repeat(99)}`,
};
const line = (n: number) =>
  encodeEntries([logEntry("failed", fenceOf(n), epochMs(n), { failure })]);

test("a log that is too long drops its oldest entries, whole, and keeps the newest", () => {
  let log = "";
  for (let n = 1; n <= 1_000; n += 1) log = appendToLog(log, line(n));
  expect(log.length).toBeLessThanOrEqual(LOG_CHARS_MAX);
  const fences = decodeEntries(log).map(({ fence }) => fence);
  const first = fences[0] ?? 0;
  expect(fences).toEqual(Array.from({ length: 1_001 - first }, (_, n) => first + n));
  expect(log.length).toBeGreaterThan(LOG_CHARS_MAX - line(1_000).length * 2);
});

test("an entry longer than the log's limit is stored alone", () => {
  const long = encodeEntries([
    logEntry("failed", fenceOf(2), epochMs(2), {
      failure: { ...failure, message: "y".repeat(LOG_CHARS_MAX) },
    }),
  ]);
  expect(decodeEntries(appendToLog(line(1), long))).toHaveLength(1);
});
