// The consumer: downloads each file, decrypts it, and writes it to S3, exactly once.

import { S3Client } from "@aws-sdk/client-s3";
import { PermanentError, pipeline } from "tidegate";
import { objects } from "tidegate/aws/s3";
import { decrypt } from "./files.ts";

interface Job {
  FileID: string;
  Entity: string;
  BatchID: string;
}

const server = process.env.DOWNLOADS_URL ?? "http://127.0.0.1:4700";
const client = new S3Client({ forcePathStyle: true });

export default pipeline({
  name: "downloads",
  source: { queue: "data-download-queue.fifo", key: (job: Job) => job.FileID },
  sink: objects({ client, bucket: "downloads" }),
  onPoison: "skip", // Files are independent: a dead-lettered one holds nothing back.
  visibilityMs: Number(process.env.DOWNLOADS_VISIBILITY_MS ?? 60_000),
  async handler({ body: job }, { emit, signal }) {
    const reply = await fetch(`${server}/files/${encodeURIComponent(job.FileID)}`, { signal });
    if (reply.status === 404) throw new PermanentError(`${job.FileID} does not exist`);
    if (!reply.ok) throw new Error(`the server answered ${reply.status}`); // Retried.
    const body = decrypt(Buffer.from(await reply.arrayBuffer()));
    emit({ key: `${job.Entity}/${job.FileID}.csv`, body, contentType: "text/csv" });
  },
});
