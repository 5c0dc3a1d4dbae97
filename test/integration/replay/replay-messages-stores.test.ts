// Messages replayed by the commands: with a consumer that is killed between archive and commit, on
// PostgreSQL, and on DynamoDB Local with a foreign cloud.

import { writeFileSync } from "node:fs";
import { createServer, request as send } from "node:http";
import { join } from "node:path";
import { SQS } from "@aws-sdk/client-sqs";
import { expect, test } from "vitest";
import { startCloud } from "../../../src/cloud/start-cloud.ts";
import { endOf, startCommand } from "../../support/command-process.ts";
import { useForeignServer } from "../../support/foreign/foreign-servers.ts";
import { LAPSE_MS } from "../../support/patience.ts";
import {
  ANY_CREDENTIALS,
  ANY_ENVIRONMENT,
  createDynamoLedger,
  postgresOrders,
  type ReplayStores,
  replayCommands,
  sqliteOrders,
} from "../../support/replay-commands.ts";
import { createS3Client } from "../../support/s3-buckets.ts";
import { useDynamo, usePostgres } from "../../support/stores/database-servers.ts";
import { useTemporaryFolder } from "../../support/temporary-folder.ts";

const folder = useTemporaryFolder("replay-messages-stores");
const postgres = await usePostgres();
const moto = await useForeignServer("moto");
const dynamo = await useDynamo();

const sourceOf = (name: string, factor: number) => `import { pipeline, tables } from "tidegate";
export default pipeline({
  name: "${name}",
  source: { queue: "${name}", key: (order) => order.id },
  archive: { bucket: "${name}-archive" },
  visibilityMs: ${LAPSE_MS},
  sink: tables({ orders: { columns: { id: "text", amount: "integer" }, key: ["id"] } }),
  handler({ body }, { upsert }) {
    upsert("orders", { id: body.id, amount: body.amount * ${factor} });
  },
});
`;

async function openMessages({ endpoint, name, location }: Omit<ReplayStores, "rows">) {
  const s3 = createS3Client(endpoint);
  await s3.createBucket({ Bucket: `${name}-archive` });
  const sqs = new SQS({ endpoint, region: "us-east-1", credentials: ANY_CREDENTIALS });
  const { QueueUrl } = await sqs.createQueue({ QueueName: name });
  for (const id of ["a", "b"]) {
    await sqs.sendMessage({ QueueUrl, MessageBody: JSON.stringify({ id, amount: 1 }) });
  }
  const file = join(folder, `${name}.ts`);
  const archived = async () => {
    const { Contents = [] } = await s3.listObjectsV2({ Bucket: `${name}-archive` });
    return Contents.length;
  };
  const run = ["run", file, "--metrics-port", "0", "--exit-when-idle"];
  return { file, archived, run, ...replayCommands({ endpoint, location }) };
}

async function repairMessages(stores: ReplayStores): Promise<void> {
  const { rows, name } = stores;
  const { file, start, archived, run, cli } = await openMessages(stores);
  writeFileSync(file, sourceOf(name, 2));
  expect(await endOf(start(run))).toMatchObject({ code: 0 });
  expect([await rows(), await archived()]).toEqual([["a=2", "b=2"], 2]);
  await replayAndPromote({ file, name, cli, rows });
}

/** Fixes the code, replays, compares, promotes, and reproduces the manifest. */
async function replayAndPromote({
  file,
  name,
  cli,
  rows,
}: Pick<Awaited<ReturnType<typeof openMessages>>, "file" | "cli"> &
  Pick<ReplayStores, "name" | "rows">) {
  writeFileSync(file, sourceOf(name, 1));
  const to = new Date().toISOString();
  const manifests = join(folder, `${name}-manifests`);
  const words = ["replay", file, "--from", "2020-01-01", "--to", to, "--manifest-dir", manifests];
  const replayed = await cli(...words);
  expect([replayed.code, replayed.err.includes("TG_")]).toEqual([0, false]);
  const { run, state, inputs } = replayed.lines[0];
  expect([state, inputs]).toEqual(["ready", 2]);
  const [difference] = (await cli("replay", "diff", run)).lines;
  expect(difference).toMatchObject({ added: 0, removed: 0, changed: 2 });
  expect((await cli("replay", "promote", run)).lines).toMatchObject([{ messages: 2 }]);
  expect(await rows()).toEqual(["a=1", "b=1"]);
  const manifest = join(manifests, run, "run_manifest.json");
  const reproduced = await cli("reproduce", manifest, "--pipeline", file);
  expect([reproduced.code, reproduced.lines[0]?.records]).toEqual([0, 2]);
}

/** Forwards requests; after a PUT is done, calls `onPut` instead of answering. */
async function startProxy(endpoint: string, onPut: () => void) {
  const server = createServer((incoming, reply) => {
    const { method, url, headers } = incoming;
    const outgoing = send(`${endpoint}${url}`, { method, headers }, (answer) => {
      answer.resume();
      answer.on("end", () => {
        if (method === "PUT") onPut();
        reply.destroy();
      });
    });
    incoming.pipe(outgoing);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  return { url: `http://127.0.0.1:${port}`, close: () => server.close() };
}

test("a consumer killed between archive and commit commits once, and its messages can be replayed", async () => {
  await using cloud = await startCloud({ port: 0 });
  const { endpoint } = cloud;
  const path = join(folder, "killed.db");
  const name = "killed";
  const stores = { endpoint, name, location: ["--ledger", `sqlite:${path}`] };
  const { file, start, archived, run, cli } = await openMessages(stores);
  writeFileSync(file, sourceOf(name, 2));
  const killed = { kill: () => {} };
  const proxy = await startProxy(endpoint, () => killed.kill());
  const servers = { AWS_ENDPOINT_URL_SQS: endpoint, AWS_ENDPOINT_URL_S3: proxy.url };
  const first = startCommand([...run, ...stores.location], {
    env: { ...ANY_ENVIRONMENT, ...servers },
  });
  killed.kill = () => void first.child.kill("SIGKILL");
  expect(await first.ended).toMatchObject({ signal: "SIGKILL" });
  proxy.close();
  expect([await sqliteOrders(path)(), (await archived()) > 0]).toEqual([[], true]);
  const second = start(["run", file, "--metrics-port", "0"]);
  await expect.poll(sqliteOrders(path)).toEqual(["a=2", "b=2"]);
  second.child.kill("SIGTERM");
  await second.ended;
  expect(await archived()).toBe(2);
  await replayAndPromote({ file, name, cli, rows: sqliteOrders(path) });
});

test.skipIf(!postgres.available)(
  "archived messages are replayed and promoted on PostgreSQL",
  async () => {
    await using cloud = await startCloud({ port: 0 });
    const url = await postgres.freshUrl();
    await repairMessages({
      endpoint: cloud.endpoint,
      name: "kept-postgres",
      location: ["--ledger", url],
      rows: postgresOrders(url),
    });
  },
  240_000,
);

test.skipIf(moto === null || !dynamo.available)(
  "archived messages are replayed with a ledger on DynamoDB, a foreign queue and a foreign bucket",
  async () => {
    const name = `kept${Date.now()}`;
    const ledger = await createDynamoLedger(name, dynamo.endpoint);
    const path = join(folder, "orders.db");
    const location = ["--ledger", ledger, "--tables-database", path];
    await repairMessages({ endpoint: moto ?? "", name, location, rows: sqliteOrders(path) });
  },
  240_000,
);
