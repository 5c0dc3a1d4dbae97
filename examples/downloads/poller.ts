// The poller: registers the files of a batch, and sends a message for each. It may be killed and
// started again at any time: the batch stays the same, and no file is sent twice.
//   node poller.ts 2026-02-28

import { SQSClient } from "@aws-sdk/client-sqs";
import { openSqsQueue } from "tidegate/aws/sqs";
import { createBatches } from "tidegate/produce";
import { createSqliteLedger, createSqliteOutbox } from "tidegate/stores/sqlite";
import type { RemoteFile } from "./files.ts";

const batch = process.argv[2] ?? "2026-02-28";
const server = process.env.DOWNLOADS_URL ?? "http://127.0.0.1:4700";
const path = process.env.DOWNLOADS_DB ?? "downloads.db";

const files = (await (await fetch(`${server}/batches/${batch}`)).json()) as RemoteFile[];
const client = new SQSClient({});
const target = await openSqsQueue({ client, queue: "data-download-queue.fifo" });
const outbox = createSqliteOutbox({ path });
const ledger = createSqliteLedger({ path });
const batches = createBatches(
  { outbox, ledger, target },
  {
    scope: { pipeline: "downloads", generation: 0 },
    groups: ({ dedupeKey }) => dedupeKey, // One group per file: files are independent.
    owner: "poller",
  },
);
const result = await batches.register(
  batch,
  files.map(({ FileID, Entity }) => ({ key: FileID, body: { FileID, Entity, BatchID: batch } })),
);
if (result.kind === "conflict") console.log(`${batch} was registered with other files`);
else console.log(`${batch}: ${files.length} files, ${result.added} new, ${result.sent} sent`);
await outbox.close();
await ledger.close();
client.destroy();
