import { expect, test } from "vitest";
import { parseUuid } from "../../core/encoding/uuid.ts";
import { epochMs } from "../../core/units.ts";
import { recordRandom } from "./record-random.ts";

const AT = epochMs(1_700_000_000_123);
const NONE = { parameters: {}, models: {}, lookups: {} };
const of = (seed: string, identity: string, name = "shop") =>
  recordRandom({ name, frozen: { ...NONE, seed } }, { identity, eventTime: AT });

test("the same record, seed and pipeline give the same values in the same order (Q1, Q3)", () => {
  const draw = ({ now, random, uuid }: ReturnType<typeof of>) =>
    [now(), random(), uuid(), random(), uuid()] as const;
  const first = draw(of("1", "k"));
  expect(draw(of("1", "k"))).toEqual(first);
  expect(first[0]).toBe(AT);
  for (const other of [of("2", "k"), of("1", "l"), of("1", "k", "stock")]) {
    const drawn = draw(other);
    for (const at of [1, 2, 3, 4] as const) expect(drawn[at]).not.toBe(first[at]);
  }
});

test("a UUID does not depend on how many fractions were drawn, and starts with the time (Q2)", () => {
  const [one, two] = [of("1", "k"), of("1", "k")];
  two.random();
  const id = two.uuid();
  expect(id).toBe(one.uuid());
  expect(parseUuid(id)).toMatchObject({ timeMs: AT, version: 8 });
  expect(one.random()).toBe(of("1", "k").random());
});

test("fractions spread over [0, 1), also across records", () => {
  const all = Array.from({ length: 2_000 }, (_, at) => of("", `record-${at}`).random());
  expect(all.every((each) => each >= 0 && each < 1)).toBe(true);
  const mean = all.reduce((sum, each) => sum + each, 0) / all.length;
  expect(mean).toBeGreaterThan(0.45);
  expect(mean).toBeLessThan(0.55);
  expect(new Set(all).size).toBe(all.length);
});
