// Ledger reports: `tidegate ledger init|check|show|stats` as functions from a URL to lines of text.
// The commands only parse flags and print.

import { TidegateError } from "../../core/errors.ts";
import type { EpochMs } from "../../core/units.ts";
import { asRecordKey } from "../../ledger/record-state.ts";
import type { Ledger, ScopeStats } from "../../ports/ledger.ts";
import type { LedgerScope, LogEntry, StoredRecord } from "../../ports/record.ts";
import type { LedgerPorts } from "../../run/open/open-ledger.ts";
import { openLedger } from "../../run/open/open-ledger.ts";
import { parseStoreUrl } from "../../run/open/store-url.ts";

export interface LedgerReport {
  readonly lines: readonly string[];
  /** False if the command exits with 1. */
  readonly ok: boolean;
}

async function withLedger(
  url: string,
  ports: LedgerPorts,
  options: { readonly migrate: boolean; readonly listing?: boolean },
  work: (ledger: Ledger) => Promise<LedgerReport>,
): Promise<LedgerReport> {
  const ledger = await openLedger(url, ports, options);
  try {
    return await work(ledger);
  } finally {
    await ledger.close();
  }
}

/** Creates the ledger if it is missing. */
export function initLedger(
  url: string,
  ports: LedgerPorts,
  { listing }: { readonly listing: boolean },
): Promise<LedgerReport> {
  const { store } = parseStoreUrl(url, "ledger");
  if (listing && store !== "dynamodb") {
    const message = `--listing is for DynamoDB; a ${store} ledger always lists records`;
    throw new TidegateError("TG_CONFIG_INVALID", message);
  }
  return withLedger(url, ports, { migrate: true, ...(listing && { listing }) }, async () => ({
    lines: [`The ${store} ledger is ready.`],
    ok: true,
  }));
}

/** Opens the ledger without changing it, and lists its problems. */
export function checkLedger(url: string, ports: LedgerPorts): Promise<LedgerReport> {
  return withLedger(url, ports, { migrate: false }, async (ledger) => {
    const problems = await ledger.check();
    return problems.length === 0
      ? { lines: ["The ledger is sound."], ok: true }
      : { lines: problems, ok: false };
  });
}

/** Counts per pipeline and generation, as a table. */
export function ledgerStats(url: string, ports: LedgerPorts): Promise<LedgerReport> {
  return withLedger(url, ports, { migrate: false }, async (ledger) => {
    const stats = await ledger.stats();
    if (stats.length === 0) return { lines: ["The ledger is empty."], ok: true };
    const rows = stats.map((scope) => STATS_COLUMNS.map(([, field]) => String(scope[field])));
    return { lines: table([STATS_COLUMNS.map(([heading]) => heading), ...rows]), ok: true };
  });
}

/** Headings are the words of the glossary; fields are the states of the ledger. */
const STATS_COLUMNS = [
  ["pipeline", "pipeline"],
  ["generation", "generation"],
  ["committed", "committed"],
  ["claimed", "claimed"],
  ["returned", "released"],
  ["failed", "failed"],
  ["dead-lettered", "parked"],
  ["objects", "objects"],
] as const satisfies (readonly [string, keyof ScopeStats])[];

function table(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, at) =>
    Math.max(...rows.map((row) => row[at]?.length ?? 0)),
  );
  return rows.map((row) =>
    row
      .map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)))
      .join("  "),
  );
}

/** The state of a record and all entries of its log. */
export function showRecord(
  url: string,
  ports: LedgerPorts,
  wanted: { readonly scope: LedgerScope; readonly key: string },
): Promise<LedgerReport> {
  const { scope, key } = wanted;
  if (key === "") throw new TidegateError("TG_CONFIG_INVALID", "--key is empty; name a record key");
  return withLedger(url, ports, { migrate: false }, async (ledger) => {
    const view = await ledger.show(scope, asRecordKey(key));
    if (view === undefined) {
      const where = `${scope.pipeline}, generation ${scope.generation}`;
      return { lines: [`No record ${key} in ${where}.`], ok: false };
    }
    return { lines: [...stateLines(view.record), ...view.entries.map(entryLine)], ok: true };
  });
}

function time(at: EpochMs): string {
  return new Date(at).toISOString();
}

function stateLines(record: StoredRecord): string[] {
  const { kind, fence, attempts, seenAt, expiresAt } = record;
  const lines = [
    `${kind}, fence ${fence}, attempts ${attempts}`,
    `first seen ${time(seenAt)}, kept until ${time(expiresAt)}`,
  ];
  if (record.kind === "claimed") {
    lines.push(`held by ${record.owner} until ${time(record.leaseUntil)}`);
  }
  if (record.kind === "committed") {
    lines.push(
      `result ${record.digest}${record.superseded ? ", superseded by a newer event" : ""}`,
    );
    if (record.effects !== null) lines.push(`effects: ${record.effects}`);
  }
  return lines;
}

function entryLine({ at, status, fence, seq, owner, failure }: LogEntry): string {
  const who = owner === null ? "" : ` by ${owner}`;
  const why = failure === null ? "" : `: ${failure.errorClass} ${failure.message}`;
  return `${time(at)}  ${status.padEnd(10)} ${fence}/${seq}${who}${why}`;
}
