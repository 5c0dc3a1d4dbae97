import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { watchUses } from "./handler-uses.ts";
import { systemClock } from "./system-clock.ts";

// The tests of this folder are files of Tidegate, so the "user's code" is made from text.
const code = (body: string) =>
  new Function("clock", `return (async () => { ${body} })(); //# sourceURL=/app/handler.ts`) as (
    clock: typeof systemClock,
  ) => Promise<unknown>;

test("calls of the clock and of random numbers are named with their place, and go through (U1)", async () => {
  const watch = watchUses();
  const before = Date.now();
  const handler = code(
    "await null; const now = Date.now(); new Date(); new Date(5); Math.random();\n return now;",
  );
  const now = (await watch.watch(() => handler(systemClock))) as number;
  expect(now).toBeGreaterThanOrEqual(before);
  expect(watch.uses().map(({ call, location }) => `${call} ${location}`)).toEqual([
    expect.stringMatching(/^Date\.now\(\) \/app\/handler\.ts:\d+$/),
    expect.stringMatching(/^new Date\(\) \/app/),
    expect.stringMatching(/^Math\.random\(\) \/app/),
  ]);
  watch.close();
});

test("calls of Tidegate itself, and of code that is not watched, do not count (U1, U3)", async () => {
  const globals = () => [Date, Math.random, crypto.randomUUID];
  const original = globals();
  const watch = watchUses();
  expect(globals()).not.toEqual(original);
  await code("Date.now()")(systemClock);
  await watch.watch(() => code("clock.now()")(systemClock));
  expect(randomUUID()).toHaveLength(36);
  expect(watch.uses()).toEqual([]);
  watch.close();
  watch.close();
  expect(globals()).toEqual(original);
});

test("a place is named once, however often it is reached (U2)", async () => {
  const watch = watchUses();
  await watch.watch(() => code("for (let at = 0; at < 9; at += 1) Math.random();")(systemClock));
  expect(watch.uses()).toHaveLength(1);
  watch.close();
});
