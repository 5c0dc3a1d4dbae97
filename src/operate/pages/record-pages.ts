// Record pages: records of a pipeline, always from an index and always bounded.
//   R1. A search first looks where the ledger has an index: record key, business key, object. Any
//       other text is searched in the names of the newest records, LOOKED_MAX per page; `next`
//       continues, and `complete` says whether all were looked at.
//   R2. Names and inputs were masked before they were written (Y1 of event-history.ts).

import type { JsonValue } from "../../core/encoding/canonical-json.ts";
import { ownIdentities } from "../../core/events/own-message.ts";
import { epochMs } from "../../core/units.ts";
import { recordKey } from "../../ledger/record-key.ts";
import { asRecordKey } from "../../ledger/record-state.ts";
import { namesOf } from "../../ledger/search-records.ts";
import type { Ledger, ListedRecord, RecordQuery, RunRow } from "../../ports/ledger.ts";
import type { LedgerScope, RecordKey } from "../../ports/record.ts";
import { describeHistory } from "../history/describe-history.ts";
import { type EventHistory, historyOf } from "../history/event-history.ts";
import {
  effectRowsOf,
  OUTCOMES,
  type OutcomeName,
  outcomeName,
} from "../history/record-outcomes.ts";
import { deadLetterView } from "./dead-letter-pages.ts";
import type { PageRequest } from "./list-page.ts";

/** Records that one page of a search looks at (R1). */
const LOOKED_MAX = 2_000;
const LOOKED_AT_ONCE = 500;
const EXACT_MAX = 100;
const RUN_ALIVE_MS = 90_000;
const KEY = /^k\d+:/;
const OBJECT_URL = /^s3:\/\/([^/]+)\/?(.*)$/s;

export interface RecordSearch extends PageRequest {
  readonly search: string | null;
  readonly outcome: OutcomeName | null;
  readonly since: number | null;
  /** Exclusive. */
  readonly until: number | null;
  /** `s3://bucket/prefix` */
  readonly prefix: string | null;
}

export interface FoundRecords {
  readonly records: readonly RecordSummary[];
  readonly next: string | null;
  /** False if a search looked at a part of the records only; `next` continues it. */
  readonly complete: boolean;
  /** Records that were looked at. */
  readonly looked: number;
}

export type RecordSummary = ReturnType<typeof summaryOf>;
export type RecordHistory = ReturnType<typeof historyView>;

export interface RecordReadOptions {
  readonly ledger: Ledger;
  /** The bucket of a bare object key; null if the pipeline has none. */
  readonly bucket: string | null;
}

export async function readRecords(
  options: RecordReadOptions,
  scope: LedgerScope,
  search: RecordSearch,
): Promise<FoundRecords> {
  const { search: text, cursor } = search;
  if (text !== null && cursor === null) {
    const exact = await exactRecords(options, scope, text);
    const records = exact.filter(({ outcome }) => outcome === (search.outcome ?? outcome));
    if (exact.length > 0) return { records, next: null, complete: true, looked: exact.length };
  }
  return text === null
    ? listedPage(options.ledger, scope, search)
    : searchedPage(options.ledger, scope, search, text);
}

async function listedPage(
  ledger: Ledger,
  scope: LedgerScope,
  search: RecordSearch,
): Promise<FoundRecords> {
  const page = { after: search.cursor, limit: search.limit };
  const { records, next } = await ledger.listRecords(scope, queryOf(search), page);
  const shown = records.map((record) => summaryOf(scope, record));
  return { records: shown, next, complete: true, looked: records.length };
}

/** R1 */
async function searchedPage(
  ledger: Ledger,
  scope: LedgerScope,
  search: RecordSearch,
  text: string,
): Promise<FoundRecords> {
  const records: RecordSummary[] = [];
  const query = queryOf(search);
  let after = search.cursor;
  let looked = 0;
  do {
    const start: string | null = after;
    const page = await ledger.listRecords(scope, query, { after, limit: LOOKED_AT_ONCE });
    looked += page.records.length;
    after = page.next;
    for (const [at, record] of page.records.entries()) {
      if (!namesOf(record.input).some((name) => name.includes(text))) continue;
      records.push(summaryOf(scope, record));
      if (records.length < search.limit) continue;
      const upToHere = { after: start, limit: at + 1 };
      const { next } = await ledger.listRecords(scope, query, upToHere);
      return { records, next, complete: next === null, looked };
    }
  } while (after !== null && looked < LOOKED_MAX);
  return { records, next: after, complete: after === null, looked };
}

function queryOf({ outcome, since, until, prefix }: RecordSearch): RecordQuery {
  const filter = {
    ...(since !== null && { from: epochMs(since) }),
    ...(until !== null && { to: epochMs(until) }),
    ...(outcome !== null && { outcomes: [OUTCOMES[outcome]] }),
  };
  const [, bucket, start] = OBJECT_URL.exec(prefix ?? "") ?? [];
  if (bucket === undefined) return { by: "event-time", newestFirst: true, ...filter };
  return { by: "object", bucket, prefix: start ?? "", ...filter };
}

/** The records that an index finds (R1). */
async function exactRecords(
  { ledger, bucket: usualBucket }: RecordReadOptions,
  scope: LedgerScope,
  text: string,
): Promise<RecordSummary[]> {
  const keys = KEY.test(text)
    ? [asRecordKey(text), recordKey(scope, text)]
    : ownIdentities(scope.pipeline, text).map((identity) => recordKey(scope, identity));
  const views = await Promise.all(keys.map((key) => ledger.show(scope, key)));
  const matches = views.filter((view) => view !== undefined);
  if (matches.length > 0) return matches.map((view) => summaryOf(scope, view));
  const [, bucket = usualBucket, prefix = text] = OBJECT_URL.exec(text) ?? [];
  if (bucket === null) return [];
  const query = { by: "object", bucket, prefix } as const;
  const { records } = await ledger.listRecords(scope, query, { after: null, limit: EXACT_MAX });
  return records.map((record) => summaryOf(scope, record));
}

type Listed = Pick<ListedRecord, "key" | "record" | "input">;

function summaryOf(scope: LedgerScope, { key, record, input }: Listed) {
  const { pipeline, generation } = scope;
  const { kind, attempts, fence, seenAt, changedAt } = record;
  const failure = kind === "failed" || kind === "parked" ? record.failure : null;
  const { lane } = input.lane;
  return {
    key,
    pipeline,
    generation,
    name: namesOf(input)[0] ?? key,
    outcome: outcomeName(kind),
    attempts,
    fence,
    lane,
    eventTime: input.eventTime,
    seenAt,
    changedAt,
    rows: effectRowsOf(record),
    failure,
  };
}

export async function readRecord(ledger: Ledger, scope: LedgerScope, key: string, now: number) {
  if (!KEY.test(key)) return null;
  const [history, view] = await Promise.all([
    historyOf(ledger, scope, key as RecordKey),
    ledger.show(scope, key as RecordKey),
  ]);
  if (history === null || view === undefined) return null;
  return historyView(history, summaryOf(scope, view), now);
}

function historyView(history: EventHistory, summary: RecordSummary, now: number) {
  const { input, run, dossier, heldBy, edited, duplicates } = history;
  const { kind, source, dedupeKey, eventId, messageId, sentAt, partition, traceId } = input;
  return {
    summary,
    timeline: history.entries.map(({ at, status, fence, owner, failure }) => {
      return { at, status, fence, owner, failure };
    }),
    names: history.about,
    kind,
    object: input.object,
    source,
    businessKey: dedupeKey,
    eventId,
    messageId,
    sentAt,
    partition,
    traceId,
    watermark: history.watermark,
    heldBy,
    tookMs: history.tookMs,
    quarantined: history.quarantined,
    effects: history.effects,
    digest: history.digest,
    superseded: history.superseded,
    tooLate: history.tooLate,
    duplicates: duplicates && { count: duplicates.count, lastAt: duplicates.lastAt },
    rememberedUntil: history.rememberedUntil,
    run: run === null ? null : runView(run, now),
    deadLetter: dossier === null ? null : deadLetterView(dossier),
    edited,
    text: describeHistory(history, summary.key),
  };
}

export function runView(run: RunRow, now: number) {
  const { environment, parameters, counts, ...rest } = run;
  return {
    ...rest,
    alive: run.endedAt === null && now - run.seenAt < RUN_ALIVE_MS,
    environment: jsonOf(environment),
    parameters: jsonOf(parameters),
    counts: jsonOf(counts),
  };
}

function jsonOf(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return text;
  }
}
