import { pipeline, tables } from "tidegate";

export default pipeline({
  name: "orders",
  source: { bucket: "shop", prefix: "orders/" },
  sink: tables({
    orders: { columns: { id: "text", amount: "real" }, key: ["id"] },
  }),
  async handler(file, { upsert }) {
    for await (const row of file.rows()) {
      const { id, amount } = row as { id: string; amount: string };
      upsert("orders", { id, amount: Number(amount) });
    }
  },
});
