import fc from "fast-check";
import { expect, test } from "vitest";
import { createKeyedPool } from "./keyed-pool.ts";

interface Started {
  readonly group: string;
  readonly at: number;
  finish(then: "next" | "halt"): Promise<void>;
}

function world(total: number, perGroup: number) {
  const started: Started[] = [];
  const skipped: string[] = [];
  const running = new Map<string, number>();
  let most = 0;
  let mostOfOne = 0;
  const pool = createKeyedPool({ total, perGroup, onFree: () => undefined });
  const add = (group: string, at: number) =>
    pool.add(group, {
      run() {
        running.set(group, (running.get(group) ?? 0) + 1);
        most = Math.max(most, pool.running);
        mostOfOne = Math.max(mostOfOne, running.get(group) ?? 0);
        return new Promise((resolve) => {
          const finish = async (then: "next" | "halt") => {
            running.set(group, (running.get(group) ?? 0) - 1);
            resolve(then);
            await new Promise((next) => setImmediate(next));
          };
          started.push({ group, at, finish });
        });
      },
      skip: () => void skipped.push(`${group}${at}`),
    });
  return { pool, add, started, skipped, most: () => most, mostOfOne: () => mostOfOne };
}

test("the limits hold, each group starts in order, and every record runs (N1, N2)", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom("a", "b", "c"), { maxLength: 40 }),
      fc.integer({ min: 1, max: 5 }),
      fc.integer({ min: 1, max: 3 }),
      fc.infiniteStream(fc.nat()),
      async (names, total, perGroup, picks) => {
        const { add, started, most, mostOfOne } = world(total, perGroup);
        for (const [at, name] of names.entries()) add(name, at);
        const open: Started[] = [];
        for (let count = 0; ; ) {
          open.push(...started.slice(count));
          count = started.length;
          if (open.length === 0) break;
          const [next] = open.splice(Number(picks.next().value) % open.length, 1);
          await next?.finish("next");
        }
        expect(started).toHaveLength(names.length);
        expect(most()).toBeLessThanOrEqual(total);
        expect(mostOfOne()).toBeLessThanOrEqual(perGroup);
        for (const group of ["a", "b", "c"]) {
          const order = started.filter((each) => each.group === group).map(({ at }) => at);
          expect(order).toEqual(order.toSorted((left, right) => left - right));
        }
      },
    ),
    { numRuns: 60 },
  );
});

test("a group that halts skips its waiting records in order, and no other group (N4)", async () => {
  const { add, started, skipped, pool } = world(10, 1);
  for (const at of [1, 2, 3]) add("a", at);
  for (const at of [1, 2]) add("b", at);
  expect(started.map(({ group, at }) => `${group}${at}`)).toEqual(["a1", "b1"]);
  await started[0]?.finish("halt");
  expect(skipped).toEqual(["a2", "a3"]);
  await started[1]?.finish("next");
  expect(started.map(({ group, at }) => `${group}${at}`)).toEqual(["a1", "b1", "b2"]);
  add("a", 4);
  expect(started.at(-1)).toMatchObject({ group: "a", at: 4 });
  expect(pool.waiting).toBe(0);
});

test("a long group does not delay the others (N3)", async () => {
  const { add, started } = world(1, 10);
  for (const at of [1, 2, 3]) add("long", at);
  add("short", 1);
  await started[0]?.finish("next");
  await started[1]?.finish("next");
  expect(started.slice(0, 3).map(({ group }) => group)).toContain("short");
});
