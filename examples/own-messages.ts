import { pipeline, tables } from "tidegate";

interface Job {
  FileID: string;
  Entity: string;
  BatchID: number;
}

export default pipeline({
  name: "downloads",
  source: { queue: "data-download-queue.fifo", key: (job: Job) => job.FileID },
  sink: tables({ job: { columns: { id: "text", entity: "text" }, key: ["id"] } }),
  handler: ({ body }, { upsert }) => upsert("job", { id: body.FileID, entity: body.Entity }),
});
