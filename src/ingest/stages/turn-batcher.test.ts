import { expect, test } from "vitest";
import { createTurnBatcher } from "./turn-batcher.ts";

const turn = { afterTurn: (work: () => void) => void setImmediate(work) };

test("requests of one turn share calls of at most max items, and get their own results (B1)", async () => {
  const calls: number[][] = [];
  const ask = createTurnBatcher<number, number>(turn, {
    max: 3,
    run: async (items) => {
      calls.push([...items]);
      return items.map((item) => item * 10);
    },
  });
  const answers = await Promise.all([1, 2, 3, 4].map(ask));
  expect(answers).toEqual([10, 20, 30, 40]);
  expect(calls).toEqual([[1, 2, 3], [4]]);
});

test("a failed item does not fail the others of its batch if splits says so (B2)", async () => {
  const ask = createTurnBatcher<number, number>(turn, {
    max: 10,
    splits: () => true,
    run: async (items) => {
      if (items.includes(2)) throw new Error("two");
      return [...items];
    },
  });
  const answers = await Promise.allSettled([1, 2, 3].map(ask));
  expect(answers.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
});

test("any other failure rejects the whole batch", async () => {
  const ask = createTurnBatcher<number, number>(turn, {
    max: 10,
    run: () => Promise.reject(new Error("down")),
  });
  const answers = await Promise.allSettled([1, 2].map(ask));
  expect(answers.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
});
