// Sends orders to the API of a shop, unsafely: the request has no idempotency key, so that the shop
// cannot tell a repeated request from a new order. `tidegate prove` shows how it fails.

import { pipeline } from "tidegate";
import { z } from "zod";

export default pipeline({
  name: "unsafe-orders",
  source: { queue: "orders" },
  schema: z.object({ order: z.string(), amount: z.number() }),

  async handler({ payload }) {
    const answer = await fetch("https://shop.example/orders", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(payload),
    });
    if (!answer.ok) throw new Error(`the shop answered ${answer.status}`);
  },
});
