import { expect, test } from "vitest";
import { createSeededRandom } from "../../core/seeded-random.ts";
import { drawSchedule, type Point, pairs, singles } from "./proof-schedule.ts";

function points(...kinds: Point["kind"][]): Point[] {
  return kinds.map((kind, at) => ({ number: at + 1, kind, what: kind }));
}

test("every point gets every fault that it can have", () => {
  const schedules = singles(points("start", "call", "ack")).map(([each]) => each);
  expect(schedules.filter((each) => each?.point === 2).map((each) => each?.how)).toEqual([
    "answer-lost",
    "crash-after",
    "crash-before",
    "fails",
    "duplicate",
    "stall",
  ]);
  expect(new Set(schedules.map((each) => each?.point))).toEqual(new Set([1, 2, 3]));
});

test("of a thousand rows eight get faults, among them the first and the last (S3)", () => {
  const rows = points(...Array.from({ length: 1_000 }, () => "row" as const));
  const faulty = new Set(singles(rows).map(([each]) => each?.point ?? 0));
  expect(faulty.size).toBe(8);
  expect(faulty).toContain(1);
  expect(faulty).toContain(1_000);
});

test("pairs inject two faults, the second one later, and there are at most as many as requested", () => {
  const two = pairs(points("start", "call", "end"), 12, createSeededRandom("pairs"));
  expect(two).toHaveLength(12);
  for (const [first, second] of two) expect(second?.point).toBeGreaterThan(first?.point ?? 0);
});

test("a seed always draws the same schedule, in order and without repeated points", () => {
  for (let seed = 1; seed <= 50; seed += 1) {
    const draw = () => drawSchedule(20, createSeededRandom(`${seed}`));
    const numbers = draw().map(({ point }) => point);
    expect(draw()).toEqual(draw());
    expect(numbers).toEqual([...new Set(numbers)].sort((one, two) => one - two));
    expect(numbers.length).toBeGreaterThan(0);
  }
});
