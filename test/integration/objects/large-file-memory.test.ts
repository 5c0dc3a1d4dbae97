// Large file memory: `tidegate run` as a process of its own, with one large file. Its peak memory
// stays below the number that docs/guides/large-files.md states, whatever the size of the file.
// `TIDEGATE_MEMORY_ROWS` is the number of rows.

import { once } from "node:events";
import {
  createReadStream,
  createWriteStream,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { untilHolds, useCommands } from "../../support/command-process.ts";
import { needsFullSize, sampleOf } from "../../support/full-size.ts";
import { patienceMs } from "../../support/patience.ts";
import { queryPostgres, usePostgres } from "../../support/stores/database-servers.ts";

const ROWS = Number(process.env.TIDEGATE_MEMORY_ROWS ?? 200_000);
const TEST_MS_MAX = patienceMs(300_000 + ROWS);
/** Has no factor in common with the counts in use, so it visits every number once. */
const STRIDE = 7_919;
const LINES_PER_WRITE = 20_000;
const GUIDE = readFileSync(new URL("../../../docs/guides/large-files.md", import.meta.url), "utf8");
const BUDGET_MIB = Number(/at most \*\*(\d+) MiB\*\*/.exec(GUIDE)?.[1]);

const PIPELINE = `
import { pipeline, tables } from "tidegate";
export default pipeline({
  name: "orders",
  source: { bucket: "orders", queue: "orders" },
  format: "csv",
  timeoutMs: 7_200_000,
  sink: tables({
    orders: {
      columns: { id: "text", customer: "text", total: "real", lines: "integer" },
      key: ["id"],
    },
  }),
  async handler(event, { upsert }) {
    for await (const { id, customer, total, lines } of event.rows()) {
      upsert("orders", { id, customer, total: Number(total), lines: Number(lines) });
    }
  },
});
`;

const SETUP = {
  queues: [
    { name: "orders", deadLetter: { queue: "orders-dead", maxReceiveCount: 5 } },
    { name: "orders-dead" },
  ],
  buckets: [
    { name: "orders", notifications: [{ queue: "orders", events: ["s3:ObjectCreated:*"] }] },
  ],
};

// Only Linux reports the peak memory of another process.
const onLinux = process.platform === "linux";
const { available, freshUrl } = await usePostgres();
const commands = useCommands("large-file");

/** Rows with their keys in ascending or in scattered order. */
async function writeCsv(path: string, shuffled: boolean): Promise<void> {
  const file = createWriteStream(path);
  let text = "id,customer,total,lines\n";
  for (let index = 0; index < ROWS; index += 1) {
    const number = shuffled ? (index * STRIDE) % ROWS : index;
    const id = `order-${String(number).padStart(9, "0")}`;
    text += `${id},customer ${number % 10_007},${number * 0.25},${number % 17}\n`;
    if (index % LINES_PER_WRITE !== 0) continue;
    if (!file.write(text)) await once(file, "drain");
    text = "";
  }
  file.end(text);
  await once(file, "finish");
}

async function startCloud(): Promise<string> {
  writeFileSync(join(commands.folder, "setup.json"), JSON.stringify(SETUP));
  const words = ["up", "--json", "--port", "0", "--data", "cloud", "--setup", "setup.json"];
  const cloud = commands.start(words);
  await untilHolds(cloud, () => cloud.printed.out.includes("\n"));
  return JSON.parse(cloud.printed.out).endpoint;
}

/** Puts the file, runs the pipeline until the file is committed, and returns the peak in MiB. */
async function peakOf(ledger: string, shuffled: boolean): Promise<number> {
  const path = join(commands.folder, "orders.csv");
  writeFileSync(join(commands.folder, "pipeline.ts"), PIPELINE);
  await writeCsv(path, shuffled);
  const endpoint = await startCloud();
  const init = {
    method: "PUT",
    headers: { "content-length": String(statSync(path).size) },
    body: Readable.toWeb(createReadStream(path)),
    duplex: "half",
  };
  const url = new URL("/orders/orders.csv", endpoint);
  const { status } = await fetch(url, init as unknown as RequestInit);
  expect(status).toBe(200);
  const words = ["--endpoint", endpoint, "--ledger", ledger, "--metrics-port", "0"];
  const run = commands.start(["run", "pipeline.ts", ...words]);
  await untilHolds(run, () => run.printed.out.includes("committed 1,"));
  const peak = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${run.child.pid}/status`, "utf8"));
  return Number(peak?.[1]) / 1_024;
}

const ORDERS = [
  { order: "in scattered order", shuffled: true },
  { order: "in ascending order", shuffled: false },
];

test.runIf(onLinux).each(sampleOf(2, ORDERS))(
  `a file of ${ROWS} rows with keys $order stays within the memory budget on SQLite`,
  { timeout: TEST_MS_MAX },
  async ({ shuffled }) => {
    const peak = await peakOf("sqlite:ledger.db", shuffled);
    const db = new DatabaseSync(join(commands.folder, "ledger.db"), { readOnly: true });
    const counted = db.prepare("SELECT count(*) AS n FROM orders").get()?.n;
    db.close();
    expect(counted).toBe(ROWS);
    expect(peak).toBeLessThan(BUDGET_MIB);
  },
);

test.runIf(onLinux && available)(
  `a file of ${ROWS} rows stays within the memory budget on PostgreSQL`,
  { timeout: TEST_MS_MAX },
  async (context) => {
    needsFullSize(context);
    const url = await freshUrl();
    const peak = await peakOf(url, false);
    expect(await queryPostgres(url, "SELECT count(*)::int AS n FROM orders")).toEqual([
      { n: ROWS },
    ]);
    expect(peak).toBeLessThan(BUDGET_MIB);
  },
);
