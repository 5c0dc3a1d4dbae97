// One pipeline file, one test, everywhere it may run: in one process with the embedded cloud, over
// HTTP with the AWS SDK, as a function of Lambda, with one task per message, and on the ledgers
// of PostgreSQL and DynamoDB. The cloud delivers a third of all messages twice.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { gzipSync } from "node:zlib";
import pg from "pg";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import example from "../../../examples/stations/pipeline.ts";
import { type LambdaSettings, lambdaHandler } from "../../../src/adapters/lambda/open-lambda.ts";
import { createProcessLauncher } from "../../../src/adapters/task/process-launcher.ts";
import { createTaskPipeline } from "../../../src/adapters/task/task-handler.ts";
import { createCloudQueue, startCloud as startPublicCloud } from "../../../src/api/cloud.ts";
import { startCloud } from "../../../src/cloud/start-cloud.ts";
import { seconds } from "../../../src/core/units.ts";
import { openOperator } from "../../../src/operate/open-operator.ts";
import { systemPorts } from "../../../src/platform/index.ts";
import type { RunSettings } from "../../../src/run/config.ts";
import { devSetup } from "../../../src/run/dev/dev-setup.ts";
import { putLocalObject } from "../../../src/run/dev/put-object.ts";
import { startDev } from "../../../src/run/dev/start-dev.ts";
import { openLedger } from "../../../src/run/open/open-ledger.ts";
import type { RunningPipeline } from "../../../src/run/run-pipeline.ts";
import { startOnAws, startPipeline } from "../../../src/run/start-pipeline.ts";
import { startEventSourceMapping } from "../../../src/testkit/lambda/start-event-source-mapping.ts";
import { useDynamo, usePostgres } from "../../support/stores/database-servers.ts";

/** A duplicate of a record in progress waits for up to one lease, which is short in a test. */
const stations = { ...example, visibilityMs: seconds(3) };

/** A pipeline that is started somehow, on any environment. */
interface World {
  readonly endpoint: string;
  readonly ledger: string;
  query(sql: string): Promise<unknown[][]>;
  idle(): Promise<void>;
  /** Deliveries so far. */
  received(): number;
  deadLetterDepth(): Promise<number | null>;
  end(): Promise<unknown>;
}

const worldOf = (running: RunningPipeline) => ({
  idle: () => running.idle(),
  received: () => running.snapshot().received,
  deadLetterDepth: () => running.deadLetterDepth(),
  end: () => running.drain(),
});

const faults = [
  { kind: "duplicate", target: { queue: "stations-events" }, probability: 0.34, seed: 7 },
] as const;
const quiet = { onLogLine: () => {}, onError: () => {} };

let data: string;
const cleanUps: (() => Promise<unknown>)[] = [];
beforeEach(() => {
  data = mkdtempSync(join(tmpdir(), "tidegate-everywhere-"));
});
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
  vi.unstubAllEnvs();
  rmSync(data, { recursive: true, force: true });
});

async function inProcess(): Promise<World> {
  const running = await startDev(stations, { data, port: 0 }, { faults, ...quiet });
  cleanUps.push(() => running.stop());
  const file = join(data, "ledger.db");
  const { endpoint } = running;
  return { ...worldOf(running), endpoint, ledger: `sqlite:${file}`, query: sqliteQuery(file) };
}

async function overHttp(settings: RunSettings & { readonly ledger: string }): Promise<World> {
  const cloud = await startCloud({ data, setup: devSetup(stations), faults });
  cleanUps.push(() => cloud.close());
  const { endpoint } = cloud;
  const at = { endpoint, queue: "stations-events", metricsPort: 0, ...settings };
  const running = await startPipeline(stations, at, quiet);
  cleanUps.push(() => running.stop());
  return { ...worldOf(running), endpoint, ledger: settings.ledger, query: queryOf(settings) };
}

/** As a function of Lambda, called by an event source mapping. */
async function onLambda(settings: LambdaSettings): Promise<World> {
  const cloud = await startPublicCloud({ data, setup: devSetup(stations), faults });
  cleanUps.push(() => cloud.close());
  const { endpoint } = cloud;
  const logger = { debug() {}, info() {}, warn() {}, error() {} };
  const handler = lambdaHandler(stations, { endpoint, logger, ...settings });
  cleanUps.push(() => handler.close());
  const options = { queue: "stations-events", batchSize: 3, timeoutMs: 20_000 };
  const mapping = await startEventSourceMapping(cloud, handler, options);
  cleanUps.push(() => mapping.stop());
  const deadLetters = createCloudQueue(cloud, { queue: "stations-dead-letters" });
  return {
    endpoint,
    ledger: settings.ledger,
    query: queryOf(settings),
    idle: () => mapping.idle(),
    received: () => mapping.invocations.flatMap(({ messageIds }) => messageIds).length,
    deadLetterDepth: async () => (await deadLetters.facts()).visible,
    async end() {
      expect(mapping.invocations.map(({ error }) => error)).toEqual(
        mapping.invocations.map(() => null),
      );
      await mapping.stop();
      await handler.close();
    },
  };
}

/** With one task per message, each a process. */
async function byTasks(settings: { readonly ledger: string }): Promise<World> {
  const cloud = await startCloud({ data, setup: devSetup(stations), faults });
  cleanUps.push(() => cloud.close());
  const { endpoint } = cloud;
  vi.stubEnv("ENDPOINT", endpoint);
  const command = join(import.meta.dirname, "../../support/stations-command.ts");
  const words = [process.execPath, "--conditions=tidegate-source", command];
  const launcher = createProcessLauncher(systemPorts.clock, {
    folder: join(data, "tasks"),
    words,
    killMs: seconds(1),
  });
  const retry = { ...stations.retry, attempts: 2, baseMs: seconds(0), capMs: seconds(1) };
  const soon = { ...stations, retry };
  const ports = { clock: systemPorts.clock, launcher };
  const tasks = createTaskPipeline(ports, soon, { whenStopping: "leave" });
  const at = { endpoint, queue: "stations-events", metricsPort: 0, ...settings };
  const running = await startOnAws(tasks.pipeline, at, quiet, { prefetch: "none" });
  cleanUps.push(() => running.stop());
  return { ...worldOf(running), endpoint, ledger: settings.ledger, query: queryOf(settings) };
}

function queryOf({ ledger, tablesDatabase }: RunSettings & { readonly ledger: string }) {
  return ledger.startsWith("postgres:")
    ? postgresQuery(ledger)
    : sqliteQuery(tablesDatabase ?? ledger.replace("sqlite:", ""));
}

function sqliteQuery(file: string) {
  return async (sql: string) => {
    const database = new DatabaseSync(file, { readOnly: true });
    const rows = database.prepare(sql).all();
    database.close();
    return rows.map((row) => Object.values(row));
  };
}

function postgresQuery(url: string) {
  return async (sql: string) => {
    const client = new pg.Client(url);
    await client.connect();
    const { rows } = await client.query({ text: sql, rowMode: "array" });
    await client.end();
    return rows as unknown[][];
  };
}

const HEAD = "station,time,temperature,humidity,wind\n";
const row = (station: string, hour: string, temperature: string) =>
  `${station},2026-03-01T${hour}:00:00Z,${temperature},50,3\n`;

async function passes(open: () => Promise<World>): Promise<void> {
  const { endpoint, ledger, query, ...world } = await open();
  const target = { endpoint, bucket: "stations" };
  const put = (name: string, body: string | Uint8Array) =>
    putLocalObject(target, `observations/${name}`, body);
  const monday =
    HEAD + row("BER01", "00", "3.5") + row("BER01", "01", "-1") + row("BER01", "02", "");

  await Promise.all([
    put("a.csv", monday),
    put("b.jsonl", `{"station":"HAM03","time":"2026-03-01T00:00:00Z","temperature":8}\n`),
    put("c.csv.gz", gzipSync(HEAD + row("SYL05", "00", "6"))),
    put("broken.csv", HEAD + row("BRE02", "00", "3") + row("BRE02", "01", "n/a")),
    put("gone.csv", HEAD + row("HEL04", "00", "1")),
  ]);
  await world.idle();
  await put("a.csv", monday);
  await put("b.jsonl", `{"station":"HAM03","time":"2026-03-01T00:00:00Z","temperature":9}\n`);
  await fetch(`${endpoint}/stations/observations/gone.csv`, { method: "DELETE" });
  await world.idle();

  expect(
    await query("SELECT station, time, temperature FROM observation ORDER BY station, time"),
  ).toEqual([
    ["BER01", "2026-03-01T00:00:00Z", 3.5],
    ["BER01", "2026-03-01T01:00:00Z", -1],
    ["BER01", "2026-03-01T02:00:00Z", null],
    ["HAM03", "2026-03-01T00:00:00Z", 9],
    ["SYL05", "2026-03-01T00:00:00Z", 6],
  ]);
  // PostgreSQL's driver tells big integers as text.
  const days =
    "SELECT station, day, CAST(count AS integer), low, high FROM station_day ORDER BY station";
  expect(await query(days)).toEqual([
    ["BER01", "2026-03-01", 2, -1, 3.5],
    ["HAM03", "2026-03-01", 1, 9, 9],
    ["SYL05", "2026-03-01", 1, 6, 6],
  ]);
  expect(world.received()).toBeGreaterThan(8);
  // A second delivery of the poison file may add a copy of its dead letter. It has one record.
  expect([1, 2]).toContain(await world.deadLetterDepth());
  await world.end();
  expect(await statsOf(ledger)).toMatchObject({ committed: 7, parked: 1 });
  expect(await statesOf(ledger)).toEqual(["committed", "parked"]);
}

async function statsOf(url: string): Promise<unknown> {
  const ledger = await openLedger(url, systemPorts);
  const [stats] = await ledger.stats();
  await ledger.close();
  return stats;
}

/**
 * The ledger's states of the corrected file and of the broken one. Both events of the corrected
 * file are listed if the first needed more than one attempt.
 */
async function statesOf(url: string): Promise<string[]> {
  const ledger = await openLedger(url, systemPorts);
  const states: string[] = [];
  for (const name of ["b.jsonl", "broken.csv"]) {
    const lives = await openOperator({ ledger }).history.find(`s3://stations/observations/${name}`);
    states.push(...new Set(lives.map(({ state }) => state)));
  }
  await ledger.close();
  return states;
}

test("the stations pipeline runs in one process with the embedded cloud", () => passes(inProcess));

test("the same file runs over HTTP with the AWS SDK", () =>
  passes(() => overHttp({ ledger: `sqlite:${join(data, "ledger.db")}` })));

test("the same file runs as a function of Lambda", () =>
  passes(() => onLambda({ ledger: `sqlite:${join(data, "ledger.db")}` })));

test("the same file runs with one task per message", () =>
  passes(() => byTasks({ ledger: `sqlite:${join(data, "ledger.db")}` })));

const postgres = await usePostgres({});
const dynamo = await useDynamo();

describe.skipIf(!postgres.available)("PostgreSQL", () => {
  test("the same file runs on a PostgreSQL ledger, with its tables there", () =>
    passes(() => overHttp({ ledger: postgres.url })));

  test("the same file runs as a function of Lambda on a PostgreSQL ledger", async () => {
    const ledger = await postgres.freshUrl();
    await passes(() => onLambda({ ledger }));
  });
});

describe.skipIf(!dynamo.available)("DynamoDB", () => {
  const url = `dynamodb://everywhere?region=eu-west-1&endpoint=${dynamo.endpoint}`;

  test("the same file runs on a DynamoDB ledger, with its tables elsewhere", () =>
    passes(() => overHttp({ ledger: url, tablesDatabase: join(data, "tables.db") })));

  test("the same file runs as a function of Lambda on a DynamoDB ledger", () =>
    passes(() => {
      const ledger = url.replace("everywhere", "everywhere-lambda");
      return onLambda({ ledger, tablesDatabase: join(data, "tables.db") });
    }));

  test("tables without a database of their own are refused at the start", async () => {
    await expect(overHttp({ ledger: url })).rejects.toMatchObject({
      code: "TG_CONFIG_INVALID",
      message: expect.stringContaining("a dynamodb ledger has none; set tablesDatabase"),
    });
  });
});
