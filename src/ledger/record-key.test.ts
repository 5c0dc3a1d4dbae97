import { expect, test } from "vitest";
import { recordKey } from "./record-key.ts";

test("pipelines, generations and identities each have different keys (Q1, Q2)", () => {
  const keys = [
    recordKey({ pipeline: "soil", generation: 0 }, "k1:a"),
    recordKey({ pipeline: "soil", generation: 1 }, "k1:a"),
    recordKey({ pipeline: "land", generation: 0 }, "k1:a"),
    recordKey({ pipeline: "soil", generation: 0 }, "k1:b"),
  ];
  expect(new Set(keys).size).toBe(keys.length);
  for (const key of keys) expect(key).toMatch(/^k1:[0-9a-f]{64}$/);
});

test("a record without identity or pipeline is rejected instead of sharing a key", () => {
  for (const [pipeline, identity] of [
    ["soil", ""],
    ["", "k1:a"],
  ] as const) {
    expect(() => recordKey({ pipeline, generation: 0 }, identity)).toThrow(
      expect.objectContaining({ code: "TG_VALUE_INVALID" }),
    );
  }
});
