// Ledgers: a ledger created, checked, counted, shown and purged, and an outbox purged.
//   L1. A purge that deletes nothing because of the clock must not look like a success.
//   L2. What only looks opens the store for reading, so that it upgrades nothing, either.

import { checkRecords } from "../audit/check-records.ts";
import { refuseConfig, TidegateError } from "../core/errors.ts";
import { type Progress, progressOf } from "../core/progress.ts";
import type { ClockLeap } from "../core/store-clock.ts";
import { durationMs, subtractMs } from "../core/units.ts";
import { asRecordKey } from "../ledger/record-state.ts";
import { type PurgeableStore, purgeRows } from "../ledger/rows/purge-rows.ts";
import type { SchemaUpgrade } from "../ledger/schema-version.ts";
import { describeLeap } from "../ledger/store-time.ts";
import type { Ledger, RecordView, ScopeStats } from "../ports/ledger.ts";
import { parseStoreUrl } from "../run/open/store-url.ts";
import { upgradeStore } from "../run/open/upgrade-store.ts";
import { sweepLedgerStages } from "../run/upkeep/stage-sweep.ts";
import type { Sources } from "./sources.ts";

export type { SchemaUpgrade } from "../ledger/schema-version.ts";
export type { RecordView, ScopeStats } from "../ports/ledger.ts";
export type { LogEntry, StoredRecord } from "../ports/record.ts";

/** What a check of a ledger found. */
export interface LedgerCheck {
  /** A sentence for each; empty if the ledger is sound. */
  readonly problems: readonly string[];
  /** What was not checked, and why. */
  readonly notes: readonly string[];
}

/** The store behind a pipeline. */
export interface LedgerAccess {
  /** Creates it if it is missing, and returns its kind. `listing`: DynamoDB lists its records. */
  create(options?: { readonly listing?: boolean | undefined }): Promise<string>;
  /**
   * Upgrades it, and the outbox beside it, to the schema of this release. Returns what changed;
   * with `dryRun`, what would change.
   */
  migrate(options?: { readonly dryRun?: boolean | undefined }): Promise<readonly SchemaUpgrade[]>;
  /** Settings, damage, and records that do not fit their keys or logs; changes nothing. */
  check(): Promise<LedgerCheck>;
  /** Counts its records, by pipeline and generation. */
  stats(): Promise<readonly ScopeStats[]>;
  /** The state and the log of one record of the pipeline; undefined if it has none. */
  show(key: string): Promise<RecordView | undefined>;
  /** Deletes all expired rows; each step is their number so far. */
  purge(signal?: AbortSignal): Progress<number, number>;
  /** The same in the outbox; also deletes rows that were sent longer ago than `keepMs`. */
  purgeOutbox(
    options?: { readonly keepMs?: number | undefined },
    signal?: AbortSignal,
  ): Progress<number, number>;
}

const BATCH_ROWS = 1_000;
const PAUSE_MS = durationMs(20);

export function ledgerOf(sources: Sources): LedgerAccess {
  return {
    async create({ listing = false } = {}) {
      const { store } = parseStoreUrl(sources.ledgerUrl, "ledger");
      if (listing && store !== "dynamodb") {
        refuseConfig(`--listing is for DynamoDB; a ${store} ledger always lists records`);
      }
      await sources.createLedger(listing);
      return store;
    },
    migrate: ({ dryRun = false } = {}) => upgradeStore(sources.ledgerUrl, { dryRun }),
    check: async () => checkLedger(await sources.reader()), // L2
    stats: async () => (await sources.reader()).stats(), // L2
    async show(key) {
      return (await sources.reader()).show(await sources.scope(), asRecordKey(key));
    },
    purge: (signal) => progress(() => expiredRows(sources), sources, signal),
    purgeOutbox: ({ keepMs } = {}, signal) =>
      progress(() => expiredSends(sources, keepMs), sources, signal),
  };
}

interface Purge {
  readonly store: PurgeableStore;
  readonly emptyBatches: number;
}

function progress(
  open: () => Promise<Purge>,
  { clock }: Sources,
  signal = new AbortController().signal,
): Progress<number, number> {
  let total = 0;
  async function* run() {
    const { store, emptyBatches } = await open();
    const options = { batchRows: BATCH_ROWS, pauseMs: PAUSE_MS, emptyBatches, signal };
    for await (const purged of purgeRows({ clock }, store, options)) {
      total += purged;
      yield total;
    }
  }
  return progressOf(run(), () => total);
}

async function expiredRows(sources: Sources): Promise<Purge> {
  const ledger = await sources.writer();
  rejectLeap(ledger.leap());
  const { store } = parseStoreUrl(sources.ledgerUrl, "ledger");
  const isInspected = store === "sqlite" || store === "memory"; // Also an open ledger.
  await sweepLedgerStages(ledger, sources.clock.now());
  return { store: ledger, emptyBatches: isInspected ? await wholePass(ledger) : 1 };
}

async function expiredSends(sources: Sources, keepMs: number | undefined): Promise<Purge> {
  const outbox = await sources.outbox();
  const before =
    keepMs === undefined ? undefined : subtractMs(sources.clock.now(), durationMs(keepMs));
  rejectLeap(outbox.leap());
  return { store: { purge: (limit) => outbox.purge(limit, before) }, emptyBatches: 1 };
}

const NO_LISTS = "The records were not compared: the table has no lists.";

async function checkLedger(ledger: Ledger): Promise<LedgerCheck> {
  const problems = await ledger.check();
  for (const { pipeline, generation } of await ledger.stats()) {
    const more = await checkRecords(ledger, { pipeline, generation });
    if (more === null) return { problems, notes: [NO_LISTS] };
    problems.push(...more);
  }
  return { problems, notes: [] };
}

/** L1 */
function rejectLeap(leap: ClockLeap | null): void {
  if (leap !== null) throw new TidegateError("TG_CLOCK_LEAPT", describeLeap(leap));
}

/** Batches after which a SQLite ledger has inspected each of its rows (P2 of purge-rows.ts). */
async function wholePass(ledger: Ledger): Promise<number> {
  const scopes = await ledger.stats();
  const rows = scopes.map(({ claimed, released, failed, committed, parked, objects }) => {
    return claimed + released + failed + committed + parked + objects;
  });
  return 1 + Math.ceil(rows.reduce((sum, count) => sum + count, 0) / BATCH_ROWS);
}
