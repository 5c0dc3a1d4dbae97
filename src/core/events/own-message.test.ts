import fc from "fast-check";
import { expect, test } from "vitest";
import { checkOwnKey, KEY_ORIGINS, ownIdentities, ownIdentity } from "./own-message.ts";

const text = fc.string({ unit: "binary", maxLength: 20 });

test("identities differ whenever pipeline, origin or key differ (U1)", () => {
  const parts = fc.tuple(text, fc.constantFrom(...KEY_ORIGINS), text);
  fc.assert(
    fc.property(parts, parts, (one, two) => {
      const same = JSON.stringify(one) === JSON.stringify(two);
      expect(ownIdentity(...one) === ownIdentity(...two)).toBe(same);
    }),
  );
});

test("a valid key is kept as it is, and a whole number is its digits (U2)", () => {
  fc.assert(
    fc.property(text, (key) => {
      const checked = checkOwnKey(key);
      expect(checked).toEqual(
        key.trim() === "" ? { kind: "invalid", actual: "an empty text" } : { kind: "valid", key },
      );
    }),
  );
  expect(checkOwnKey(7)).toEqual(checkOwnKey("7"));
  expect(checkOwnKey(-0)).toEqual({ kind: "valid", key: "0" });
});

test("a key of 1,024 bytes is valid, and one of 1,025 is not", () => {
  expect(checkOwnKey("ä".repeat(512)).kind).toBe("valid");
  expect(checkOwnKey(`${"ä".repeat(512)}a`).kind).toBe("invalid");
});

test("the identities of a key include that of each origin", () => {
  for (const origin of KEY_ORIGINS) {
    expect(ownIdentities("p", "a")).toContain(ownIdentity("p", origin, "a"));
  }
  expect(ownIdentities("p", "\ud800")).toEqual([]);
});
