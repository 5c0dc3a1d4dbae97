// Measures the durable ledgers: SQLite with synchronous=FULL, PostgreSQL with fsync on. Keys are
// random, and generated before the clock starts. Usage:
//   npm run bench:ledger [-- --keys 10000000] [--only sqlite|postgres] [--check]
//   npm run bench:ledger -- --list 100000,10000000 [--only sqlite|postgres] [--check]
// --check exits with an error if a target is missed. --list measures how long it takes to list one
// day of 10,000 records out of ledgers of these sizes, which are filled before (ledger/fill.ts).

import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import pg from "pg";
import { seconds } from "../src/core/units.ts";
import { asRecordKey } from "../src/ledger/record-state.ts";
import type { Ledger } from "../src/ports/ledger.ts";
import type { RecordKey } from "../src/ports/record.ts";
import { createPostgresLedger } from "../src/stores/postgres/ledger.ts";
import { createSqliteLedger } from "../src/stores/sqlite/ledger/ledger.ts";
import { type PostgresServer, startPostgres } from "../test/support/stores/postgres-server.ts";
import { systemClock as clock, turn } from "../test/support/stores/real-ports.ts";
import { fillPostgres, fillSqlite } from "./ledger/fill.ts";
import { inputOf } from "./ledger/input.ts";
import { type ListedStore, measureLists } from "./ledger/lists.ts";
import { createNaiveLedger } from "./naive-ledger.ts";

const { values: flags } = parseArgs({
  options: {
    keys: { type: "string", default: "1000000" },
    only: { type: "string" },
    list: { type: "string" },
    check: { type: "boolean", default: false },
  },
});
const KEYS = Number(flags.keys);
/** Each figure is the median of this many runs of this many records. */
const RUNS = 5;
const RUN_RECORDS = 20_000;
const FEW_KEYS = 10_000;
const FILL_BATCH = 1_000;
const FILL_PARALLEL = 8;
const SCOPE = { pipeline: "bench", generation: 1 };
const LEASE = { owner: "bench", leaseMs: seconds(30) };
/** Nothing is lost by a power cut in a measurement of lists. */
const LISTED_POSTGRES = {
  fsync: "off",
  full_page_writes: "off",
  max_wal_size: "4GB",
  shared_buffers: "1GB",
};
const DIGEST = "d".repeat(64);

const folder = mkdtempSync(join(tmpdir(), "tidegate-bench-"));

function randomKeys(count: number): RecordKey[] {
  const bytes = randomBytes(count * 32);
  return Array.from({ length: count }, (_, n) =>
    asRecordKey(`k1:${bytes.toString("hex", n * 32, n * 32 + 32)}`),
  );
}

function batches<T>(items: readonly T[], size: number): T[][] {
  const all: T[][] = [];
  for (let at = 0; at < items.length; at += size) all.push(items.slice(at, at + size));
  return all;
}

async function timed(work: () => Promise<void> | void): Promise<number> {
  const start = performance.now();
  await work();
  return RUN_RECORDS / ((performance.now() - start) / 1_000);
}

const directOf = (key: RecordKey) => {
  const now = clock.now();
  const input = inputOf(key, { at: now });
  return { key, owner: "bench", receivedAt: now, startedAt: now, input, digest: DIGEST };
};

async function pairs(ledger: Ledger, groups: readonly RecordKey[][], objects = false) {
  for (const keys of groups) {
    const receivedAt = clock.now();
    const about = (key: RecordKey) =>
      objects ? { object: { bucket: "in", key: `orders/${key}`, sequencer: "0055AED6" } } : {};
    const asked = keys.map((key) => {
      const input = inputOf(key, { at: receivedAt, objectKey: objects ? `orders/${key}` : null });
      return { key, receivedAt, input, ...about(key) };
    });
    const claims = await ledger.claim(SCOPE, asked, LEASE);
    const commits = claims.map((claim, at) => {
      if (claim.kind !== "claimed") throw new Error(`a random key was ${claim.kind}`);
      const key = keys[at] ?? asRecordKey("");
      return { key, fence: claim.fence, digest: DIGEST, ...about(key) };
    });
    for (const { kind } of await ledger.commit(SCOPE, commits)) {
      if (kind !== "committed") throw new Error(`a commit was ${kind}`);
    }
  }
}

async function direct(ledger: Ledger, groups: readonly RecordKey[][]) {
  for (const keys of groups) {
    for (const { kind } of await ledger.commitDirect(SCOPE, keys.map(directOf))) {
      if (kind !== "committed") throw new Error(`a direct commit was ${kind}`);
    }
  }
}

async function fill(ledger: Ledger, count: number): Promise<void> {
  for (let remaining = count; remaining > 0; ) {
    const now = Math.min(remaining, FILL_BATCH * FILL_PARALLEL);
    const groups = batches(randomKeys(now), FILL_BATCH);
    await Promise.all(groups.map((keys) => direct(ledger, [keys])));
    remaining -= now;
  }
}

type Measurement = (keys: readonly RecordKey[], run: number) => Promise<void> | void;

/** Interleaves several measurements, so that a slow minute of the machine slows all of them. */
async function inTurns(
  measurements: Readonly<Record<string, Measurement>>,
): Promise<Record<string, number>> {
  const rates: Record<string, number[]> = {};
  for (let run = 0; run < RUNS; run += 1) {
    for (const [name, work] of Object.entries(measurements)) {
      const keys = randomKeys(RUN_RECORDS);
      rates[name] ??= [];
      rates[name].push(await timed(() => work(keys, run)));
    }
  }
  const median = (all: number[]) => all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)] ?? 0;
  return Object.fromEntries(Object.entries(rates).map(([name, all]) => [name, median(all)]));
}

const missed: string[] = [];
function report(what: string, rate: number, target?: number): void {
  const goal = target === undefined ? "" : `  target ${target.toLocaleString("en")}`;
  const verdict = target === undefined ? "" : rate >= target ? "  met" : "  MISSED";
  if (target !== undefined && rate < target) missed.push(what);
  const figure = Math.round(rate).toLocaleString("en").padStart(9);
  process.stdout.write(`${what.padEnd(58)} ${figure}/s${goal}${verdict}\n`);
}

function reportRatio(what: string, ratio: number, limit: { min?: number; max?: number }): void {
  const met = ratio >= (limit.min ?? 0) && ratio <= (limit.max ?? Number.POSITIVE_INFINITY);
  if (!met) missed.push(what);
  process.stdout.write(
    `${what.padEnd(58)} ${ratio.toFixed(2).padStart(9)}${met ? "  met" : "  MISSED"}\n`,
  );
}

async function benchSqlite(): Promise<void> {
  const ledger = createSqliteLedger({ clock, turn }, { path: join(folder, "ledger.db") });
  // A fresh small ledger for each run, because a run adds keys.
  const small = Array.from({ length: RUNS }, (_, n) =>
    createSqliteLedger({ clock, turn }, { path: join(folder, `small-${n}.db`) }),
  );
  for (const few of small) await fill(few, FEW_KEYS);
  const naive = createNaiveLedger(join(folder, "naive.db"));
  const naivePairs = (size: number) => (keys: readonly RecordKey[]) => {
    for (const some of batches(keys, size)) {
      naive.claim(some);
      naive.commit(some, DIGEST);
    }
  };
  await fill(ledger, KEYS);
  for (const some of batches(randomKeys(Math.min(KEYS, 1_000_000)), 10_000)) {
    naive.claim(some);
    naive.commit(some, DIGEST);
  }
  const rates = await inTurns({
    naive100: naivePairs(100),
    pairs100: (keys) => pairs(ledger, batches(keys, 100)),
    fewest100: (keys, run) => pairs(small[run] ?? ledger, batches(keys, 100)),
    naive10: naivePairs(10),
    pairs10: (keys) => pairs(ledger, batches(keys, 10)),
    direct100: (keys) => direct(ledger, batches(keys, 100)),
    direct10: (keys) => direct(ledger, batches(keys, 10)),
    objects100: (keys) => pairs(ledger, batches(keys, 100), true),
    crowd10: async (keys) => {
      const shares = batches(keys, keys.length / FILL_PARALLEL);
      await Promise.all(shares.map((share) => pairs(ledger, batches(share, 10))));
    },
  });
  const of = (name: string) => rates[name] ?? 0;
  const at = `${KEYS.toLocaleString("en")} keys`;
  report("naive pairs in batches of 100 (at most a million keys)", of("naive100"));
  report(`SQLite pairs in batches of 100, ${at}`, of("pairs100"), 30_000);
  report("naive pairs in batches of 10 (at most a million keys)", of("naive10"));
  report(`SQLite pairs in batches of 10, ${at}`, of("pairs10"), 15_000);
  report(`SQLite single-write commits in batches of 100, ${at}`, of("direct100"), 40_000);
  report(`SQLite single-write commits in batches of 10, ${at}`, of("direct10"));
  report(`SQLite pairs with object states in batches of 100, ${at}`, of("objects100"));
  report(`SQLite pairs in batches of 10 by eight workers at once, ${at}`, of("crowd10"));
  report("SQLite pairs in batches of 100, 10,000 keys", of("fewest100"));
  reportRatio("SQLite against naive, batches of 100", of("pairs100") / of("naive100"), {
    min: 1.66,
  });
  reportRatio("SQLite against naive, batches of 10", of("pairs10") / of("naive10"), { min: 1.25 });
  const growth = of("fewest100") / of("pairs100");
  reportRatio(`cost per pair, ${at} against 10,000`, growth, { max: 2 });
  for (const few of small) await few.close();
  naive.close();
  await ledger.close();
}

async function benchPostgres(): Promise<void> {
  const server = await startPostgres({ fsync: "on", synchronous_commit: "on" });
  if ("missing" in server) {
    process.stdout.write(`PostgreSQL skipped: ${server.missing}\n`);
    return;
  }
  const ledger = await createPostgresLedger({ clock }, { url: server.url });
  await fill(ledger, Math.min(KEYS, 1_000_000));
  const rates = await inTurns({
    pairs100: (keys) => pairs(ledger, batches(keys, 100)),
    direct100: (keys) => direct(ledger, batches(keys, 100)),
    objects100: (keys) => pairs(ledger, batches(keys, 100), true),
    crowd100: async (keys) => {
      const shares = batches(keys, keys.length / FILL_PARALLEL);
      await Promise.all(shares.map((share) => pairs(ledger, batches(share, 100))));
    },
  });
  const at = `${Math.min(KEYS, 1_000_000).toLocaleString("en")} keys`;
  report(`PostgreSQL pairs in batches of 100, ${at}`, rates.pairs100 ?? 0, 10_000);
  report(`PostgreSQL single-write commits in batches of 100, ${at}`, rates.direct100 ?? 0);
  report(`PostgreSQL pairs with object states in batches of 100, ${at}`, rates.objects100 ?? 0);
  report(`PostgreSQL pairs by eight workers at once, ${at}`, rates.crowd100 ?? 0);
  await ledger.close();
  server.stop();
}

function listedSqlite(): ListedStore {
  const pathOf = (size: number) => join(folder, `list-${size}.db`);
  return {
    name: "SQLite",
    open: async (size) => createSqliteLedger({ clock, turn }, { path: pathOf(size) }),
    fill: async (scope, records) => fillSqlite(pathOf(records.size), scope, records),
    bytes: async (size) => statSync(pathOf(size)).size,
  };
}

/** One server: a scope of its own for each size would share the indexes. */
function listedPostgres(server: PostgresServer): ListedStore {
  const urlOf = (size: number) => {
    const url = new URL(server.url);
    url.searchParams.set("options", `-c search_path=list_${size}`);
    return url.href;
  };
  const query = async (statement: string) => {
    const client = new pg.Client({ connectionString: server.url });
    await client.connect();
    try {
      return (await client.query(statement)).rows;
    } finally {
      await client.end();
    }
  };
  return {
    name: "PostgreSQL",
    async open(size) {
      await query(`CREATE SCHEMA IF NOT EXISTS list_${size}`);
      return await createPostgresLedger({ clock }, { url: urlOf(size) });
    },
    fill: (scope, records) => fillPostgres(urlOf(records.size), scope, records),
    async bytes(size) {
      const table = `list_${size}.tidegate_ledger_record`;
      const [row] = await query(`SELECT pg_total_relation_size('${table}') AS bytes`);
      return Number(row.bytes);
    },
  };
}

async function benchLists(sizes: readonly number[]): Promise<void> {
  const server = flags.only === "sqlite" ? null : await startPostgres(LISTED_POSTGRES);
  const stores = flags.only === "postgres" ? [] : [listedSqlite()];
  if (server !== null && !("missing" in server)) stores.push(listedPostgres(server));
  try {
    for (const store of stores) {
      for (const { what, ratio } of await measureLists(store, sizes, clock.now())) {
        reportRatio(what, ratio, { max: 2 });
      }
    }
  } finally {
    if (server !== null && !("missing" in server)) server.stop();
  }
}

try {
  if (flags.list !== undefined) await benchLists(flags.list.split(",").map(Number));
  else if (flags.only !== "postgres") await benchSqlite();
  if (flags.list === undefined && flags.only !== "sqlite") await benchPostgres();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
if (missed.length > 0 && flags.check) process.exitCode = 1;
