import { expect, test } from "vitest";
import { assert, InvariantError, present, unreachable } from "./assert.ts";
import { ERROR_CODES, reasonOf, TidegateError } from "./errors.ts";

test("every code says whether to retry and has a hint (E2)", () => {
  for (const [code, entry] of Object.entries(ERROR_CODES)) {
    expect(code).toMatch(/^TG_[A-Z]+(?:_[A-Z]+)*$/);
    expect(["never", "later"]).toContain(entry.retry);
    expect(entry.hint).toMatch(/^[A-Z].*\.$/);
    expect([code, entry.hint.match(/--[a-z]/g)]).toEqual([code, null]);
  }
});

test("an error carries its code, verdict, hint and cause", () => {
  const cause = new Error("disk is full");
  const error = new TidegateError("TG_STORE_UNAVAILABLE", "cannot commit", { cause });
  expect(error).toMatchObject({ name: "TidegateError", code: "TG_STORE_UNAVAILABLE", cause });
  expect(error.retry).toBe("later");
  expect(error.hint).toBe(ERROR_CODES.TG_STORE_UNAVAILABLE.hint);
  expect("cause" in new TidegateError("TG_CLOSED", "late")).toBe(false);
  const hint = "Choose another window.";
  expect(new TidegateError("TG_REPLAY_REFUSED", "empty", { hint }).hint).toBe(hint);
});

test("a broken invariant has its own error class, which no handler mistakes for a failure", () => {
  expect(() => assert(false, "heads match")).toThrow(InvariantError);
  expect(() => assert(true, "heads match")).not.toThrow();
  expect(() => present(null, "the queue")).toThrow("invariant broken: the queue is missing");
  expect(present(0, "the count")).toBe(0);
  expect(() => unreachable("x" as never)).toThrow('unreachable value "x"');
});

test("reasonOf accepts any thrown value, and an AggregateError lists all its reasons", () => {
  expect(reasonOf(new Error("disk is full"))).toBe("disk is full");
  expect(reasonOf("no")).toBe("no");
  const refused = ["::1", "127.0.0.1"].map((address) => new Error(`${address} refused`));
  expect(reasonOf(new AggregateError(refused))).toBe("::1 refused; 127.0.0.1 refused");
});
