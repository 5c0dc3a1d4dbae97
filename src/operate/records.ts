// Records: what a pipeline has processed, and which of it came more than once.
//   R1. Duplicates are found by the counts of all records: they are read a page at a time, and
//       only as many are kept as are asked for.
//   R2. The message of the latest duplicate says where duplicates come from: the record's own
//       message was redelivered, or another message has the same event.

import { refuseConfig } from "../core/errors.ts";
import type { InputHash } from "../core/input-hash.ts";
import { type EpochMs, epochMs } from "../core/units.ts";
import { inputHashIn } from "../ingest/stages/effects/effects-summary.ts";
import { everyNote } from "../ledger/every-note.ts";
import { LIST_PAGE_MAX } from "../ledger/list-records.ts";
import { namesOf } from "../ledger/search-records.ts";
import type {
  Ledger,
  ListedRecord,
  Note,
  RecordOrder,
  RecordQuery,
  RunRow,
} from "../ports/ledger.ts";
import type { Failure, LedgerScope, RecordInput, RecordKey } from "../ports/record.ts";
import { DUPLICATES_LIMIT, RECORDS_LIMIT } from "./defaults.ts";
import { lastDuplicate } from "./history/last-duplicate.ts";
import {
  effectRowsOf,
  OUTCOMES,
  type OutcomeName,
  outcomeName,
} from "./history/record-outcomes.ts";
import type { Sources } from "./sources.ts";

export type { RecordOrder } from "../ports/ledger.ts";

/** Which records. Every field that is set must match. */
export interface RecordSelection {
  /** From this time on, in milliseconds since 1970: commit time if `by` says so, else event time. */
  readonly since?: number | undefined;
  /** Before this time. */
  readonly until?: number | undefined;
  /** Objects that start with it: `s3://bucket/prefix`, or a prefix in the pipeline's bucket. */
  readonly prefix?: string | undefined;
  readonly outcome?: OutcomeName | undefined;
  /** The order. Default: "object" with a prefix, otherwise "event-time". */
  readonly by?: RecordOrder | undefined;
}

/** Options of `list`. */
export interface RecordListOptions {
  /** Records at most. Default: 100. */
  readonly limit?: number | undefined;
  /** Also reads the run of each record. */
  readonly runs?: boolean | undefined;
}

/** A record of the ledger, with the hash of its input. */
export type ProcessedRecord = ProcessedFields & InputHash;

interface ProcessedFields extends LedgerScope {
  /** Of the object or the message; else the record key. */
  readonly name: string;
  readonly key: RecordKey;
  readonly outcome: OutcomeName;
  /** Effects that it committed; null if it did not, or did not say. */
  readonly rows: number | null;
  readonly attempts: number;
  readonly fence: number;
  readonly seenAt: EpochMs;
  readonly changedAt: EpochMs;
  /** Of the committed effects. */
  readonly digest: string | null;
  readonly failure: Failure | null;
  readonly input: RecordInput;
  /** Null without the option `runs`, or if it was not recorded. */
  readonly run: RunRow | null;
}

/** Records of a list. */
export interface RecordList {
  readonly records: readonly ProcessedRecord[];
  /** Whether the limit left records out. */
  readonly more: boolean;
}

/** A record of which duplicates were suppressed. */
export interface DuplicatedRecord extends LedgerScope {
  readonly key: string;
  readonly name: string;
  readonly duplicates: number;
  readonly lastAt: EpochMs;
  /** Of the latest duplicate; null if an older version wrote it. */
  readonly messageId: string | null;
  readonly receiveCount: number | null;
  /** Whether the latest duplicate is the record's own message, delivered again (R2). */
  readonly sameMessage: boolean | null;
}

/** What the ledger has processed. */
export interface RecordLists {
  list(selection?: RecordSelection, options?: RecordListOptions): Promise<RecordList>;
  /** The records with the most suppressed duplicates: `limit` of each pipeline, by default 10. */
  duplicates(options?: {
    readonly limit?: number | undefined;
  }): Promise<readonly DuplicatedRecord[]>;
}

const OBJECT_URL = /^s3:\/\/([^/]+)\/?(.*)$/s;

export function recordListsOf(sources: Sources): RecordLists {
  return {
    list: (selection = {}, options = {}) => listRecords(sources, selection, options),
    async duplicates({ limit = DUPLICATES_LIMIT } = {}) {
      const all: DuplicatedRecord[] = [];
      for (const scope of await sources.scopes()) {
        all.push(...(await listDuplicates(await sources.reader(), scope, limit)));
      }
      return all;
    },
  };
}

async function listRecords(
  sources: Sources,
  selection: RecordSelection,
  { limit = RECORDS_LIMIT, runs = false }: RecordListOptions,
): Promise<RecordList> {
  const query = queryOf(selection, (await sources.pipeline())?.source.bucket ?? null);
  const ledger = await sources.reader();
  const listed: { readonly scope: LedgerScope; readonly record: ListedRecord }[] = [];
  let more = false;
  for (const scope of await sources.scopes()) {
    const page = await readPages(ledger, scope, query, limit - listed.length);
    listed.push(...page.records.map((record) => ({ scope, record })));
    more ||= page.more;
    if (listed.length >= limit) break;
  }
  const runOf = createRunReader(ledger);
  const records = listed.map(async ({ scope, record }) =>
    processed(scope, record, runs ? ((await runOf(scope, record)) ?? null) : null),
  );
  return { records: await Promise.all(records), more };
}

function queryOf(selection: RecordSelection, bucket: string | null): RecordQuery {
  const { since, until, prefix, outcome } = selection;
  const { by = prefix === undefined ? "event-time" : "object" } = selection;
  return {
    by,
    ...(since !== undefined && { from: epochMs(since) }),
    ...(until !== undefined && { to: epochMs(until) }),
    ...(prefix !== undefined && objectsOf(prefix, bucket)),
    ...(outcome !== undefined && { outcomes: [OUTCOMES[outcome]] }),
  };
}

function objectsOf(given: string, bucketOfPipeline: string | null) {
  const [, bucket = bucketOfPipeline, prefix = given] = OBJECT_URL.exec(given) ?? [];
  if (bucket !== null) return { bucket, prefix };
  refuseConfig(`the prefix "${given}" needs its bucket; write s3://bucket/${given}`);
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

function processed(
  { pipeline, generation }: LedgerScope,
  { key, record, input }: ListedRecord,
  run: RunRow | null,
): ProcessedRecord {
  return {
    name: namesOf(input)[0] ?? key,
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
    run,
  };
}

/** R1 */
async function listDuplicates(
  ledger: Ledger,
  scope: LedgerScope,
  limit: number,
): Promise<DuplicatedRecord[]> {
  const most: Note[] = [];
  const byCount = (a: Note, b: Note) => b.count - a.count || b.at - a.at;
  for await (const note of everyNote(ledger, scope, "duplicates")) {
    const last = most.at(-1);
    if (most.length >= limit && last !== undefined && byCount(last, note) <= 0) continue;
    most.push(note);
    most.sort(byCount).splice(limit);
  }
  return Promise.all(most.map((note) => duplicatedRecord(ledger, scope, note)));
}

async function duplicatedRecord(
  ledger: Ledger,
  { pipeline, generation }: LedgerScope,
  note: Note,
): Promise<DuplicatedRecord> {
  const view = await ledger.show({ pipeline, generation }, note.name as RecordKey);
  const { messageId, receiveCount } = lastDuplicate(note.body);
  const own = view?.input.messageId ?? null;
  return {
    pipeline,
    generation,
    key: note.name,
    name: (view === undefined ? null : namesOf(view.input)[0]) ?? note.name,
    duplicates: note.count,
    lastAt: note.at,
    messageId,
    receiveCount,
    sameMessage: messageId === null || own === null ? null : messageId === own, // R2
  };
}
