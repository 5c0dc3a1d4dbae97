// Record list: the records of a ledger as lines of text or JSON, for `tidegate records list`.

import { TidegateError } from "../../core/errors.ts";
import type { EpochMs } from "../../core/units.ts";
import { inputHashIn } from "../../ingest/stages/effects/effects-summary.ts";
import { LIST_PAGE_MAX } from "../../ledger/list-records.ts";
import { namesOf } from "../../ledger/search-records.ts";
import {
  effectRowsOf,
  OUTCOMES,
  type OutcomeName,
  outcomeName,
} from "../../operate/history/record-outcomes.ts";
import type { Ledger, ListedRecord, RecordOrder, RecordQuery, RunRow } from "../../ports/ledger.ts";
import type { LedgerScope } from "../../ports/record.ts";

export interface RecordListRequest {
  readonly pipeline?: string | undefined;
  readonly bucket?: string | null | undefined;
  readonly generation?: number | undefined;
  readonly since?: EpochMs | undefined;
  readonly until?: EpochMs | undefined;
  readonly prefix?: string | undefined;
  readonly outcome?: OutcomeName | undefined;
  readonly by?: RecordOrder | undefined;
  readonly limit: number;
}

export interface RecordList {
  /** Empty if nothing matches. */
  readonly lines: readonly string[];
  /** Whether the limit left records out. */
  readonly more: boolean;
}

const HEADINGS = ["EVENT TIME", "CHANGED", "OUTCOME", "ROWS", "ATTEMPTS", "LANE", "NAME"];
const OBJECT_URL = /^s3:\/\/([^/]+)\/?(.*)$/s;

export async function listRecords(
  ledger: Ledger,
  request: RecordListRequest,
  form: "text" | "json",
): Promise<RecordList> {
  const query = queryOf(request);
  const listed: { readonly scope: LedgerScope; readonly record: ListedRecord }[] = [];
  let more = false;
  for (const scope of await scopesOf(ledger, request)) {
    const page = await readPages(ledger, scope, query, request.limit - listed.length);
    listed.push(...page.records.map((record) => ({ scope, record })));
    more ||= page.more;
    if (listed.length >= request.limit) break;
  }
  if (form === "text") {
    const rows = listed.map(({ record }) => columnsOf(record));
    return { lines: rows.length === 0 ? [] : alignColumns([HEADINGS, ...rows]), more };
  }
  const runs = createRunReader(ledger);
  const lines = listed.map(async ({ scope, record }) =>
    jsonOf(scope, record, await runs(scope, record)),
  );
  return { lines: await Promise.all(lines), more };
}

function alignColumns(rows: readonly (readonly string[])[]): string[] {
  const widths = HEADINGS.map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  const padded = (row: readonly string[]) => row.map((cell, at) => cell.padEnd(widths[at] ?? 0));
  return rows.map((row) => padded(row).join("  ").trimEnd());
}

function queryOf(request: RecordListRequest): RecordQuery {
  const { since, until, prefix, outcome } = request;
  const { by = prefix === undefined ? "event-time" : "object" } = request;
  return {
    by,
    ...(since !== undefined && { from: since }),
    ...(until !== undefined && { to: until }),
    ...(prefix !== undefined && objectsOf(prefix, request.bucket ?? null)),
    ...(outcome !== undefined && { outcomes: [OUTCOMES[outcome]] }),
  };
}

function objectsOf(given: string, bucketOfPipeline: string | null) {
  const [, bucket = bucketOfPipeline, prefix = given] = OBJECT_URL.exec(given) ?? [];
  if (bucket !== null) return { bucket, prefix };
  const message = `the prefix "${given}" needs its bucket; write s3://bucket/${given}`;
  throw new TidegateError("TG_CONFIG_INVALID", message);
}

/** The named scope, or all of the ledger. */
export async function scopesOf(
  ledger: Ledger,
  request: Pick<RecordListRequest, "pipeline" | "generation">,
): Promise<LedgerScope[]> {
  const { pipeline, generation } = request;
  if (pipeline !== undefined) return [{ pipeline, generation: generation ?? 0 }];
  const scopes = await ledger.stats();
  return scopes
    .filter((scope) => generation === undefined || scope.generation === generation)
    .map((scope) => ({ pipeline: scope.pipeline, generation: scope.generation }));
}

async function readPages(
  ledger: Ledger,
  scope: LedgerScope,
  query: RecordQuery,
  limit: number,
): Promise<{ readonly records: readonly ListedRecord[]; readonly more: boolean }> {
  const records: ListedRecord[] = [];
  let after: string | null = null;
  do {
    const page = { after, limit: Math.min(LIST_PAGE_MAX, limit - records.length) };
    const { records: some, next } = await ledger.listRecords(scope, query, page);
    records.push(...some);
    after = next;
  } while (after !== null && records.length < limit);
  return { records, more: after !== null };
}

function columnsOf({ key, record, input }: ListedRecord): string[] {
  const rows = effectRowsOf(record);
  return [
    new Date(input.eventTime).toISOString(),
    new Date(record.changedAt).toISOString(),
    outcomeName(record.kind),
    rows === null ? "-" : String(rows),
    String(record.attempts),
    input.lane.lane,
    namesOf(input)[0] ?? key,
  ];
}

/** Reads each run once. */
function createRunReader(ledger: Ledger) {
  const runs = new Map<string, Promise<RunRow | undefined>>();
  return (scope: LedgerScope, { input: { runId } }: ListedRecord) => {
    const name = `${scope.pipeline} ${scope.generation} ${runId}`;
    const run = runs.get(name) ?? (runId === "" ? undefined : ledger.findRun(scope, runId));
    if (run !== undefined) runs.set(name, run);
    return run;
  };
}

function jsonOf(scope: LedgerScope, listed: ListedRecord, run: RunRow | undefined): string {
  const { key, record, input } = listed;
  const { pipeline, generation } = scope;
  return JSON.stringify({
    pipeline,
    generation,
    key,
    outcome: outcomeName(record.kind),
    rows: effectRowsOf(record),
    attempts: record.attempts,
    fence: record.fence,
    seenAt: record.seenAt,
    changedAt: record.changedAt,
    digest: record.kind === "committed" ? record.digest : null,
    ...inputHashIn(record),
    failure: record.kind === "parked" || record.kind === "failed" ? record.failure : null,
    input,
    run: run ?? null,
  });
}
