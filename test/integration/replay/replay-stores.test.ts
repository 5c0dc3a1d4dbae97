// Replay by its commands on other stores and servers: PostgreSQL, and DynamoDB Local with moto. The
// records come from a backfill.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { SQS } from "@aws-sdk/client-sqs";
import { expect, test } from "vitest";
import { startCloud } from "../../../src/cloud/start-cloud.ts";
import { useForeignServer } from "../../support/foreign/foreign-servers.ts";
import {
  ANY_CREDENTIALS,
  createDynamoLedger,
  postgresOrders,
  type ReplayStores,
  replayCommands,
  sqliteOrders,
} from "../../support/replay-commands.ts";
import { createS3Client } from "../../support/s3-buckets.ts";
import { useDynamo, usePostgres } from "../../support/stores/database-servers.ts";
import { useTemporaryFolder } from "../../support/temporary-folder.ts";

const folder = useTemporaryFolder("replay-stores");
const postgres = await usePostgres();
const moto = await useForeignServer("moto");
const dynamo = await useDynamo();
const HOUR_MS = 3_600_000;

const sourceOf = (bucket: string, factor: number) => `import { pipeline, tables } from "tidegate";
export default pipeline({
  name: "${bucket}",
  source: { bucket: "${bucket}", queue: "${bucket}-events" },
  format: "csv",
  sink: tables({ orders: { columns: { id: "text", amount: "integer" }, key: ["id"] } }),
  async handler(file, { upsert }) {
    for await (const { id, amount } of file.rows()) {
      upsert("orders", { id, amount: Number(amount) * ${factor} });
    }
  },
});
`;

async function repairDay({ endpoint, name: bucket, location, rows }: ReplayStores): Promise<void> {
  const s3 = createS3Client(endpoint);
  await s3.createBucket({ Bucket: bucket });
  const sqs = new SQS({ endpoint, region: "us-east-1", credentials: ANY_CREDENTIALS });
  await sqs.createQueue({ QueueName: `${bucket}-events` });
  for (const id of ["a", "b"]) {
    await s3.putObject({ Bucket: bucket, Key: `in/${id}.csv`, Body: `id,amount\n${id},1\n` });
  }
  const file = join(folder, `${bucket}.ts`);
  const { cli } = replayCommands({ endpoint, location });
  writeFileSync(file, sourceOf(bucket, 2));
  const until = new Date(Date.now() + HOUR_MS).toISOString();
  const ingested = await cli("backfill", file, "--until", until);
  expect([ingested.code, ingested.err]).toEqual([0, ""]);
  expect(await rows()).toEqual(["a=2", "b=2"]);

  writeFileSync(file, sourceOf(bucket, 1));
  const to = new Date().toISOString();
  const words = ["replay", file, "--from", "2020-01-01", "--to", to];
  const [plan] = (await cli(...words, "--dry-run")).lines;
  expect(plan).toMatchObject({ inputs: 2, gone: [], existing: null });
  const replayed = await cli(...words);
  expect([replayed.code, replayed.err]).toEqual([0, ""]);
  const { run, state } = replayed.lines[0];
  expect([run, state]).toEqual([plan.run, "ready"]);
  const again = await cli(...words);
  expect([again.code, again.lines[0].run]).toEqual([0, run]); // The same request is the same run.
  expect((await cli("replay", "list")).lines).toMatchObject([{ run, state: "ready" }]);
  expect(await rows()).toEqual(["a=2", "b=2"]);
  const [difference] = (await cli("replay", "diff", run)).lines;
  expect(difference).toMatchObject({ added: 0, removed: 0, changed: 2 });
  expect((await cli("replay", "promote", run)).lines).toMatchObject([{ appliedObjects: 2 }]);
  expect(await rows()).toEqual(["a=1", "b=1"]);
  const twice = await cli("replay", "promote", run);
  expect([twice.code, twice.err]).toEqual([1, expect.stringContaining("was promoted before")]);
  expect((await cli("replay", "show", run)).lines).toMatchObject([{ state: "promoted" }]);
  const dropped = await cli("replay", "drop", run);
  expect([dropped.code, dropped.lines]).toEqual([0, [{ run, dropped: true }]]);
  expect(await rows()).toEqual(["a=1", "b=1"]);
}

test.skipIf(!postgres.available)(
  "a day is repaired on PostgreSQL, command by command",
  async () => {
    await using cloud = await startCloud({ port: 0 });
    const url = await postgres.freshUrl();
    await repairDay({
      endpoint: cloud.endpoint,
      name: "replay-postgres",
      location: ["--ledger", url],
      rows: postgresOrders(url),
    });
  },
  240_000,
);

test.skipIf(moto === null || !dynamo.available)(
  "a day is repaired with a ledger on DynamoDB and objects of a foreign S3",
  async () => {
    const name = `replay${Date.now()}`;
    const ledger = await createDynamoLedger(name, dynamo.endpoint);
    const path = join(folder, "orders.db");
    await repairDay({
      endpoint: moto ?? "",
      name,
      location: ["--ledger", ledger, "--tables-database", path],
      rows: sqliteOrders(path),
    });
  },
  240_000,
);
