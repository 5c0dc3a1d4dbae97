import { expect, test } from "vitest";
import { RecentWork } from "./recent-work.ts";

test("work counts in its own minute and the next, and not after that", () => {
  const work = new RecentWork();
  work.add(60_000, 5);
  work.add(119_999, 7);
  expect(work.recent(119_999)).toBe(12);
  expect(work.recent(120_000)).toBe(12);
  work.add(130_000, 1);
  expect(work.recent(179_999)).toBe(13);
  expect(work.recent(180_000)).toBe(1);
  expect(work.recent(240_000)).toBe(0);
});

test("after a pause of several minutes no earlier work counts", () => {
  const work = new RecentWork();
  work.add(0, 100);
  expect(work.recent(600_000)).toBe(0);
});
