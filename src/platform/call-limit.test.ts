import { expect, test } from "vitest";
import { durationMs } from "../core/units.ts";
import { systemCallLimit } from "./call-limit.ts";

test("a call that never returns is ended, and the next one is not affected", () => {
  const forever = () => {
    for (;;);
  };
  expect(systemCallLimit.run(durationMs(50), forever)).toBe("too-long");
  expect(systemCallLimit.run(durationMs(5_000), () => 7)).toBe(7);
});

test("what a call throws is thrown", () => {
  const thrown = new Error("no");
  const work = () => {
    throw thrown;
  };
  expect(() => systemCallLimit.run(durationMs(5_000), work)).toThrow(thrown);
});
