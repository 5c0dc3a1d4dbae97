import { SQSClient } from "@aws-sdk/client-sqs";
import { openSqsQueue } from "tidegate/aws/sqs";
import { createBatches } from "tidegate/produce";
import { createSqliteLedger, createSqliteOutbox } from "tidegate/stores/sqlite";

const path = process.env.DOWNLOADS_DB ?? "downloads.db";
const outbox = createSqliteOutbox({ path });
const ledger = createSqliteLedger({ path }); // the ledger of the consuming pipeline
const target = await openSqsQueue({ client: new SQSClient({}), queue: "data-download-queue.fifo" });

const batches = createBatches(
  { outbox, ledger, target },
  { scope: { pipeline: "downloads", generation: 0 }, groups: ({ dedupeKey }) => dedupeKey },
);
const result = await batches.register("2026-02-28", [
  { key: "accounts-2026-02-28", body: { FileID: "accounts-2026-02-28", Entity: "accounts" } },
]);
console.log(result.kind); // registered, or conflict
await outbox.close();
await ledger.close();
