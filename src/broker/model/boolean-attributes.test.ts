// Boolean attributes.

import { expect, test } from "vitest";
import { lowerBooleans } from "./boolean-attributes.ts";

const NAMES = new Set(["FifoQueue"]);

test.each(["True", "TRUE", "true"])("%s is read as true and returned in lower case", (value) => {
  expect(lowerBooleans({ FifoQueue: value, Policy: value }, NAMES)).toEqual({
    FifoQueue: "true",
    Policy: value,
  });
});

test("a value that is not a boolean stays as the client sent it", () => {
  expect(lowerBooleans({ FifoQueue: "Yes" }, NAMES)).toEqual({ FifoQueue: "Yes" });
});
