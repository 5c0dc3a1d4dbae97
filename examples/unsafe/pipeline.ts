// Sends orders to a shop's API, in a way that is not safe: the request has no idempotency key, so
// the shop cannot tell a retry from a new order. `tidegate prove` shows what goes wrong.

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
