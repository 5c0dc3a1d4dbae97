// The embedded cloud and a pipeline in one process; its parent starts each round.

import { type EmbeddedConfig, openEmbedded } from "./embedded-cloud.ts";

const embedded = await openEmbedded(JSON.parse(process.argv[2] ?? "") as EmbeddedConfig);
process.on("message", async (order: { readonly round: number } | "end") => {
  if (order === "end") {
    await embedded.close();
    process.exit(0);
  }
  const before = embedded.handled();
  await embedded.fill(order.round);
  const report = await embedded.round(order.round);
  const rssBytes = process.memoryUsage.rss();
  process.send?.({ ...report, rssBytes, handled: embedded.handled() - before });
});
process.send?.("ready");
