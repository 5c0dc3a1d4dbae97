import { test } from "node:test";
import { proveHandler } from "tidegate/testkit";
import orders from "./fixed.ts";

test("an order is sent once, whatever fails on the way", async () => {
  await proveHandler(orders, {
    samples: [{ payload: { order: "A-1", amount: 12.5 } }],
    fetch: () => Response.json({ accepted: true }, { status: 201 }),
  });
});
