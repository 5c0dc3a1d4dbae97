import { expect, test } from "vitest";
import { judgeSchema, pendingSteps } from "./schema-version.ts";

const RELEASE = { part: "ledger", version: 8, oldest: 7 } as const;
const stored = (version: number, readersFrom = version, writersFrom = version) => ({
  version,
  readersFrom,
  writersFrom,
});

test("a release uses its own schema, reads older ones and upgrades them before it writes (V1)", () => {
  expect(judgeSchema(null, RELEASE, "write")).toBe("missing");
  expect(judgeSchema(stored(8), RELEASE, "write")).toBe("usable");
  expect(judgeSchema(stored(7), RELEASE, "read")).toBe("outdated");
  expect(judgeSchema(stored(7), RELEASE, "write")).toBe("outdated");
  expect(() => judgeSchema(stored(6), RELEASE, "read")).toThrow(/schema 6.*from schema 7 on/);
});

test("an older release reads and writes a newer store as long as the store allows it (V1)", () => {
  expect(judgeSchema(stored(9, 7, 8), RELEASE, "write")).toBe("usable");
  expect(judgeSchema(stored(9, 8, 9), RELEASE, "read")).toBe("usable");
  expect(() => judgeSchema(stored(9, 8, 9), RELEASE, "write")).toThrow(
    "the ledger has schema 9, and this release uses schema 8; use the newer release that wrote it",
  );
  expect(() => judgeSchema(stored(9), RELEASE, "read")).toThrow(/use the newer release/);
});

test("the steps from a schema are those after it, without a gap (V2)", () => {
  const steps = [{ to: 8 }, { to: 9 }, { to: 10 }];
  expect(pendingSteps(steps, 8)).toEqual([{ to: 9 }, { to: 10 }]);
  expect(pendingSteps(steps, 10)).toEqual([]);
  expect(() => pendingSteps([{ to: 8 }, { to: 10 }], 7)).toThrow(/without a gap/);
});
