// Bad rows: each title is a row of docs/reference/bad-input.md.

import { expect, test } from "vitest";
import { z } from "zod";
import { startTestPipeline } from "../../../src/api/testkit.ts";
import { pipeline, tables } from "../../../src/index.ts";

function items(onBadRow: "fail" | "quarantine") {
  return pipeline({
    name: "items",
    source: { bucket: "shop" },
    format: "csv",
    schema: z.object({ id: z.string(), amount: z.coerce.number().max(100) }),
    onBadRow,
    sink: tables({ item: { columns: { id: "text", amount: "integer" }, key: ["id"] } }),
    async handler(file, { upsert }) {
      for await (const row of file.rows()) upsert("item", row);
    },
  });
}

test("a row that its schema rejects: the object is dead-lettered immediately, with the line", async () => {
  await using t = await startTestPipeline(items("fail"));
  await t.put("a.csv", "id,amount\n1,10\n2,900\n");
  await t.idle();
  const message = expect.stringMatching(/line 3 breaks the schema: amount: /);
  expect(await t.deadLetters()).toMatchObject([{ class: "schema", message }]);
  expect(t.rows("item")).toEqual([]);
});

test("a row that quarantines forever: kept in quarantine, and its tries are counted", async () => {
  await using t = await startTestPipeline(items("quarantine"));
  await t.put("a.csv", "id,amount\n1,10\n2,900\n");
  await t.idle();
  for (let tries = 1; tries <= 5; tries += 1) {
    expect(await t.quarantined()).toMatchObject([{ line: 3, tries }]);
    await t.redriveQuarantined();
  }
  expect(t.rows("item")).toEqual([{ id: "1", amount: 10 }]);
  await t.advance(86_400_000); // Nothing redrives by itself.
  expect(await t.quarantined()).toMatchObject([{ line: 3, tries: 6 }]);
  expect(await t.deadLetters()).toEqual([]);
});

test("more rows to quarantine than allowed: the object is dead-lettered immediately", async () => {
  await using t = await startTestPipeline(items("quarantine"));
  const bad = Array.from({ length: 10_001 }, (_, n) => `${n},900`).join("\n");
  await t.put("a.csv", `id,amount\nfirst,1\n${bad}\n`);
  await t.idle();
  const message = expect.stringContaining("more than 10000 rows break the schema");
  expect(await t.deadLetters()).toMatchObject([{ class: "schema", message }]);
  expect(t.rows("item")).toEqual([]);
  expect(await t.quarantined()).toEqual([]);
});
