import { describe, expect, test } from "vitest";
import type { MetricTable } from "../ports/telemetry.ts";
import { createMetricRegistry, SERIES_MAX } from "./metric-registry.ts";

const TABLE = {
  plain: { name: "plain_total", kind: "counter", help: "Plain.", labels: [] },
  two: { name: "two_total", kind: "counter", help: "Two.", labels: ["a", "b"] },
  level: { name: "level", kind: "gauge", help: "Level.", labels: ["a"] },
  spread: { name: "spread", kind: "histogram", help: "Spread.", labels: [], buckets: [1, 2] },
} as const satisfies MetricTable;

function setUp() {
  const mistakes: string[] = [];
  const registry = createMetricRegistry([TABLE], (message) => mistakes.push(message));
  const seriesOf = (name: string) =>
    registry.families().find(({ definition }) => definition.name === name)?.series;
  return { registry, mistakes, seriesOf };
}

describe("values", () => {
  test("of one set of labels are added up, in any order of the labels", () => {
    const { registry, mistakes, seriesOf } = setUp();
    registry.count("two_total", 1, { a: "x", b: "y" });
    registry.count("two_total", 2, { b: "y", a: "x" });
    registry.count("two_total", 4, { a: "y", b: "x" });
    expect(seriesOf("two_total")).toMatchObject([
      { labelValues: ["x", "y"], value: 3 },
      { labelValues: ["y", "x"], value: 4 },
    ]);
    expect(mistakes).toEqual([]);
  });

  test("without labels exist from the start", () => {
    const { seriesOf } = setUp();
    expect(seriesOf("plain_total")).toMatchObject([{ labelValues: [], value: 0 }]);
    expect(seriesOf("spread")).toMatchObject([{ value: 0, buckets: [0, 0, 0] }]);
  });

  test("of a gauge replace each other", () => {
    const { registry, seriesOf } = setUp();
    for (const value of [3, -1.5]) registry.gauge("level", value, { a: "x" });
    expect(seriesOf("level")).toMatchObject([{ value: -1.5 }]);
  });

  test("of a histogram count in the first bucket that fits, including its bound", () => {
    const { registry, seriesOf } = setUp();
    for (const value of [-1, 1, 1.1, 2, 2.1, 1e9]) registry.record("spread", value);
    expect(seriesOf("spread")).toMatchObject([{ buckets: [2, 2, 2], value: 1e9 + 5.2 }]);
  });
});

describe("mistakes", () => {
  test.each<[string, (registry: ReturnType<typeof setUp>["registry"]) => void]>([
    ["unknown counter huh", (r) => r.count("huh", 1)],
    ["unknown gauge plain_total", (r) => r.gauge("plain_total", 1)],
    ["invalid value -1 for the counter plain_total", (r) => r.count("plain_total", -1)],
    ["invalid value NaN for the histogram spread", (r) => r.record("spread", Number.NaN)],
    ["wrong labels () for level; expected a, each a string", (r) => r.gauge("level", 1)],
    [
      "wrong labels (b) for level; expected a, each a string",
      (r) => r.gauge("level", 1, { b: "x" }),
    ],
    [
      "wrong labels (a,b) for two_total; expected a, b, each a string",
      (r) => r.count("two_total", 1, { a: "x", b: undefined as unknown as string }),
    ],
    [
      "wrong labels (a,b,c) for two_total; expected a, b, each a string",
      (r) => r.count("two_total", 1, { a: "x", b: "y", c: "z" }),
    ],
    [
      "wrong labels (a) for plain_total; expected none",
      (r) => r.count("plain_total", 1, { a: "x" }),
    ],
  ])("%s", (message, make) => {
    const { registry, mistakes, seriesOf } = setUp();
    make(registry);
    expect(mistakes).toEqual([message]);
    const values = ["plain_total", "two_total", "level", "spread"].flatMap(seriesOf);
    expect(values.map((series) => series?.value)).toEqual([0, 0]);
  });

  test("in a table fail the start: a duplicate name, buckets that do not ascend", () => {
    const ignore = () => {};
    expect(() => createMetricRegistry([TABLE, TABLE], ignore)).toThrow("declared twice");
    const bad = { ...TABLE.spread, buckets: [2, 1] };
    expect(() => createMetricRegistry([{ bad }], ignore)).toThrow("ascend");
  });
});

test("unbounded label values do not use unbounded memory, and no value is lost (R3)", () => {
  const { registry, seriesOf } = setUp();
  for (let at = 0; at < SERIES_MAX + 500; at++) {
    registry.count("two_total", 1, { a: `a${at}`, b: "x" });
  }
  registry.count("two_total", 1, { a: "a0", b: "x" });
  const series = seriesOf("two_total") ?? [];
  expect(series).toHaveLength(SERIES_MAX + 1);
  expect(series.at(-1)).toMatchObject({ labelValues: ["other", "other"], value: 500 });
  expect(series[0]).toMatchObject({ value: 2 });
});
