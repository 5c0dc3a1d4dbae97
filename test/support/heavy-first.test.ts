import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { HEAVY, HEAVY_TOGETHER, heavyFirst } from "./heavy-first.ts";
import { IN_TURN } from "./in-turn.ts";

const inTurn = IN_TURN.map((name) => `test/integration/${name}.test.ts`);

test.each([...HEAVY, ...HEAVY_TOGETHER, ...inTurn])("%s exists (H2)", (file) => {
  expect(existsSync(join(import.meta.dirname, "../..", file))).toBe(true);
});

test("heavy files come first, and the others keep their order (H1, H3)", () => {
  const [first = "", second = ""] = HEAVY;
  const files = ["src/z.test.ts", second, "src/a.test.ts", first];
  const sorted = heavyFirst(files.map((file) => ({ moduleId: `/clone/${file}` })));
  const order = [first, second, "src/z.test.ts", "src/a.test.ts"];
  expect(sorted.map(({ moduleId }) => moduleId)).toEqual(order.map((file) => `/clone/${file}`));
});
