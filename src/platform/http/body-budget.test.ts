import { expect, test } from "vitest";
import { BodyBudget, BodyBudgets, ClientRate } from "./body-budget.ts";

function createWaiter(budget: BodyBudget, bytes: number) {
  const state = { isAdmitted: false };
  const body = budget.wait(bytes, () => {
    state.isAdmitted = true;
  });
  return { state, body };
}

test("a body is admitted as a whole, and waits if it does not fit (A1)", () => {
  const budget = new BodyBudget(100);
  expect(budget.tryAdmit(60)).toBe(true);
  expect(budget.tryAdmit(60)).toBe(false);
  const { state } = createWaiter(budget, 60);
  expect([state.isAdmitted, budget.isContended]).toEqual([false, true]);
  budget.release(60);
  expect([state.isAdmitted, budget.isContended, budget.usedBytes]).toEqual([true, false, 60]);
});

test("bodies are admitted in order of arrival, even if a later one would fit (A3)", () => {
  const budget = new BodyBudget(100);
  budget.tryAdmit(60);
  const first = createWaiter(budget, 60);
  const second = createWaiter(budget, 10);
  expect([budget.tryAdmit(10), first.state.isAdmitted, second.state.isAdmitted]).toEqual([
    false,
    false,
    false,
  ]);
  budget.release(60);
  expect([first.state.isAdmitted, second.state.isAdmitted]).toEqual([true, true]);
});

test("a body whose client disconnects no longer holds up the ones behind it", () => {
  const budget = new BodyBudget(100);
  budget.tryAdmit(60);
  const first = createWaiter(budget, 90);
  const second = createWaiter(budget, 40);
  if (first.body !== null) budget.cancel(first.body);
  expect([first.state.isAdmitted, second.state.isAdmitted]).toEqual([false, true]);
});

test("the number of waiting bodies is limited (A3)", () => {
  const budget = new BodyBudget(100);
  budget.tryAdmit(100);
  const bodies = Array.from({ length: 300 }, () => budget.wait(1, () => {}));
  expect(bodies.filter((body) => body !== null)).toHaveLength(256);
});

test("a body that is longer than the whole budget is admitted alone (A5)", () => {
  const budget = new BodyBudget(100);
  expect(budget.tryAdmit(500)).toBe(true);
  expect(budget.tryAdmit(1)).toBe(false);
});

test("long bodies and uploads do not take the budget of ordinary ones (A6)", () => {
  const budgets = new BodyBudgets();
  const long = budgets.forBody(8 * 1_024 ** 2);
  while (long.tryAdmit(8 * 1_024 ** 2));
  while (budgets.forStreams.tryAdmit(256 * 1_024));
  expect(budgets.forBody(1_024 ** 2).tryAdmit(1_024 ** 2)).toBe(true);
});

test("a client is slow if a window brings too few bytes, however many came before (A4)", () => {
  const rate = new ClientRate();
  expect(rate.isSlow(99_999, 0)).toBe(false); // Nothing has started yet.
  rate.start(0);
  expect(rate.isSlow(1_999, 0)).toBe(false);
  expect(rate.isSlow(2_000, 1_000_000)).toBe(false);
  expect(rate.isSlow(4_000, 1_016_384)).toBe(false);
  expect(rate.isSlow(6_000, 1_016_385)).toBe(true);
});
