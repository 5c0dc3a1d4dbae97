import { expect, test } from "vitest";
import { asRecordKey } from "../../ledger/record-state.ts";
import { createRecentKeys } from "./recent-keys.ts";

const keyOf = (n: number) => asRecordKey(`k1:${n}`);

test("the newest key is always remembered, and never more keys than the bound (G1)", () => {
  const recent = createRecentKeys(16);
  const keys = Array.from({ length: 200 }, (_, at) => keyOf(at));
  for (const key of keys) {
    recent.add(key);
    expect(recent.has(key)).toBe(true);
    expect(keys.filter((each) => recent.has(each)).length).toBeLessThanOrEqual(16);
  }
});

test("most of as many keys as a sixteenth of the bound are remembered, and no other key", () => {
  const recent = createRecentKeys(65_536);
  const added = Array.from({ length: 4_096 }, (_, at) => keyOf(at));
  for (const key of added) recent.add(key);
  expect(added.filter((key) => recent.has(key)).length).toBeGreaterThan(3_900);
  for (let n = 4_096; n < 50_000; n += 1) expect(recent.has(keyOf(n))).toBe(false);
});
