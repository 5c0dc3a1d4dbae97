import { pipeline, tables } from "tidegate";
import { z } from "zod";

export default pipeline({
  name: "orders",
  source: { bucket: "shop", prefix: "orders/" },
  schema: z.object({ id: z.string(), amount: z.coerce.number() }),
  sink: tables({
    orders: { columns: { id: "text", amount: "real" }, key: ["id"] },
  }),
  async handler(file, { upsert }) {
    for await (const { id, amount } of file.rows()) upsert("orders", { id, amount });
  },
});
