import { expect, test } from "vitest";
import { startTestPipeline } from "../../../src/api/testkit.ts";
import { pipeline, sql, tables } from "../../../src/index.ts";

const TOTAL = { columns: { day: "text", amount: "integer" }, key: ["day"] } as const;

test("statements of a handler run once per record, beside thousands of staged rows", async () => {
  const orders = pipeline({
    name: "orders",
    source: { bucket: "shop" },
    format: "csv",
    sink: tables({ item: { columns: { id: "text" }, key: ["id"] }, total: TOTAL }),
    async handler(file, context) {
      let count = 0;
      for await (const { id = "" } of file.rows()) {
        context.upsert("item", { id });
        count += 1;
      }
      if (context.attempt === 1) throw new Error("once more");
      context.sql(
        `INSERT INTO total (day, amount) VALUES (?, (SELECT count(*) FROM item) + ?)
         ON CONFLICT (day) DO UPDATE SET amount = total.amount + excluded.amount`,
        ["monday", count * 1_000_000],
      );
    },
  });
  await using t = await startTestPipeline(orders);
  const ids = Array.from({ length: 12_000 }, (_, n) => String(n)).join("\n");
  await t.put("a.csv", `id\n${ids}\n`);
  await t.idle();
  expect(t.rows("total")).toEqual([{ day: "monday", amount: 12_000 * 1_000_000 + 12_000 }]);
  expect(t.snapshot()).toMatchObject({ committed: 1, retried: 1, deadLettered: 0 });
});

test("a statement that may not run is a dead letter with its reason, and nothing is written", async () => {
  const bad = pipeline({
    name: "bad",
    source: { queue: "bad" },
    sink: tables({ total: TOTAL }),
    handler(event, context) {
      context.upsert("total", { day: "x", amount: 1 });
      context.sql(String(event.payload.statement));
    },
  });
  await using t = await startTestPipeline(bad);
  await t.send({ payload: { statement: "COMMIT" } });
  await t.send({ payload: { statement: "INSERT INTO missing VALUES (1)" } });
  await t.idle();
  const letters = await t.deadLetters();
  expect(letters.map(({ message }) => message).join("\n")).toMatch(/must start with INSERT/);
  expect(letters.map(({ message }) => message).join("\n")).toMatch(/no such table: missing/);
  expect(t.rows("total")).toEqual([]);
});

test("a sink without tables runs statements only", async () => {
  const only = pipeline({
    name: "only",
    source: { queue: "only" },
    sink: sql(),
    handler: (_, context) => context.sql("SELECT ?", [new Date(0)]),
  });
  await using t = await startTestPipeline(only);
  await t.send({ payload: { id: 1 } });
  await t.idle();
  expect(t.snapshot()).toMatchObject({ committed: 1 });
});

test("a sink outside the ledger's transaction takes no statements", async () => {
  const outside = pipeline({
    name: "outside",
    source: { queue: "outside" },
    sink: () => undefined,
    handler: (_, context) => context.sql("SELECT 1"),
  });
  await using t = await startTestPipeline(outside);
  await t.send({ payload: { id: 1 } });
  await t.idle();
  const message = expect.stringContaining("sql() needs sink: tables({...}) or sql()");
  expect(await t.deadLetters()).toMatchObject([{ class: "sql", message }]);
});
