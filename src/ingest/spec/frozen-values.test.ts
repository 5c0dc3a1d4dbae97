import { expect, test } from "vitest";
import { pipeline } from "./define-pipeline.ts";
import { FROZEN_CHARS_MAX, recordedValues } from "./frozen-values.ts";

const made = (frozen: object) =>
  pipeline({ name: "p", source: { queue: "q" }, handler() {}, frozen } as never);

test("frozen values are copies that no one can change (Z1)", () => {
  const parameters = { zones: ["a"] };
  const { parameters: frozen } = made({ parameters }).frozen;
  parameters.zones.push("b");
  expect(frozen).toEqual({ zones: ["a"] });
  expect(() => (frozen.zones as string[]).push("c")).toThrow(TypeError);
});

test("a run records parameters and models by value, and lookups by digest (Z2)", () => {
  const lookups = { rates: { usd: 2, eur: 1 } };
  const recorded = recordedValues(made({ seed: "7", models: { speech: "v3" }, lookups }).frozen);
  expect(recorded).toMatchObject({ seed: "7", parameters: {}, models: { speech: "v3" } });
  expect(recorded.lookups.rates).toMatch(/^[0-9a-f]{64}$/);
  const sorted = recordedValues(made({ lookups: { rates: { eur: 1, usd: 2 } } }).frozen);
  expect(sorted.lookups).toEqual(recorded.lookups);
});

test("values that are not JSON, or too large for a run, are named", () => {
  const problems: [object, string][] = [
    [{ seed: 7 }, "frozen.seed must be text of up to 256 characters"],
    [{ parameters: [] }, "frozen.parameters must be an object"],
    [{ parameters: { at: new Date(0) } }, "frozen.parameters must be JSON: "],
    [{ models: { speech: 3 } }, "frozen.models.speech must be a version, as text"],
    [{ parameters: { text: "x".repeat(FROZEN_CHARS_MAX) } }, "move large values to frozen.lookups"],
  ];
  for (const [more, problem] of problems) expect(() => made(more)).toThrow(problem);
  expect(made({ lookups: { text: "x".repeat(FROZEN_CHARS_MAX * 10) } }).name).toBe("p");
});
