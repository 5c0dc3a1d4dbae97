import { expect, test } from "vitest";
import { startTestPipeline } from "../../../src/api/testkit.ts";
import { pipeline, tables } from "../../../src/index.ts";

const ROWS = 25_000;

const readings = pipeline({
  name: "readings",
  source: { bucket: "readings" },
  format: "csv",
  sink: tables({ readings: { columns: { id: "text", v: "integer" }, key: ["id"] } }),
  async handler(event, { upsert }) {
    for await (const { id, v } of event.rows()) upsert("readings", { id: id ?? "", v: Number(v) });
  },
});

function csv(count: number, v: number): string {
  const lines = Array.from({ length: count }, (_, index) => `r${index},${v}`);
  return `id,v\n${lines.join("\n")}\n`;
}

test("a file of more rows than fit in memory is staged and committed as one record", async () => {
  await using t = await startTestPipeline(readings);
  await t.put("big.csv", csv(ROWS, 1));
  await t.idle();
  expect(t.rows("readings")).toHaveLength(ROWS);
  await t.put("big.csv", csv(ROWS - 5, 2));
  await t.idle();
  const rows = t.rows("readings");
  expect([rows.length, new Set(rows.map(({ v }) => v))]).toEqual([ROWS - 5, new Set([2])]);
  expect(t.snapshot()).toMatchObject({ committed: 2, deadLettered: 0 });
});

test("a row that is rejected late in a large file leaves none of its rows", async () => {
  await using t = await startTestPipeline(readings);
  await t.put("bad.csv", `${csv(ROWS, 1)}last,1.5\n`);
  await t.idle();
  expect(t.rows("readings")).toEqual([]);
  expect(await t.deadLetters()).toHaveLength(1);
});
