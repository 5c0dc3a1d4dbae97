import fc from "fast-check";
import { expect, test } from "vitest";
import { event } from "../../test/support/producer-world.ts";
import { fixedGroups, perEntity, perTenant } from "./group-strategy.ts";

test("any name becomes a group id that SQS accepts, and two names never share one (G2)", () => {
  const name = fc.oneof(
    fc.string({ minLength: 1, maxLength: 300, unit: "grapheme" }),
    fc.string({ minLength: 1 }).map((text) => `h:${text}`),
  );
  fc.assert(
    fc.property(name, name, (one, two) => {
      const [first, second] = [one, two].map((each) => perEntity(() => each)(event("k")));
      expect(first).toMatch(/^[!-~]{1,128}$/);
      expect(first === second).toBe(one === two);
    }),
  );
});

test("a valid name is its own group id", () => {
  expect(perTenant(({ source }) => source)(event("k"))).toBe("kfm.remote-sensing.landsat");
});

test("fixedGroups makes the requested number of groups, and an event keeps its group", () => {
  const strategy = fixedGroups(4);
  const ids = Array.from({ length: 200 }, (_, n) => strategy(event(`k${n}`)));
  expect(new Set(ids)).toEqual(new Set(["group-0", "group-1", "group-2", "group-3"]));
  expect(strategy(event("k7"))).toBe(ids[7]);
});

test("an empty name and an invalid number of groups are rejected", () => {
  expect(() => perEntity(() => "")(event("k"))).toThrow("returned no group");
  for (const count of [0, 1.5, -1, Number.NaN]) {
    expect(() => fixedGroups(count)).toThrow(
      expect.objectContaining({ code: "TG_CONFIG_INVALID" }),
    );
  }
});
