// Ledger text: the counts of a ledger, and the state and log of a record, as lines.

import type { EpochMs } from "../../core/units.ts";
import type {
  LogEntry,
  RecordView,
  SchemaUpgrade,
  ScopeStats,
  StoredRecord,
} from "../../operate/ledgers.ts";

/** Counts per pipeline and generation, as a table. */
export function statsLines(stats: readonly ScopeStats[]): string[] {
  if (stats.length === 0) return ["The ledger is empty."];
  const rows = stats.map((scope) => STATS_COLUMNS.map(([, field]) => String(scope[field])));
  return table([STATS_COLUMNS.map(([heading]) => heading), ...rows]);
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

/** What an upgrade changed, or would change. */
export function upgradeLines(
  upgrades: readonly SchemaUpgrade[],
  { dryRun }: { readonly dryRun: boolean },
): string[] {
  if (upgrades.length === 0) return ["Nothing to upgrade."];
  const verb = dryRun ? "would be upgraded" : "is upgraded";
  return upgrades.map(
    ({ part, from, to }) => `The ${part} ${verb} from schema ${from} to schema ${to}.`,
  );
}

/** The statements of an upgrade, for a database administrator. */
export function upgradeSql(upgrades: readonly SchemaUpgrade[]): string[] {
  const statements = upgrades.flatMap(({ sql }) => sql);
  return statements.length === 0 ? ["-- No statements: nothing to upgrade."] : statements;
}

/** The state of a record and all entries of its log. */
export function viewLines({ record, entries }: RecordView): string[] {
  return [...stateLines(record), ...entries.map(entryLine)];
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
