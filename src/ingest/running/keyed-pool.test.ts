import fc from "fast-check";
import { expect, test } from "vitest";
import { createKeyedPool } from "./keyed-pool.ts";

interface Started {
  readonly lane: string;
  readonly at: number;
  finish(then: "next" | "halt"): Promise<void>;
}

function world(total: number, perGroup: number) {
  const started: Started[] = [];
  const skipped: string[] = [];
  const running = new Map<string, number>();
  let most = 0;
  let mostOfOne = 0;
  const lanes = createKeyedPool({ total, perGroup, onFree: () => undefined });
  const add = (lane: string, at: number) =>
    lanes.add(lane, {
      run() {
        running.set(lane, (running.get(lane) ?? 0) + 1);
        most = Math.max(most, lanes.running);
        mostOfOne = Math.max(mostOfOne, running.get(lane) ?? 0);
        return new Promise((resolve) => {
          const finish = async (then: "next" | "halt") => {
            running.set(lane, (running.get(lane) ?? 0) - 1);
            resolve(then);
            await new Promise((next) => setImmediate(next));
          };
          started.push({ lane, at, finish });
        });
      },
      skip: () => void skipped.push(`${lane}${at}`),
    });
  return { lanes, add, started, skipped, most: () => most, mostOfOne: () => mostOfOne };
}

test("no more run than the limits say, each lane in order, and everything runs (N1, N2)", async () => {
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
        for (let seen = 0; ; ) {
          open.push(...started.slice(seen));
          seen = started.length;
          if (open.length === 0) break;
          const [next] = open.splice(Number(picks.next().value) % open.length, 1);
          await next?.finish("next");
        }
        expect(started).toHaveLength(names.length);
        expect(most()).toBeLessThanOrEqual(total);
        expect(mostOfOne()).toBeLessThanOrEqual(perGroup);
        for (const lane of ["a", "b", "c"]) {
          const order = started.filter((each) => each.lane === lane).map(({ at }) => at);
          expect(order).toEqual(order.toSorted((left, right) => left - right));
        }
      },
    ),
    { numRuns: 60 },
  );
});

test("a lane that halts skips what waits in it, in order, and leaves the others alone (N4)", async () => {
  const { add, started, skipped, lanes } = world(10, 1);
  for (const at of [1, 2, 3]) add("a", at);
  for (const at of [1, 2]) add("b", at);
  expect(started.map(({ lane, at }) => `${lane}${at}`)).toEqual(["a1", "b1"]);
  await started[0]?.finish("halt");
  expect(skipped).toEqual(["a2", "a3"]);
  await started[1]?.finish("next");
  expect(started.map(({ lane, at }) => `${lane}${at}`)).toEqual(["a1", "b1", "b2"]);
  add("a", 4);
  expect(started.at(-1)).toMatchObject({ lane: "a", at: 4 });
  expect(lanes.waiting).toBe(0);
});

test("a long lane does not keep the others waiting (N3)", async () => {
  const { add, started } = world(1, 10);
  for (const at of [1, 2, 3]) add("long", at);
  add("short", 1);
  await started[0]?.finish("next");
  await started[1]?.finish("next");
  expect(started.slice(0, 3).map(({ lane }) => lane)).toContain("short");
});
