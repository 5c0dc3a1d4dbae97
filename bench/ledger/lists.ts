// Lists: how long it takes to list one day of a ledger, in pages, depending on how many other
// records the ledger has. The day has the same records in every ledger.

import { createHash } from "node:crypto";
import { addMs, days, durationMs, type EpochMs, epochMs } from "../../src/core/units.ts";
import { asRecordKey } from "../../src/ledger/record-state.ts";
import type { DirectCommit, Ledger, RecordQuery } from "../../src/ports/ledger.ts";
import type { LedgerScope } from "../../src/ports/record.ts";
import type { FilledRecords } from "./fill.ts";
import { inputOf } from "./input.ts";

export interface ListedStore {
  readonly name: string;
  /** Opens the ledger for that many records; creates it the first time. */
  open(size: number): Promise<Ledger>;
  /** Writes records straight into the tables of that ledger, which is closed (fill.ts). */
  fill(scope: LedgerScope, records: FilledRecords): Promise<void>;
  /** What the ledger for that many records takes on the disk. */
  bytes(size: number): Promise<number>;
}

const SCOPE = { pipeline: "bench", generation: 1 };
const DAY_RECORDS = 10_000;
const DAYS = 400;
const THE_DAY = 200;
const FIRST_DAY = epochMs(Date.UTC(2025, 0, 1));
/** How many records were committed in each millisecond. */
const COMMITS_PER_MS = 100;
const PAGE = 1_000;
const RUNS = 7;

/** The ratio of each list's time, in the largest ledger against the smallest. */
export async function measureLists(
  store: ListedStore,
  sizes: readonly number[],
  now: EpochMs,
): Promise<{ what: string; ratio: number }[]> {
  const { name } = store;
  const ledgers: { size: number; ledger: Ledger }[] = [];
  for (const size of sizes) ledgers.push({ size, ledger: await filled(store, size, now) });
  const from = addMs(FIRST_DAY, days(THE_DAY));
  const queries: Record<string, RecordQuery> = {
    "event time": { by: "event-time", from, to: addMs(from, days(1)) },
    object: { by: "object", bucket: "in", prefix: `day-${THE_DAY}/` },
  };
  const results: { what: string; ratio: number }[] = [];
  for (const [what, query] of Object.entries(queries)) {
    const times = ledgers.map(() => [] as number[]);
    for (let run = 0; run < RUNS; run += 1) {
      for (const [at, { ledger }] of ledgers.entries())
        times[at]?.push(await timeOf(ledger, query));
    }
    const medians = times.map((all) => all.toSorted((a, b) => a - b)[Math.floor(RUNS / 2)] ?? 0);
    for (const [at, { size }] of ledgers.entries()) {
      const figure = `${(medians[at] ?? 0).toFixed(0)} ms`.padStart(9);
      const label = `${name}: a day of ${DAY_RECORDS} by ${what} out of ${size}`;
      process.stdout.write(`${label.padEnd(58)} ${figure}\n`);
    }
    const ratio = (medians.at(-1) ?? 0) / (medians[0] ?? 1);
    results.push({ what: `${name}: ${what}, ${sizes.at(-1)} against ${sizes[0]}`, ratio });
  }
  for (const { ledger } of ledgers) await ledger.close();
  return results;
}

async function filled(store: ListedStore, size: number, now: EpochMs): Promise<Ledger> {
  if (size < DAY_RECORDS)
    throw new Error(`a size is at least ${DAY_RECORDS}, the records of a day`);
  const start = performance.now();
  await (await store.open(size)).close();
  const committedAt = (n: number) =>
    addMs(now, durationMs(-Math.ceil((size - n) / COMMITS_PER_MS)));
  await store.fill(SCOPE, { size, recordOf, committedAt });
  const ledger = await store.open(size);
  for (const n of [0, DAY_RECORDS - 1, size - 1]) {
    const [again] = await ledger.commitDirect(SCOPE, [recordOf(n)]);
    if (again?.kind !== "duplicate") throw new Error(`the filled record ${n} is ${again?.kind}`);
  }
  const seconds = ((performance.now() - start) / 1_000).toFixed(0).padStart(9);
  const megabytes = ((await store.bytes(size)) / 1_048_576).toFixed(0);
  const label = `${store.name}: filled with ${size}, ${megabytes} MiB`;
  process.stdout.write(`${label.padEnd(58)} ${seconds} s\n`);
  return ledger;
}

/** The day has the first DAY_RECORDS records; the others are spread over the other days. */
export function recordOf(n: number): DirectCommit {
  const key = asRecordKey(`k1:${createHash("sha256").update(`${n}`).digest("hex")}`);
  const other = n % (DAYS - 1);
  const day = n < DAY_RECORDS ? THE_DAY : other < THE_DAY ? other : other + 1;
  const at = addMs(FIRST_DAY, durationMs(day * days(1) + (n % days(1))));
  const input = inputOf(key, { at, objectKey: `day-${day}/${n}.csv` });
  return { key, owner: "bench", receivedAt: at, startedAt: at, input, digest: "d".repeat(64) };
}

async function timeOf(ledger: Ledger, query: RecordQuery): Promise<number> {
  const start = performance.now();
  let after: string | null = null;
  let listed = 0;
  do {
    const page = await ledger.listRecords(SCOPE, query, { after, limit: PAGE });
    listed += page.records.length;
    after = page.next;
  } while (after !== null);
  if (listed !== DAY_RECORDS) throw new Error(`the day has ${listed} records`);
  return performance.now() - start;
}
