import { pipeline, tables } from "tidegate";

export default pipeline({
  name: "downloads",
  source: { queue: "downloads", key: (body: { FileID: string }) => body.FileID },
  timeoutMs: 3 * 3_600_000,
  sink: tables({
    downloads: { columns: { file: "text", bytes: "integer" }, key: ["file"] },
  }),
  handler() {
    throw new Error("this pipeline runs a command; use tidegate task or tidegate dispatch");
  },
});
