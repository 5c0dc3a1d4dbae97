// Orders that are told to a shop by its API, in a way that is not safe: the request carries nothing
// by which the shop could tell a repetition from another order. `tidegate prove` shows how it ends.

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
