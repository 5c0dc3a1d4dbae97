import assert from "node:assert/strict";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { startCloud } from "tidegate/cloud";
import { startEventSourceMapping } from "tidegate/testkit";

const setup = {
  queues: [
    { name: "orders-dead-letters" },
    { name: "orders", deadLetter: { queue: "orders-dead-letters", maxReceiveCount: 25 } },
  ],
  buckets: [{ name: "shop", notifications: [{ queue: "orders", events: ["s3:ObjectCreated:*"] }] }],
};

test("the function turns files into rows", async () => {
  const file = join(mkdtempSync(join(tmpdir(), "orders-")), "ledger.db");
  await using cloud = await startCloud({ memory: true, clock: "virtual", setup });
  Object.assign(process.env, { LEDGER: `sqlite:${file}`, AWS_ENDPOINT_URL: cloud.endpoint });
  const { handler } = await import("./handler.ts");
  await using mapping = await startEventSourceMapping(cloud, handler, { queue: "orders" });

  const body = "id,amount\n7,9.50\n";
  await fetch(`${cloud.endpoint}/shop/orders/1.csv`, { method: "PUT", body });
  await mapping.idle();
  assert.deepEqual(mapping.invocations.at(0)?.failedIds, []);
  await handler.close();

  using database = new DatabaseSync(file);
  const rows = database.prepare("SELECT id, amount FROM orders").all();
  assert.deepEqual(
    rows.map((row) => ({ ...row })),
    [{ id: "7", amount: 9.5 }],
  );
});
