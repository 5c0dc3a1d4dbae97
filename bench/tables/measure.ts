// Measure: loads and reads, the same for both databases.

import type { TableSinkSpec } from "../../src/core/table-spec.ts";
import { addMs, durationMs, epochMs, hours } from "../../src/core/units.ts";
import { asRecordKey } from "../../src/ledger/record-state.ts";
import type { Clock } from "../../src/ports/clock.ts";
import type { Ledger } from "../../src/ports/ledger.ts";
import type { Effect, TransactionalSink } from "../../src/ports/sink.ts";
import { ANY_INPUT } from "../../test/support/stores/any-input.ts";

export interface BenchRow {
  readonly id: string;
  readonly customer: string;
  readonly total: number;
  readonly lines: number;
}

export const SPEC: TableSinkSpec = {
  kind: "tables",
  tables: {
    orders: {
      columns: { id: "text", customer: "text", total: "real", lines: "integer" },
      key: ["id"],
    },
  },
  database: null,
  onReplaced: "delete",
};

export interface TableBench {
  readonly name: string;
  /** What a bare load is. */
  readonly bareName: string;
  readonly ledger: Ledger;
  readonly sink: TransactionalSink;
  /** Loads rows into the table `bare`, which has the columns and the key of `orders`. */
  loadBare(rows: Iterable<BenchRow>): Promise<void>;
  /** Sums a column of a table; both tables have the same rows. */
  sum(table: "bare" | "orders"): Promise<void>;
  close(): Promise<void>;
}

export const clock: Clock = {
  now: () => epochMs(Date.now()),
  monotonic: () => durationMs(Math.floor(performance.now())),
  sleep: async () => {},
};

/** As in production: CHUNK_EFFECTS of ingest/stages/effects/effect-buffer.ts. */
const CHUNK_ROWS = 4_000;
const READS = 7;
const SCOPE = { pipeline: "bench", generation: 0 };
/** A multiplier without common factors with the counts in use visits every number once. */
const STRIDE = 7_919;

function* rowsOf(count: number, shuffled: boolean): Generator<BenchRow> {
  for (let index = 0; index < count; index += 1) {
    const number = shuffled ? (index * STRIDE) % count : index;
    const id = `order-${String(number).padStart(9, "0")}`;
    yield { id, customer: `customer ${number % 10_007}`, total: number * 0.25, lines: number % 17 };
  }
}

export interface LoadTimes {
  readonly bareMs: number;
  readonly stageMs: number;
  readonly mergeMs: number;
  readonly peakBytes: number;
}

export async function measureLoad(
  bench: TableBench,
  rows: number,
  shuffled: boolean,
): Promise<LoadTimes> {
  await bench.sink.prepare();
  const memory = watchMemory();
  const startedAt = performance.now();
  const { merge, discard } = await stageRows(bench, rowsOf(rows, shuffled));
  const stagedAt = performance.now();
  await merge();
  const mergedAt = performance.now();
  const peakBytes = memory.end();
  await discard();
  const bareAt = performance.now();
  await bench.loadBare(rowsOf(rows, shuffled));
  const bareMs = performance.now() - bareAt;
  return { bareMs, stageMs: stagedAt - startedAt, mergeMs: mergedAt - stagedAt, peakBytes };
}

async function stageRows({ sink, ledger }: TableBench, rows: Iterable<BenchRow>) {
  const store = ledger.sinkStore;
  if (store === null || sink.stage === undefined) throw new Error("the sink does not stage");
  const key = asRecordKey("k1:bench");
  const now = clock.now();
  const request = { key, fence: null, owner: "bench", startedAt: now };
  const stage = sink.stage({ ...request, expiresAt: addMs(now, hours(1)) }, store);
  let chunk: Effect[] = [];
  for (const row of rows) {
    chunk.push({ kind: "upsert", table: "orders", row: { ...row } });
    if (chunk.length < CHUNK_ROWS) continue;
    await stage.add(chunk);
    chunk = [];
  }
  if (chunk.length > 0) await stage.add(chunk);
  await stage.seal();
  const object = { bucket: "b", key: "big.csv", sequencer: "1", removed: false };
  return {
    discard: () => stage.discard(),
    async merge() {
      const writes = stage.merge({ key, eventTime: now, object });
      const times = { input: ANY_INPUT, receivedAt: now, startedAt: now };
      const commit = { key, object, owner: "bench", digest: "d", ...times, writes };
      const [result] = await ledger.commitDirect(SCOPE, [commit]);
      if (result?.kind !== "committed") throw new Error(`not committed: ${result?.kind}`);
    },
  };
}

function watchMemory() {
  globalThis.gc?.();
  const start = process.memoryUsage.rss();
  let peak = start;
  const timer = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage.rss());
  }, 20);
  return {
    end(): number {
      clearInterval(timer);
      return Math.max(peak, process.memoryUsage.rss()) - start;
    },
  };
}

/** The median time of a read of `orders`, divided by that of the plain table. */
export async function measureReads(bench: TableBench): Promise<number> {
  const times = { bare: [] as number[], orders: [] as number[] };
  for (let read = 0; read < READS; read += 1) {
    for (const table of ["bare", "orders"] as const) {
      const at = performance.now();
      await bench.sum(table);
      times[table].push(performance.now() - at);
    }
  }
  const median = (all: number[]) => all.toSorted((a, b) => a - b)[Math.floor(READS / 2)] ?? 0;
  return median(times.orders) / median(times.bare);
}
