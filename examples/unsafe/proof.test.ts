import { test } from "node:test";
import { proveHandler } from "tidegate/testkit";
import orders from "./safe.ts";

test("an order is accepted once, whatever crashes or is repeated", async () => {
  await proveHandler(orders, {
    samples: [{ payload: { order: "A-1", amount: 12.5 } }],
    fetch: () => Response.json({ accepted: true }, { status: 201 }),
  });
});
