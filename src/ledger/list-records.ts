// List records: the ledger's list of records on top of a store's. A store returns rows after a
// position, in order; checks, cursors and filters are the same everywhere.
//   T1. The order is total: the chosen value, then the record key, both by UTF-8 bytes. A position
//       is that of a row, so a page starts after the last row that the previous page looked at.
//   T2. A store filters nothing, so a page looks at LOOK_MAX rows at most. Beyond that it ends
//       early: no page reads a whole ledger in search of a rare outcome.
//   T3. The upper end of a prefix is the next text that no longer starts with it. That of a range
//       of keys is the last key with the first character that a key may have.

import { compareUtf8 } from "../core/encoding/utf8-order.ts";
import { refuseValue } from "../core/errors.ts";
import type { EpochMs } from "../core/units.ts";
import { epochMs } from "../core/units.ts";
import type {
  ListedRecord,
  ListPage,
  RecordOrder,
  RecordPage,
  RecordQuery,
} from "../ports/ledger.ts";
import type { LedgerScope } from "../ports/record.ts";
import { checkScope } from "./batches.ts";
import { liveRecord } from "./record-state.ts";
import { checkInstant, checkStoredText } from "./value-checks.ts";

export const LIST_PAGE_MAX = 1_000;
/** Rows that one page may look at (T2). */
const LOOK_MAX = 10_000;
/** Rows read at once if some of them may be filtered out. */
const CHUNK_MIN = 100;
const TEXT_CHARS_MAX = 1_024;
/** NUL is in no key (ports/ledger.ts). */
const FIRST_CHARACTER = "\u0001";
const ORDERS: ReadonlySet<string> = new Set(["event-time", "commit-time", "object"]);
const OUTCOMES: ReadonlySet<string> = new Set([
  "claimed",
  "released",
  "failed",
  "committed",
  "parked",
]);

/** Rows whose time and key follow `start`, before `to`. */
export interface TimeRange {
  readonly by: "event-time" | "commit-time";
  readonly start: { readonly at: number; readonly key: string };
  readonly to: number;
  /** Set for the newest first: rows before `start`, down to this time; `to` is then unused. */
  readonly downTo?: number;
  /** Committed rows are not asked for: a store with an index of the others uses that. */
  readonly unsettled?: true;
  readonly limit: number;
}

/** Rows whose bucket, object key and record key follow `start`. */
export interface ObjectRange {
  readonly by: "object";
  readonly start: { readonly bucket: string; readonly object: string; readonly key: string };
  /** Null: all buckets. */
  readonly bucket: string | null;
  /** Null: no end but that of the bucket (T3). */
  readonly end: string | null;
  readonly limit: number;
}

export type RecordRange = TimeRange | ObjectRange;

/** Up to `limit` rows of the range in order, expired ones included. */
export type ListRows = (scope: LedgerScope, range: RecordRange) => Promise<ListedRecord[]>;

type Start = TimeRange["start"] | ObjectRange["start"];

export function listCall(listRows: ListRows, expiryNow: () => EpochMs | Promise<EpochMs>) {
  return {
    async listRecords(scope: LedgerScope, query: RecordQuery, page: ListPage): Promise<RecordPage> {
      checkScope(scope);
      checkQuery(query);
      checkListPage(page, "records");
      const expiry = await expiryNow();
      let start = page.after === null ? firstStart(query) : decodeStart(query.by, page.after);
      const chunk = isFiltered(query) ? Math.max(page.limit, CHUNK_MIN) : page.limit;
      const records: ListedRecord[] = [];
      for (let examined = 0; examined < LOOK_MAX; examined += chunk) {
        const rows = await listRows(scope, rangeOf(query, start, chunk));
        for (const [at, row] of rows.entries()) {
          start = startAfter(query.by, row);
          if (matches(query, row, expiry)) records.push(row);
          if (records.length < page.limit) continue;
          const isLast = rows.length < chunk && at === rows.length - 1;
          return { records, next: isLast ? null : encodeStart(query.by, start) };
        }
        if (rows.length < chunk) return { records, next: null };
      }
      return { records, next: encodeStart(query.by, start) }; // T2
    },
  };
}

export function checkListPage({ limit }: ListPage, what: string): void {
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > LIST_PAGE_MAX) {
    refuseValue(`a page of ${limit} ${what} is outside 1 to ${LIST_PAGE_MAX}`);
  }
}

function checkQuery(query: RecordQuery): void {
  const { by, from, to, bucket, prefix, outcomes, newestFirst } = query;
  if (!ORDERS.has(by)) refuseValue(`unknown order of records ${JSON.stringify(by)}`);
  if (by === "object" && newestFirst === true) refuseValue("a list by object has no newest first");
  for (const at of [from, to]) {
    if (at !== undefined && !Number.isSafeInteger(at))
      refuseValue(`the time ${at} is out of range`);
  }
  if (by === "commit-time") checkInstant("start of the list", from);
  checkStoredText("bucket", bucket, TEXT_CHARS_MAX);
  if (prefix !== undefined && prefix !== "") checkStoredText("prefix", prefix, TEXT_CHARS_MAX);
  if (prefix !== undefined && bucket === undefined) refuseValue("a prefix needs its bucket");
  checkKeys(query);
  for (const outcome of outcomes ?? []) {
    if (!OUTCOMES.has(outcome)) refuseValue(`unknown outcome ${JSON.stringify(outcome)}`);
    if (by === "commit-time" && outcome !== "committed") {
      refuseValue(`a record that is ${outcome} has no commit time; list by event time`);
    }
  }
}

function checkKeys({ by, bucket, prefix, keyFrom, keyTo }: RecordQuery): void {
  if (keyFrom === undefined && keyTo === undefined) return;
  if (by !== "object" || bucket === undefined || prefix !== undefined) {
    refuseValue("a range of keys needs a list by object, with a bucket and without a prefix");
  }
  checkStoredText("first key", keyFrom, TEXT_CHARS_MAX);
  checkStoredText("last key", keyTo, TEXT_CHARS_MAX);
}

function isFiltered({ by, from, to, bucket, outcomes }: RecordQuery): boolean {
  const otherTimes = by === "object" && (from !== undefined || to !== undefined);
  return otherTimes || outcomes !== undefined || (by !== "object" && bucket !== undefined);
}

function firstStart({ by, from, to, newestFirst, ...query }: RecordQuery): Start {
  const { bucket = "", prefix = "", keyFrom = prefix } = query;
  if (by === "object") return { bucket, object: keyFrom, key: "" };
  if (newestFirst === true) return { at: to ?? Number.MAX_SAFE_INTEGER, key: "" };
  return { at: from ?? Number.MIN_SAFE_INTEGER, key: "" };
}

function rangeOf(
  { by, from, to, bucket, prefix, keyTo, outcomes, newestFirst }: RecordQuery,
  start: Start,
  limit: number,
): RecordRange {
  if (by === "object") {
    const upTo = keyTo === undefined ? null : keyTo + FIRST_CHARACTER; // T3
    const end = prefix === undefined ? upTo : prefixEnd(prefix);
    return { by, start: start as ObjectRange["start"], bucket: bucket ?? null, end, limit };
  }
  const upTo = to ?? Number.MAX_SAFE_INTEGER;
  const isUnsettled = by === "event-time" && outcomes?.includes("committed") === false;
  const unsettled = isUnsettled ? ({ unsettled: true } as const) : {};
  const range = { by, start: start as TimeRange["start"], to: upTo, limit, ...unsettled };
  return newestFirst === true ? { ...range, downTo: from ?? Number.MIN_SAFE_INTEGER } : range;
}

/** The value of a row that orders it by time. */
export function timeOf(by: TimeRange["by"], { record, input }: ListedRecord): EpochMs {
  return by === "event-time" ? input.eventTime : record.changedAt;
}

function startAfter(by: RecordOrder, row: ListedRecord): Start {
  const { key, input } = row;
  if (by !== "object") return { at: timeOf(by, row), key };
  return { bucket: input.object?.bucket ?? "", object: input.object?.key ?? "", key };
}

function matches(query: RecordQuery, { record, input }: ListedRecord, expiry: EpochMs): boolean {
  const { by, from, to, bucket, prefix = "", keyFrom, keyTo, outcomes } = query;
  if (liveRecord(record, expiry).kind === "absent") return false;
  if (outcomes !== undefined && !outcomes.includes(record.kind)) return false;
  if (by === "object") {
    const { eventTime, object } = input;
    const name = object?.key ?? "";
    if (!name.startsWith(prefix)) return false;
    if (keyFrom !== undefined && compareUtf8(name, keyFrom) < 0) return false;
    if (keyTo !== undefined && compareUtf8(name, keyTo) > 0) return false;
    return eventTime >= (from ?? eventTime) && (to === undefined || eventTime < to);
  }
  if (bucket === undefined) return true;
  return input.object?.bucket === bucket && input.object.key.startsWith(prefix);
}

export function encodeStart(by: RecordOrder, start: Start): string {
  const fields = "at" in start ? [start.at, start.key] : [start.bucket, start.object, start.key];
  return Buffer.from(JSON.stringify([by, ...fields])).toString("base64url");
}

export function decodeStart(by: RecordOrder, cursor: string): Start {
  const fields = decodeCursor(cursor);
  const [order, first, second, third] = fields;
  if (order === by && typeof second === "string") {
    if (by !== "object" && fields.length === 3 && Number.isSafeInteger(first)) {
      return { at: epochMs(Number(first)), key: second };
    }
    if (by === "object" && typeof first === "string" && typeof third === "string") {
      return { bucket: first, object: second, key: third };
    }
  }
  return refuseValue(`${JSON.stringify(cursor)} is not a cursor of a list by ${by}`);
}

/** The array in a cursor; empty if it is none. */
export function decodeCursor(cursor: string): readonly unknown[] {
  try {
    const value: unknown = JSON.parse(Buffer.from(cursor, "base64url").toString());
    return Array.isArray(value) ? value : [];
  } catch {
    return [];
  }
}

const LAST_CODE_POINT = 0x10ffff;
const BEFORE_SURROGATES = 0xd7ff;
const AFTER_SURROGATES = 0xe000;

/** The smallest text above every text with that prefix (T3); null if there is none. */
export function prefixEnd(prefix: string): string | null {
  const points = Array.from(prefix, (character) => character.codePointAt(0) ?? 0);
  while (points.at(-1) === LAST_CODE_POINT) points.pop();
  const last = points.pop();
  if (last === undefined) return null;
  points.push(last === BEFORE_SURROGATES ? AFTER_SURROGATES : last + 1);
  return String.fromCodePoint(...points);
}
