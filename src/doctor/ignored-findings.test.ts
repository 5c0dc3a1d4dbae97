import { expect, test } from "vitest";
import { withoutIgnored } from "./ignored-findings.ts";
import type { Finding } from "./rule.ts";
import { findRule } from "./rules/all-rules.ts";

const rule = findRule("no-idempotency");

const remaining = (lines: readonly string[], line = 2) => {
  const finding = { rule, message: "m", location: { name: "a", file: "a.ts", line } } as Finding;
  return withoutIgnored([finding], (file) => (file === "a.ts" ? lines : null)).length;
};

test("a comment that names the rule, on its line or the one before, accepts a finding (I1)", () => {
  expect(
    remaining(["// tidegate-doctor-ignore TGD072: the table is idempotent", "receive()"]),
  ).toBe(0);
  expect(remaining(["", "receive() // tidegate-doctor-ignore no-idempotency"])).toBe(0);
  expect(remaining(["", "# tidegate-doctor-ignore TGD001, TGD072"])).toBe(0);
});

test("another rule, another line, or no rule accepts nothing (I2)", () => {
  expect(remaining(["// tidegate-doctor-ignore TGD073", "receive()"])).toBe(1);
  expect(remaining(["// tidegate-doctor-ignore", "receive()"])).toBe(1);
  expect(remaining(["// tidegate-doctor-ignore TGD072", "", "receive()"], 3)).toBe(1);
  expect(remaining(["", "receive()", "// tidegate-doctor-ignore TGD072"])).toBe(1);
});
