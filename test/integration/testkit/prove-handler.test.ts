// Typical handlers, safe and unsafe, and the result of a proof of each.

import { readFile } from "node:fs/promises";
import { get } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { pipeline, tables } from "tidegate";
import { handlerProof, type ProofReport, type ProveOptions, proveHandler } from "tidegate/testkit";
import { describe, expect, test } from "vitest";
import fixed from "../../../examples/unsafe/fixed.ts";
import unsafe from "../../../examples/unsafe/pipeline.ts";
import { isFullSize } from "../../support/full-size.ts";

type Spec = Parameters<typeof pipeline>[0];
type Handler = (event: { payload: { order: string } }, context: Context) => Promise<void> | void;
type Context = Parameters<Spec["handler"]>[1];

const ORDERS = { order: { columns: { id: "text", note: "text" }, key: ["id"] } } as const;
const SAMPLES = [{ payload: { order: "A-1" } }, { payload: { order: "A-2" } }];

function orders(handler: Handler, more: object = {}) {
  const spec = { name: "orders", source: { queue: "orders" }, sink: tables(ORDERS), ...more };
  return pipeline({ ...spec, handler: handler as never });
}

/** Random schedules, in addition to a fault at every point. */
const SEEDS = isFullSize ? 10 : 3;
const FEW = isFullSize ? SAMPLES : SAMPLES.slice(0, 1);

function prove(handler: Handler, more: object = {}, options: Partial<ProveOptions> = {}) {
  return handlerProof(orders(handler, more), { samples: FEW, seeds: SEEDS, ...options });
}

function brokenBy({ verdict, failure }: ProofReport): string {
  expect(verdict).toBe("broken");
  expect(failure?.steps.length).toBeGreaterThan(0);
  return failure?.problem ?? "";
}

const upsertOrder: Handler = ({ payload }, context) => {
  context.upsert("order" as never, { id: payload.order, note: "new" } as never);
};

const post = (headers: Record<string, string>) =>
  fetch("https://shop.example/orders", { method: "POST", headers, body: "{}" });

describe("a handler survives", () => {
  test("if its rows depend only on the record", async () => {
    const report = await prove(upsertOrder, {}, { samples: SAMPLES, seeds: 10 });
    expect(report).toMatchObject({ verdict: "survived", records: 2, failure: null, warnings: [] });
    expect(report.schedules).toBeGreaterThan(30);
  });

  test("if it takes time and randomness from its context", async () => {
    const report = await prove(({ payload }, { upsert, now, random, uuid }) => {
      const note = `${now()} ${random()} ${uuid()}`;
      upsert("order" as never, { id: payload.order, note } as never);
    });
    expect(report).toMatchObject({ verdict: "survived", warnings: [] });
  });

  test("on a FIFO queue, too", async () => {
    const report = await prove(upsertOrder, { source: { queue: "orders.fifo" } });
    expect(report.verdict).toBe("survived");
  });

  test("if its external calls contain the record's key, anywhere", async () => {
    const url = "https://shop.example/orders";
    const ways: Handler[] = [
      async (_, { key }) => void (await post({ "Idempotency-Key": key })),
      async (_, { key }) =>
        void (await fetch(`${url}/${encodeURIComponent(key)}`, { method: "PUT" })),
      async (_, { key }) => void (await fetch(url, { method: "POST", body: `{"key":"${key}"}` })),
      async ({ payload }) => void (await post({ "idempotency-key": `order ${payload.order}` })),
    ];
    for (const way of ways) expect((await prove(way)).verdict).toBe("survived");
  });

  test("if its external calls only read, however often", async () => {
    const report = await prove(async (event, context) => {
      const answer = await fetch("https://shop.example/prices");
      if (!answer.ok) throw new Error("no price");
      upsertOrder(event, context);
    });
    expect(report.verdict).toBe("survived");
  });

  test("if it waits for real work, such as reading a file", async () => {
    const report = await prove(async (event, context) => {
      await readFile(import.meta.filename);
      upsertOrder(event, context);
    });
    expect(report.verdict).toBe("survived");
  });

  test("if its sink is idempotent by key", async () => {
    const sink = async (_: readonly unknown[], { key }: { key: string }) =>
      void (await post({ "Idempotency-Key": key }));
    const emits: Handler = ({ payload }, { emit }) => emit(payload.order);
    expect((await prove(emits, { sink })).verdict).toBe("survived");
  });
});

describe("a handler breaks", () => {
  test("if it calls an external API without the key, shown in at most ten steps", async () => {
    const samples = [{ payload: { order: "A-1", amount: 1 } }];
    const report = await handlerProof(unsafe, { samples });
    expect(brokenBy(report)).toContain("POST https://shop.example/orders was sent 2 times");
    expect(report.failure?.faults).toBe(1);
    expect(report.failure?.steps.length).toBeLessThanOrEqual(10);
    expect((await handlerProof(fixed, { samples })).verdict).toBe("survived");
  });

  test("if it sends a new key every time", async () => {
    const way: Handler = async () => void (await post({ "Idempotency-Key": crypto.randomUUID() }));
    expect(brokenBy(await prove(way))).toContain("was sent 2 times");
  });

  test("if one of two requests is repeated, and the report names that one", async () => {
    const send = (path: string) => fetch(`https://shop.example/${path}`, { method: "POST" });
    const both: Handler = async () => {
      await send("first");
      await send("second");
    };
    const report = await prove(both);
    expect(brokenBy(report)).toContain("POST https://shop.example/first was sent 2 times");
    expect(report.failure?.steps.at(-1)).toBe("consumer-2 sends POST https://shop.example/first");
    const secondOnce: Handler = async (_, { attempt }) => {
      await send("first");
      if (attempt === 1) await send("second");
    };
    expect(brokenBy(await prove(secondOnce))).toContain("/first was sent 2 times");
  });

  test("if the repeated request has another URL", async () => {
    const way: Handler = async () =>
      void (await fetch(`https://shop.example/${Math.random()}`, { method: "POST" }));
    expect(brokenBy(await prove(way))).toMatch(
      /POST \S+ was sent for sample-1, but not in a run without faults, and the receiver cannot/,
    );
  });

  test("if its sink calls an external API without the key", async () => {
    const sink = async () => void (await post({}));
    const emits: Handler = ({ payload }, { emit }) => emit(payload.order);
    expect(brokenBy(await prove(emits, { sink }))).toContain("was sent 2 times");
  });

  test("if its rows contain the time or random values, with the line that read them", async () => {
    const clocked: Handler = ({ payload }, context) => {
      context.upsert("order" as never, { id: payload.order, note: `${new Date()}` } as never);
    };
    const report = await prove(clocked);
    expect(brokenBy(report)).toContain("the effects differ from a run without faults");
    expect(report.failure?.faults).toBe(0);
    expect(report.warnings.join()).toMatch(/new Date\(\) at .*prove-handler\.test\.ts:\d+/);
    const drawn: Handler = ({ payload }, context) => {
      context.upsert("order" as never, { id: payload.order, note: `${Math.random()}` } as never);
    };
    expect(brokenBy(await prove(drawn))).toContain("the effects differ");
  });

  test("if it keeps state in memory, which a crash loses", async () => {
    const processed = new Set<string>();
    const report = await prove((event, context) => {
      if (processed.has(context.key)) return;
      processed.add(context.key);
      upsertOrder(event, context);
    });
    expect(brokenBy(report)).toContain("the effects differ");
  });

  test("if a second attempt fails on leftovers of the first", async () => {
    const made = new Map<string, number>();
    const report = await prove(
      async (event, context) => {
        upsertOrder(event, context);
        const { status } = await fetch(`https://shop.example/made/${context.key}`, {
          method: "PUT",
        });
        if (status !== 200) throw new TypeError("it is there already");
      },
      {},
      {
        fetch: ({ url }) => {
          made.set(url, (made.get(url) ?? 0) + 1);
          // The undisturbed runs are the first two; from then on nothing is made twice.
          return new Response(null, { status: (made.get(url) ?? 0) > 4 ? 409 : 200 });
        },
      },
    );
    expect(brokenBy(report)).toMatch(/was dead-lettered, .*: it is there already/);
  });

  test("if it opens a socket, with the line that opened it", async () => {
    const opens: Handler = () =>
      new Promise((resolve, reject) => {
        get("http://127.0.0.1:9/", () => resolve()).on("error", reject);
      });
    const report = await prove(opens);
    expect(brokenBy(report)).toMatch(/opens a socket at .*prove-handler\.test\.ts:\d+/);
    expect(report.failure?.steps).toEqual(["consumer-1 starts attempt 1 of sample-1"]);
  });

  test("if it never returns", async () => {
    const report = await prove(() => new Promise(() => {}));
    expect(brokenBy(report)).toContain("waits for something outside the simulated world");
  });
});

describe("a report", () => {
  test("warns of time and timers that change nothing", async () => {
    const report = await prove(async (event, context) => {
      context.log("info", `it is ${Date.now()}`);
      await pause(60_000);
      await new Promise((resolve) => setTimeout(resolve, 60_000));
      upsertOrder(event, context);
    });
    expect(report.verdict).toBe("survived");
    expect(report.warnings).toHaveLength(3);
    expect(report.warnings.join()).toMatch(/Date\.now\(\) at .*prove-handler\.test\.ts:\d+/);
  });

  test("says that nothing was proved if no record is committed", async () => {
    const report = await prove(() => {
      throw new Error("no, never");
    });
    expect(report).toMatchObject({ verdict: "nothing-proved", schedules: 0 });
    expect(report.warnings[0]).toBe("sample-1 fails even without faults: no, never");
    expect((await prove(upsertOrder, {}, { samples: [] })).verdict).toBe("nothing-proved");
  });

  test("is the same every time", async () => {
    const twice = [await prove(upsertOrder), await prove(upsertOrder)];
    expect(twice[0]).toEqual(twice[1]);
  });

  test("fails a test, with the steps in the message", async () => {
    const samples = [{ payload: { order: "A-1", amount: 1 } }];
    const proving = proveHandler(unsafe, { samples });
    await expect(proving).rejects.toThrow(/breaks with one fault: .*\n\n {2}1\. consumer-1 starts/);
    await expect(proveHandler(fixed, { samples })).resolves.toMatchObject({ failure: null });
  });

  test("rejects samples of the wrong kind", async () => {
    const samples = [{ key: "a.csv", body: "" }];
    await expect(prove(upsertOrder, {}, { samples })).rejects.toThrow(
      "its samples are { payload }",
    );
  });
});
