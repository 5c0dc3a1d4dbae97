// The same orders, sent safely: every request has the record's key as its idempotency key, which is
// the same however often the handler runs. `tidegate prove` finds no failure.

import { pipeline } from "tidegate";
import { z } from "zod";

export default pipeline({
  name: "safe-orders",
  source: { queue: "orders" },
  schema: z.object({ order: z.string(), amount: z.number() }),

  async handler({ payload }, { key, signal }) {
    const answer = await fetch("https://shop.example/orders", {
      method: "POST",
      headers: { "Content-Type": "application/json", "Idempotency-Key": key },
      body: JSON.stringify(payload),
      signal,
    });
    if (!answer.ok) throw new Error(`the shop answered ${answer.status}`);
  },
});
