// Write old stores: runs the code of an earlier commit, and stores what it wrote in test/fixtures/stores.
// Later releases have to open these files (test/integration/upgrade). Give it a checkout of the commit
// with node_modules:
//
//   git worktree add --detach ../old COMMIT && ln -s "$PWD/node_modules" ../old/node_modules
//   npm run old-stores ../old NAME

import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
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

const folder = mkdtempSync(join(tmpdir(), "tidegate-old-stores-"));
await writeSqlite(folder);
await writePostgres();
await writeDynamo();
rmSync(folder, { recursive: true });
