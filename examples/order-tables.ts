import { pipeline, tables } from "tidegate";

const sink = tables({
  orders: {
    columns: { id: "text", customer: "text", total: "real", paid: "boolean" },
    key: ["id"],
  },
  order_lines: {
    columns: { order_id: "text", line: "integer", article: "text", pieces: "integer" },
    key: ["order_id", "line"],
  },
});

export default pipeline({
  name: "orders",
  source: { bucket: "orders" },
  sink,
  async handler(event, { upsert }) {
    const { id, customer, total, lines } = JSON.parse(await event.text());
    upsert("orders", { id, customer, total });
    for (const [line, { article, pieces }] of lines.entries()) {
      upsert("order_lines", { order_id: id, line, article, pieces });
    }
  },
});
