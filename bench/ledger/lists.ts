// Lists: how long it takes to list one day of a ledger, in pages, depending on how many other
// records the ledger has. The day has the same records in every ledger.

import { randomBytes } from "node:crypto";
import { addMs, days, durationMs, epochMs } from "../../src/core/units.ts";
import { asRecordKey } from "../../src/ledger/record-state.ts";
import type { Ledger, RecordQuery } from "../../src/ports/ledger.ts";
import { inputOf } from "./input.ts";

export interface ListedStore {
  readonly name: string;
  open(size: number): Promise<Ledger>;
}

const SCOPE = { pipeline: "bench", generation: 1 };
const DAY_RECORDS = 10_000;
const DAYS = 400;
const THE_DAY = 200;
const FIRST_DAY = epochMs(Date.UTC(2025, 0, 1));
const BATCH = 1_000;
const PAGE = 1_000;
const RUNS = 7;

/** The ratio of each list's time, in the largest ledger against the smallest. */
export async function measureLists(
  { name, open }: ListedStore,
  sizes: readonly number[],
): Promise<{ what: string; ratio: number }[]> {
  const ledgers: { size: number; ledger: Ledger }[] = [];
  for (const size of sizes) {
    const ledger = await open(size);
    await fill(ledger, size);
    ledgers.push({ size, ledger });
  }
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

async function fill(ledger: Ledger, size: number): Promise<void> {
  for (let first = 0; first < size; first += BATCH) {
    const count = Math.min(BATCH, size - first);
    await ledger.commitDirect(
      SCOPE,
      Array.from({ length: count }, (_, n) => recordOf(first + n)),
    );
  }
}

/** The day has the first DAY_RECORDS records; the others are spread over the other days. */
function recordOf(n: number) {
  const key = asRecordKey(`k1:${randomBytes(32).toString("hex")}`);
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
