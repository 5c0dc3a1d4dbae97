import fc from "fast-check";
import { expect, test } from "vitest";
import { event } from "../../test/support/producer-world.ts";
import { fixedGroups, perEntity, perTenant } from "./group-strategy.ts";

test("any name becomes a group id that SQS takes, and two names never become one (G2)", () => {
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

test("a name that is fit stays as it is", () => {
  expect(perTenant(({ source }) => source)(event("k"))).toBe("kfm.remote-sensing.landsat");
});

test("fixed groups are as many as asked for, and an event keeps its own", () => {
  const strategy = fixedGroups(4);
  const ids = Array.from({ length: 200 }, (_, n) => strategy(event(`k${n}`)));
  expect(new Set(ids)).toEqual(new Set(["group-0", "group-1", "group-2", "group-3"]));
  expect(strategy(event("k7"))).toBe(ids[7]);
});

test("no name, and no sensible number of groups, is refused", () => {
  expect(() => perEntity(() => "")(event("k"))).toThrow("names no group");
  for (const count of [0, 1.5, -1, Number.NaN]) {
    expect(() => fixedGroups(count)).toThrow(
      expect.objectContaining({ code: "TG_CONFIG_INVALID" }),
    );
  }
});
