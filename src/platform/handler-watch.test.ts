import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import {
  type HandlerWorld,
  installHandlerWatch,
  type OutsideRequest,
  watchHandler,
} from "./handler-watch.ts";

function createHandlerWorld() {
  const used: string[] = [];
  const requests: OutsideRequest[] = [];
  const world: HandlerWorld = {
    now: () => 1_000,
    fraction: () => 0.25,
    sleep: async () => {},
    used: (use, call) => void used.push(`${use}: ${call}`),
    fetch: async (request) => {
      requests.push(request);
      return Response.json({ answered: true });
    },
  };
  return { world, used, requests };
}

async function watching<T>(world: HandlerWorld, work: () => T): Promise<Awaited<T>> {
  const uninstall = installHandlerWatch();
  try {
    return await watchHandler(world, work);
  } finally {
    uninstall();
  }
}

test("a watched handler gets time and random values from its world, also after an await", async () => {
  const { world, used } = createHandlerWorld();
  const values = await watching(world, async () => {
    await Promise.resolve();
    return [Date.now(), new Date().toISOString(), Math.random(), crypto.randomUUID()];
  });
  expect(values).toEqual([
    1_000,
    "1970-01-01T00:00:01.000Z",
    0.25,
    "40000000-4000-4000-8000-000040000000",
  ]);
  expect(used).toEqual([
    "time: Date.now()",
    "time: new Date()",
    "random: Math.random()",
    "random: randomUUID()",
  ]);
});

test("the monotonic clock and random bytes come from the world", async () => {
  const { world, used } = createHandlerWorld();
  const values = await watching(world, () => [
    performance.now(),
    [...crypto.getRandomValues(new Uint8Array(2))],
    [...randomBytes(2)],
  ]);
  expect(values).toEqual([1_000, [64, 64], [64, 64]]);
  expect(used).toEqual([
    "time: performance.now()",
    "random: getRandomValues()",
    "random: randomBytes()",
  ]);
  expect(performance.now()).not.toBe(1_000);
});

test("an interval ticks in the world's time until it is cleared", async () => {
  const { world, used } = createHandlerWorld();
  const slept: number[] = [];
  const counting = { ...world, sleep: async (ms: number) => void slept.push(ms) };
  await watching(
    counting,
    () =>
      new Promise<void>((resolve) => {
        const ticking = setInterval(() => {
          if (slept.length < 3) return;
          clearInterval(ticking);
          resolve();
        }, 3_600_000);
      }),
  );
  expect(slept.slice(0, 3)).toEqual([3_600_000, 3_600_000, 3_600_000]);
  expect(slept.length).toBeLessThanOrEqual(4);
  expect(used).toEqual(["timer: setInterval()"]);
});

test("a date built from a given value is real and does not count as use of the time", async () => {
  const { world, used } = createHandlerWorld();
  const given = await watching(world, () => [new Date(5), new Date("2026-01-01"), Date.UTC(2026)]);
  expect(given).toEqual([new Date(5), new Date("2026-01-01"), Date.UTC(2026)]);
  expect(given[0]).toBeInstanceOf(Date);
  expect(used).toEqual([]);
});

test("unwatched code uses the real globals while a handler is watched (W1)", async () => {
  const { world, used } = createHandlerWorld();
  const uninstall = installHandlerWatch();
  const outside = Date.now();
  await watchHandler(world, async () => Date.now());
  uninstall();
  expect(outside).toBeGreaterThan(1_000_000);
  expect(used).toHaveLength(1);
});

test("fetch calls go to the world, with method, headers and body", async () => {
  const { world, requests } = createHandlerWorld();
  const answer = await watching(world, async () => {
    const init = { method: "POST", headers: { "X-Key": "k" }, body: "hello" };
    return (await fetch("https://shop.example/orders", init)).json();
  });
  expect(answer).toEqual({ answered: true });
  expect(requests).toMatchObject([
    { method: "POST", url: "https://shop.example/orders", body: "hello" },
  ]);
  expect(requests[0]?.headers["x-key"]).toBe("k");
});

test("an aborted fetch is not sent to the world", async () => {
  const { world, requests } = createHandlerWorld();
  const signal = AbortSignal.abort(new Error("the lease is lost"));
  const calling = watching(world, () => fetch("https://shop.example/orders", { signal }));
  await expect(calling).rejects.toThrow("the lease is lost");
  expect(requests).toEqual([]);
});

test("cleared timers do not fire", async () => {
  const { world } = createHandlerWorld();
  const ran: string[] = [];
  await watching(world, async () => {
    setTimeout(() => ran.push("kept"), 60_000);
    clearTimeout(setTimeout(() => ran.push("cleared"), 60_000));
    await Promise.resolve();
    await Promise.resolve();
  });
  expect(ran).toEqual(["kept"]);
});

test("removing the last watch restores every global (W3)", () => {
  const globals = () => [Date, Math.random, fetch, setTimeout, clearTimeout, console.log];
  const before = globals();
  const [first, second] = [installHandlerWatch(), installHandlerWatch()];
  expect(globals()).not.toEqual(before);
  first();
  first();
  expect(Date).not.toBe(before[0]);
  second();
  for (const [at, each] of globals().entries()) expect(each).toBe(before[at]);
});
