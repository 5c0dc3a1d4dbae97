import assert from "node:assert/strict";
import { test } from "node:test";
import { startTestPipeline } from "tidegate/testkit";
import orders from "./orders.ts";

test("a file of orders becomes rows", async () => {
  await using t = await startTestPipeline(orders);
  await t.put("orders/1.csv", "id,amount\n7,9.50\n");
  await t.idle();
  assert.deepEqual(t.rows("orders"), [{ id: "7", amount: 9.5 }]);
});

test("a file with a wrong amount becomes a dead letter", async () => {
  await using t = await startTestPipeline(orders);
  await t.put("orders/1.csv", "id,amount\n7,much\n");
  await t.idle();
  const [deadLetter] = await t.deadLetters();
  assert.equal(deadLetter?.object, "s3://shop/orders/1.csv");
  assert.deepEqual(t.rows("orders"), []);
});
