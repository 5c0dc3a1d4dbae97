import { expect, test } from "vitest";
import { z } from "zod";
import { startTestPipeline } from "../../../src/api/testkit.ts";
import { PermanentError, pipeline, tables } from "../../../src/index.ts";

const ITEM = { columns: { id: "text", amount: "integer" }, key: ["id"] } as const;

/** A pipeline whose schema can change while it runs, as a new release would change it. */
function items(options: { readonly name?: string; readonly mask?: readonly string[] } = {}) {
  const rules = { max: 100, fail: false };
  const amount = z.coerce.number().refine((value) => value <= rules.max, "is too much");
  const spec = pipeline({
    name: options.name ?? "items",
    source: { bucket: "shop" },
    format: "csv",
    schema: z.object({ id: z.string().min(1), amount }),
    onBadRow: "quarantine",
    mask: options.mask ?? [],
    sink: tables({ item: ITEM }),
    async handler(file, { upsert }) {
      for await (const row of file.rows()) {
        if (rules.fail) throw new PermanentError("not today", { class: "mood" });
        upsert("item", row);
      }
    },
  });
  return { rules, spec };
}

test("good rows commit, and bad rows are kept with line and reason", async () => {
  const { spec } = items();
  await using t = await startTestPipeline(spec);
  await t.put("a.csv", "id,amount\n1,10\n2,900\n3,30\n,40\n");
  await t.idle();
  expect(t.rows("item")).toEqual([
    { id: "1", amount: 10 },
    { id: "3", amount: 30 },
  ]);
  expect(await t.quarantined()).toMatchObject([
    { object: "s3://shop/a.csv", line: 3, reason: "amount: is too much", tries: 1 },
    { line: 5, row: { id: "", amount: "40" } },
  ]);
  expect(t.snapshot()).toMatchObject({ committed: 1, deadLettered: 0 });
});

test("redriven rows run on their own and join the rows of their object", async () => {
  const { rules, spec } = items();
  await using t = await startTestPipeline(spec);
  await t.put("a.csv", "id,amount\n1,10\n2,900\n3,800\n");
  await t.idle();
  rules.max = 1_000;
  await t.redriveQuarantined();
  expect(t.rows("item").map(({ id }) => id)).toEqual(["1", "2", "3"]);
  expect(await t.quarantined()).toEqual([]);
  await t.put("a.csv", "id,amount\n1,11\n"); // The next version replaces all of them.
  await t.idle();
  expect(t.rows("item")).toEqual([{ id: "1", amount: 11 }]);
});

test("a row that is rejected again stays in quarantine, and its tries are counted", async () => {
  const { rules, spec } = items();
  await using t = await startTestPipeline(spec);
  await t.put("a.csv", "id,amount\n1,10\n2,900\n3,500\n");
  await t.idle();
  rules.max = 600;
  await t.redriveQuarantined();
  expect(t.rows("item").map(({ id }) => id)).toEqual(["1", "3"]);
  expect(await t.quarantined()).toMatchObject([{ line: 3, tries: 2 }]);
  await t.redriveQuarantined();
  expect(await t.quarantined()).toMatchObject([{ line: 3, tries: 3 }]);
  rules.max = 900;
  await t.redriveQuarantined();
  expect(t.rows("item").map(({ id }) => id)).toEqual(["1", "2", "3"]);
  expect(await t.quarantined()).toEqual([]);
});

test("rows of a version that was replaced are not listed, and a redrive changes nothing", async () => {
  const { rules, spec } = items();
  await using t = await startTestPipeline(spec);
  await t.put("a.csv", "id,amount\n1,10\n2,900\n");
  await t.idle();
  await t.put("a.csv", "id,amount\n1,20\n");
  await t.idle();
  expect(await t.quarantined()).toEqual([]);
  rules.max = 1_000;
  await t.redriveQuarantined();
  expect(t.rows("item")).toEqual([{ id: "1", amount: 20 }]);
});

test("a redrive whose handler fails is a dead letter, and its rows are not lost", async () => {
  const { rules, spec } = items();
  await using t = await startTestPipeline(spec);
  await t.put("a.csv", "id,amount\n1,10\n2,900\n");
  await t.idle();
  Object.assign(rules, { max: 1_000, fail: true });
  await t.redriveQuarantined();
  expect(await t.deadLetters()).toMatchObject([{ class: "mood", object: "s3://shop/a.csv" }]);
  expect(await t.quarantined()).toHaveLength(1);
  rules.fail = false;
  expect(await t.redrive()).toMatchObject({ sent: 1, committed: 1 });
  expect(t.rows("item").map(({ id }) => id)).toEqual(["1", "2"]);
  expect(await t.quarantined()).toEqual([]);
});

test("an attempt that fails quarantines nothing", async () => {
  const { rules, spec } = items();
  rules.fail = true;
  await using t = await startTestPipeline(spec);
  await t.put("a.csv", "id,amount\n2,900\n1,10\n");
  await t.idle();
  expect(await t.quarantined()).toEqual([]);
  rules.fail = false;
  expect(await t.redrive()).toMatchObject({ committed: 1 });
  expect(await t.quarantined()).toMatchObject([{ line: 2, tries: 1 }]);
});

test("a set of many notes is redriven whole", async () => {
  const { rules, spec } = items();
  await using t = await startTestPipeline(spec);
  const long = "x".repeat(1_000);
  const bad = Array.from({ length: 500 }, (_, n) => `${long}${n},900`).join("\n");
  await t.put("a.csv", `id,amount\nfirst,1\n${bad}\n`);
  await t.idle();
  expect(await t.quarantined()).toHaveLength(500);
  rules.max = 1_000;
  await t.redriveQuarantined();
  expect(t.rows("item")).toHaveLength(501);
});

test("the reason quotes no masked value", async () => {
  const secret = pipeline({
    name: "secret",
    source: { bucket: "shop" },
    format: "csv",
    schema: z
      .object({ id: z.string() })
      .refine(() => false, { error: ({ input }) => `bad ${JSON.stringify(input)}` }),
    onBadRow: "quarantine",
    mask: ["id"],
    sink: tables({ item: ITEM }),
    async handler(file) {
      for await (const _ of file.rows());
    },
  });
  await using t = await startTestPipeline(secret);
  await t.put("a.csv", "id,amount\npersonal-number,10\n");
  await t.idle();
  const [row] = await t.quarantined();
  expect(row?.reason).toContain("bad");
  expect(row?.reason).not.toContain("personal-number");
});

test("quarantine needs objects and a schema", () => {
  const handler = () => undefined;
  const own = () =>
    pipeline({ name: "p", source: { queue: "q" }, onBadRow: "quarantine", handler });
  expect(own).toThrow('onBadRow "quarantine" applies to rows of objects');
  const bare = () =>
    pipeline({ name: "p", source: { bucket: "b" }, onBadRow: "quarantine", handler });
  expect(bare).toThrow('onBadRow "quarantine" needs a schema');
});
