import { expect, test } from "vitest";
import { asRecordKey } from "../../ledger/record-state.ts";
import { createRecentKeys } from "./recent-keys.ts";

test("the newest half of the bound is remembered, and never more than the bound (G1)", () => {
  const recent = createRecentKeys(10);
  const keys = Array.from({ length: 100 }, (_, at) => asRecordKey(`k${at}`));
  for (const [at, key] of keys.entries()) {
    recent.add(key);
    expect(recent.has(key)).toBe(true);
    for (const previous of keys.slice(Math.max(0, at - 4), at)) {
      expect(recent.has(previous)).toBe(true);
    }
    expect(keys.filter((each) => recent.has(each)).length).toBeLessThanOrEqual(10);
  }
});
