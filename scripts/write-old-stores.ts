// Write old stores: runs the code of an earlier commit, and stores what it wrote in test/fixtures/stores.
// Later releases have to open these files (test/integration/upgrade). Give it a checkout of the commit
// with node_modules:
//
//   git worktree add --detach ../old COMMIT && ln -s "$PWD/node_modules" ../old/node_modules
//   npm run old-stores ../old NAME

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { DescribeTableCommand, DynamoDBClient, paginateScan } from "@aws-sdk/client-dynamodb";
import { epochMs } from "../src/core/units.ts";
import { systemPorts } from "../src/platform/index.ts";
import type { Ledger } from "../src/ports/ledger.ts";
import type { Outbox } from "../src/ports/outbox.ts";
import { createManualClock } from "../test/support/manual-clock.ts";
import { FILLED_AT, fillLedger, fillOutbox } from "../test/support/old-stores/fill-stores.ts";
import { startPostgres } from "../test/support/stores/postgres-server.ts";
import { startDynamoLocal } from "./dynamodb-local.ts";

const FIXTURES = join(import.meta.dirname, "../test/fixtures/stores");

const POLL_MS = 200;
const POLLS_MAX = 600;

const [checkout, name] = process.argv.slice(2);
if (checkout === undefined || name === undefined) {
  throw new Error("usage: npm run old-stores CHECKOUT NAME");
}
const old = (path: string) => import(join(resolve(checkout), "src", path));
const clock = createManualClock(epochMs(FILLED_AT));
const ports = { ...systemPorts, clock };

async function fill(opened: { readonly ledger: Ledger; readonly outbox: Outbox }): Promise<void> {
  await fillLedger(opened.ledger, clock);
  await fillOutbox(opened.outbox);
  await opened.ledger.close();
  await opened.outbox.close();
}

function save(suffix: string, content: string | Uint8Array): void {
  writeFileSync(join(FIXTURES, `${name}.${suffix}.gz`), gzipSync(content, { level: 9 }));
}

async function writeSqlite(folder: string): Promise<void> {
  const path = join(folder, "ledger.db");
  const { createSqliteLedger } = await old("stores/sqlite/ledger/ledger.ts");
  const { createSqliteOutbox } = await old("stores/sqlite/ledger/outbox.ts");
  await fill({
    ledger: createSqliteLedger(ports, { path }),
    outbox: createSqliteOutbox(ports, { path }),
  });
  save("sqlite.db", readFileSync(path));
}

async function writePostgres(): Promise<void> {
  const server = await startPostgres({ fsync: "off" });
  if ("missing" in server) throw new Error(server.missing);
  try {
    const { createPostgresLedger } = await old("stores/postgres/ledger.ts");
    const { createPostgresOutbox } = await old("stores/postgres/outbox.ts");
    await fill({
      ledger: await createPostgresLedger(ports, { url: server.url }),
      outbox: await createPostgresOutbox(ports, { url: server.url }),
    });
    const words = ["--inserts", "--no-owner", "--no-privileges", server.url];
    const dump = spawnSync("pg_dump", words, { encoding: "utf8" });
    if (dump.status !== 0) throw new Error(dump.stderr);
    const isStatement = (line: string) => !/^(--|SET |SELECT pg_catalog|\\)/.test(line);
    const lines = dump.stdout.split("\n").filter((line) => isStatement(line) && line !== "");
    save("postgres.sql", lines.join("\n").replaceAll("public.", ""));
  } finally {
    server.stop();
  }
}

async function writeDynamo(): Promise<void> {
  const local = await startDynamoLocal();
  if ("missing" in local) throw new Error(local.missing);
  const credentials = { accessKeyId: "local", secretAccessKey: "local" };
  const at = { endpoint: local.endpoint, region: "eu-west-1", credentials };
  const client = new DynamoDBClient(at);
  try {
    const { createDynamoLedger } = await old("stores/dynamodb/ledger.ts");
    const { createDynamoOutbox } = await old("stores/dynamodb/outbox.ts");
    await fill({
      ledger: await createDynamoLedger(ports, { ...at, table: "ledger", listing: true }),
      outbox: await createDynamoOutbox(ports, { ...at, table: "outbox" }),
    });
    const tables = [];
    for (const table of ["ledger", "outbox"]) {
      const { Table } = await client.send(new DescribeTableCommand({ TableName: table }));
      const items = [];
      const pages = paginateScan({ client }, { TableName: table });
      for await (const page of pages) items.push(...(page.Items ?? []));
      const { AttributeDefinitions, KeySchema, GlobalSecondaryIndexes = [] } = Table ?? {};
      const indexes = GlobalSecondaryIndexes.map(({ IndexName, KeySchema, Projection }) => {
        return { IndexName, KeySchema, Projection };
      });
      tables.push({ table, AttributeDefinitions, KeySchema, indexes, items });
    }
    save("dynamodb.json", JSON.stringify(tables));
  } finally {
    client.destroy();
    local.stop();
  }
}

/** The commands of the commit, on a data folder. */
function startOld(words: readonly string[]): ChildProcess {
  const main = join(resolve(checkout ?? ""), "src/cli/main.ts");
  const args = ["--conditions=tidegate-source", main, ...words];
  return spawn(process.execPath, args, { cwd: checkout, stdio: ["ignore", "pipe", "inherit"] });
}

/** A data folder with a pipeline, as `kill -9` leaves it. */
async function writeFolder(folder: string): Promise<void> {
  const file = join(resolve(checkout ?? ""), "old-pipeline.ts");
  copyFileSync(join(import.meta.dirname, "../test/support/old-stores/old-pipeline.ts"), file);
  const data = join(folder, "data");
  const retention = ["--ledger-retention-days", "3650"];
  const dev = startOld([
    "dev",
    "old-pipeline.ts",
    "--data",
    data,
    "--port",
    "0",
    "--json",
    ...retention,
  ]);
  const printed = textOf(dev);
  const endpoint = await untilFound(printed, /(http:\/\/127\.0\.0\.1:\d+)/);
  const call = async (path: string, options: RequestInit = {}) => {
    const response = await fetch(`${endpoint}${path}`, options);
    const body = await response.text();
    if (!response.ok) throw new Error(`${path}: ${response.status} ${body}`);
    return body;
  };
  const names = ["one", "two", "poison", "retry", "slow"];
  for (const [nth, object] of names.entries()) {
    const body = `id,amount\n${object},${nth}\n`;
    await call(`/orders/in/${object}.csv`, { method: "PUT", body });
  }
  await untilSettled(join(data, "ledger.db"));
  const post = { method: "POST" };
  const queue = (name: string, more = "") =>
    call(`/?Action=CreateQueue&QueueName=${name}${more}`, post);
  const on = (name: string, action: string) => call(`/000000000000/${name}?Action=${action}`, post);
  await queue("extra.fifo", "&Attribute.1.Name=FifoQueue&Attribute.1.Value=true");
  for (const text of ["first", "second", "first"]) {
    const message = `MessageBody=${text}&MessageGroupId=g&MessageDeduplicationId=${text}`;
    await on("extra.fifo", `SendMessage&${message}`);
  }
  await on("extra.fifo", "ReceiveMessage&MaxNumberOfMessages=1");
  await queue("extra");
  await on("extra", "SendMessage&MessageBody=delayed&DelaySeconds=900");
  const window = ["--from", "2000-01-01T00:00:00Z", "--to", new Date().toISOString()];
  const replay = startOld(["replay", "old-pipeline.ts", ...window, "--data", data]);
  const said = textOf(replay);
  const code = await new Promise((done) => replay.on("close", done));
  if (code !== 0) throw new Error(`replay ended with ${code}: ${said()}`);
  const ended = new Promise((done) => dev.on("close", done));
  dev.kill("SIGKILL");
  await ended;
  rmSync(file);
  const archive = spawnSync("tar", ["-c", "--exclude=broker.reserve", "-C", folder, "data"], {
    maxBuffer: 64_000_000,
  });
  if (archive.status !== 0) throw new Error(archive.stderr.toString());
  save("folder.tar", archive.stdout);
}

function textOf(child: ChildProcess): () => string {
  let text = "";
  child.stdout?.on("data", (chunk) => {
    text += chunk;
  });
  return () => text;
}

async function untilFound(text: () => string, pattern: RegExp): Promise<string> {
  for (let nth = 0; nth < POLLS_MAX; nth += 1) {
    const match = pattern.exec(text());
    if (match?.[1] !== undefined) return match[1];
    await sleep(POLL_MS);
  }
  throw new Error(`not found: ${pattern} in ${text()}`);
}

/** Until two files are committed, one failed, one is parked and one is claimed. */
async function untilSettled(path: string): Promise<void> {
  for (let nth = 0; nth < POLLS_MAX; nth += 1) {
    const db = new DatabaseSync(path, { readOnly: true });
    const rows = db.prepare("SELECT state FROM ledger_record ORDER BY state").all();
    db.close();
    const states = rows.map(({ state }) => state).join(" ");
    if (states === "claimed committed committed failed parked") return;
    await sleep(POLL_MS);
  }
  throw new Error("the files are not settled");
}

const folder = mkdtempSync(join(tmpdir(), "tidegate-old-stores-"));
await writeSqlite(folder);
await writePostgres();
await writeDynamo();
await writeFolder(folder);
rmSync(folder, { recursive: true });
