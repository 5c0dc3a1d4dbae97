// The pipeline of the data folders in test/fixtures/stores. Of its files, `poison` is parked, `retry`
// has failed and waits, and `slow` is in progress when its process is killed.

import { PermanentError, pipeline, RetryLater, tables } from "tidegate";

const LATER_MS = 3_600_000;

export default pipeline({
  name: "orders",
  source: { bucket: "orders", prefix: "in/" },
  format: "csv",
  lease: "ledger", // So that the file in progress has a claim.
  visibilityMs: 10_000,
  sink: tables({ orders: { columns: { id: "text", amount: "integer" }, key: ["id"] } }),
  async handler(file, { upsert }) {
    const name = file.object?.key ?? "";
    if (process.env.REPAIRED === undefined) {
      if (name.includes("poison")) throw new PermanentError("the file is poison");
      if (name.includes("retry")) throw new RetryLater(LATER_MS);
      if (name.includes("slow")) await new Promise(() => {});
    }
    for await (const { id = "", amount } of file.rows()) {
      upsert("orders", { id, amount: Number(amount) });
    }
  },
});
