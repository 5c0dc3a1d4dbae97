// Several pipelines in one process, and the commands for quarantined rows, as real processes.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { beforeEach, expect, test } from "vitest";
import { startCloud } from "../../../src/cloud/start-cloud.ts";
import { endOf, useCommands } from "../../support/command-process.ts";

const commands = useCommands("several");
const { start } = commands;

/** A row is valid if its number is at most MAX. */
function pipelineFile(name: string): string {
  return `
import { pipeline, tables } from "tidegate";
const max = Number(process.env.MAX ?? "100");
const validate = (row) =>
  Number(row.n) <= max ? { value: row } : { issues: [{ message: "is too much", path: ["n"] }] };
export default pipeline({
  name: "${name}",
  source: { bucket: "${name}", queue: "${name}-events" },
  format: "csv",
  schema: { "~standard": { version: 1, vendor: "test", validate } },
  onBadRow: "quarantine",
  mask: ["secret"],
  sink: tables({ ${name}: { columns: { n: "text" }, key: ["n"] } }),
  async handler(file, { upsert }) {
    for await (const { n } of file.rows()) upsert("${name}", { n });
  },
});
`;
}

beforeEach(() => {
  for (const name of ["red", "blue"]) {
    writeFileSync(join(commands.folder, `${name}.ts`), pipelineFile(name));
  }
});

function cloudOf() {
  const queues = ["red", "blue"].map((name) => ({ name: `${name}-events` }));
  const buckets = ["red", "blue"].map((name) => ({
    name,
    notifications: [{ queue: `${name}-events`, events: ["s3:ObjectCreated:*"] }],
  }));
  return startCloud({ memory: true, setup: { queues, buckets } });
}

async function put(endpoint: string, path: string, body: string): Promise<void> {
  expect((await fetch(`${endpoint}/${path}`, { method: "PUT", body })).status).toBe(200);
}

function rowsOf(table: string): unknown[] {
  const database = new DatabaseSync(join(commands.folder, "d", "ledger.db"), { readOnly: true });
  const rows = database.prepare(`SELECT n FROM ${table} ORDER BY n`).all();
  database.close();
  return rows.map(({ n }) => n);
}

test("one process runs several files, and ends when all of them are idle", async () => {
  await using cloud = await cloudOf();
  const { endpoint } = cloud;
  await put(endpoint, "red/a.csv", "n\n1\n2\n");
  await put(endpoint, "blue/b.csv", "n\n3\n");
  const flags = ["--json", "--data", "d", "--endpoint", endpoint, "--metrics-port", "0"];
  const ended = await endOf(start(["run", "red.ts", "blue.ts", ...flags, "--exit-when-idle"]));
  expect(ended.code, ended.err).toBe(0);
  const events = ended.out.split("\n").filter((line) => line !== "");
  const ready = events.map((line) => JSON.parse(line)).filter(({ event }) => event === "ready");
  expect(ready.map(({ pipeline, queue }) => [pipeline, queue])).toEqual([
    ["red", "red-events"],
    ["blue", "blue-events"],
  ]);
  expect(JSON.parse(events.at(-1) ?? "")).toMatchObject({ event: "progress", committed: 2 });
  expect([rowsOf("red"), rowsOf("blue")]).toEqual([["1", "2"], ["3"]]);
});

test("files that cannot share a process are rejected before anything runs", async () => {
  const twice = await endOf(start(["run", "red.ts", "./red.ts"]));
  expect(twice).toMatchObject({ code: 2, err: expect.stringContaining('the pipeline "red"') });
  const queue = await endOf(start(["run", "red.ts", "blue.ts", "--queue", "q"]));
  expect(queue).toMatchObject({ code: 2, err: expect.stringContaining("set source.queue") });
});

test("quarantined rows are listed, redriven on their own, and dropped", async () => {
  await using cloud = await cloudOf();
  const { endpoint } = cloud;
  const location = ["--data", "d", "--pipeline", "red"];
  const run = ["run", "red.ts", "--endpoint", endpoint, "--metrics-port", "0", "--data", "d"];
  const quarantine = (...words: string[]) => endOf(start(["quarantine", ...words, ...location]));
  await put(endpoint, "red/a.csv", "n,secret\n1,x\n500,confidential\n900,y\n");
  expect((await endOf(start([...run, "--exit-when-idle"]))).code).toBe(0);
  expect(rowsOf("red")).toEqual(["1"]);

  const listed = await quarantine("list", "--rows");
  expect(listed.out).toContain("s3://red/a.csv: 2 rows, quarantined, since ");
  expect(listed.out).toContain("  line 3: n: is too much\n");
  expect(listed.out).toContain('{"n":"500","secret":"***"}');
  expect(listed.out).not.toContain("confidential");
  const json = (await quarantine("list", "--json")).out.trim().split("\n");
  expect(json.map((line) => JSON.parse(line).line)).toEqual([3, 4]);
  expect((await quarantine("drop")).code).toBe(2);
  expect((await quarantine("drop", "--dry-run")).out).toContain("would be dropped  s3://red/a.csv");

  const consumer = start(run, { MAX: "600" });
  const redriven = await quarantine("redrive", "--endpoint", endpoint);
  consumer.child.kill("SIGTERM");
  expect((await consumer.ended).code).toBe(0);
  expect(redriven.out).toContain("quarantined    s3://red/a.csv: 2 rows, of which 1 again");
  expect(redriven.code).toBe(1);
  expect(rowsOf("red")).toEqual(["1", "500"]);

  expect((await quarantine("list")).out).toMatch(
    /1 row, quarantined after 2 tries.*\n {2}line 4: /,
  );
  expect((await quarantine("drop", "--yes")).out).toContain("dropped  s3://red/a.csv: 1 row");
  expect((await quarantine("list")).err).toContain("No quarantined rows match.");
  expect((await endOf(start(["why", "s3://red/a.csv", "--data", "d"]))).out).toContain(
    "quarantined 2 rows at the commit",
  );
});
