// Record rows: reads and writes of many records or objects, one round trip each. Statements that
// lock rows name them in sorted order, so that two batches wait for each other in one direction.

import type { Pool, PoolClient } from "pg";
import type { DurationMs, EpochMs } from "../../core/units.ts";
import { epochMs } from "../../core/units.ts";
import type { FastCommit } from "../../ledger/fast-commit.ts";
import { fromAppliedText, toAppliedText } from "../../ledger/object-order.ts";
import type { InputColumns } from "../../ledger/record-input.ts";
import { fromInputColumns, toInputColumns } from "../../ledger/record-input.ts";
import { asRecordKey } from "../../ledger/record-state.ts";
import type { RecordColumns } from "../../ledger/rows/record-columns.ts";
import { fromColumns, toColumns } from "../../ledger/rows/record-columns.ts";
import type { SearchedText } from "../../ledger/search-records.ts";
import type { LedgerInstant } from "../../ledger/store-time.ts";
import type {
  ObjectRef,
  ObjectState,
  RecordInput,
  RecordKey,
  StoredRecord,
} from "../../ports/record.ts";
import { type LockLimit, ownLockLimit, upkeep } from "./time-limits.ts";

/** What the fast and the slow path share. */
export interface LedgerTables {
  /** The name of a prepared sink statement. */
  readonly statementName: (statement: string) => string | undefined;
  readonly pool: Pool;
  readonly retentionMs: DurationMs;
}

type Queryable = Pool | PoolClient;

export interface KeyedRecord {
  readonly key: RecordKey;
  readonly record: StoredRecord;
  readonly input: RecordInput;
  readonly log: string;
}

export interface KeyedObject {
  readonly ref: ObjectRef;
  readonly object: ObjectState;
}

export const COLUMNS = `state, fence, attempts, seen_at, changed_at, expires_at, lease_until, owner,
  digest, detail, log, event_time, bucket, object_key, input`;
const ARRAYS = `$3::text[], $4::bigint[], $5::integer[], $6::bigint[], $7::bigint[], $8::bigint[],
  $9::bigint[], $10::text[], $11::text[], $12::text[], $13::text[], $14::bigint[], $15::text[],
  $16::text[], $17::text[]`;

/** Bucket and key as one string, for maps. */
export function objectName({ bucket, key }: { bucket: string; key: string }): string {
  return JSON.stringify([bucket, key]);
}

function arraysOf(rows: readonly KeyedRecord[]): unknown[] {
  const columns = rows.map(({ record }) => toColumns(record));
  const inputs = rows.map(({ input }) => toInputColumns(input));
  const pick = (name: keyof RecordColumns) => columns.map((row) => row[name]);
  const pickInput = (name: keyof InputColumns) => inputs.map((row) => row[name]);
  return [
    rows.map(({ key }) => key),
    pick("state"),
    pick("fence"),
    pick("attempts"),
    pick("seenAt"),
    pick("changedAt"),
    pick("expiresAt"),
    pick("leaseUntil"),
    pick("owner"),
    pick("digest"),
    pick("detail"),
    rows.map(({ log }) => log),
    pickInput("eventTime"),
    pickInput("bucket"),
    pickInput("objectKey"),
    pickInput("input"),
  ];
}

/** Inserts rows that do not exist yet; returns the keys that were new. */
export async function insertRecords(
  client: Queryable,
  scopeId: number,
  rows: readonly KeyedRecord[],
  limit: LockLimit,
): Promise<ReadonlySet<string>> {
  if (rows.length === 0) return new Set();
  const sorted = rows.toSorted((a, b) => (a.key < b.key ? -1 : 1));
  const { rows: inserted } = await client.query({
    name: `tidegate-insert${limit.suffix}`,
    text: `${limit.with} INSERT INTO tidegate_ledger_record (scope, key, ${COLUMNS})
      SELECT $1::integer, u.* FROM ${limit.from} unnest($2::text[], ${ARRAYS}) AS u
      ON CONFLICT (scope, key) DO NOTHING RETURNING key`,
    values: [scopeId, ...arraysOf(sorted)],
  });
  return new Set(inserted.map(({ key }) => String(key)));
}

/** Overwrites rows that the transaction has locked. */
export async function updateRecords(
  client: Queryable,
  scopeId: number,
  rows: readonly KeyedRecord[],
): Promise<void> {
  if (rows.length === 0) return;
  await client.query({
    name: "tidegate-update",
    text: `UPDATE tidegate_ledger_record AS r SET state = u.state, fence = u.fence,
        attempts = u.attempts, seen_at = u.seen_at, changed_at = u.changed_at,
        expires_at = u.expires_at, lease_until = u.lease_until, owner = u.owner,
        digest = u.digest, detail = u.detail, log = u.log, event_time = u.event_time,
        bucket = u.bucket, object_key = u.object_key, input = u.input
      FROM unnest($2::text[], ${ARRAYS}) AS u (key, ${COLUMNS})
      WHERE r.scope = $1 AND r.key = u.key`,
    values: [scopeId, ...arraysOf(rows)],
  });
}

/** Commits claims that only the fence can reject, in one round trip; returns the committed keys. */
export async function commitClaims(
  pool: Pool,
  scopeId: number,
  commits: readonly FastCommit[],
  times: LedgerInstant & { readonly expiresAt: EpochMs },
): Promise<ReadonlySet<string>> {
  if (commits.length === 0) return new Set();
  const sorted = commits.toSorted((a, b) => (a.key < b.key ? -1 : 1));
  const pick = (name: keyof FastCommit) => sorted.map((commit) => commit[name]);
  const limit = ownLockLimit(pool);
  const { rows } = await pool.query({
    name: "tidegate-commit",
    text: `${limit.with} UPDATE tidegate_ledger_record AS r SET state = 'committed', changed_at = $7,
        expires_at = $8, lease_until = 0, owner = NULL, digest = u.digest, detail = u.detail,
        log = r.log || u.added
      FROM ${limit.from}
        unnest($2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[])
        AS u (key, fence, digest, detail, added)
      WHERE r.scope = $1 AND r.key = u.key AND r.state = 'claimed' AND r.fence = u.fence
        AND r.expires_at > $9
      RETURNING r.key`,
    values: [
      scopeId,
      pick("key"),
      pick("fence"),
      pick("digest"),
      pick("detail"),
      pick("added"),
      times.now,
      times.expiresAt,
      times.expiry,
    ],
  });
  return new Set(rows.map(({ key }) => String(key)));
}

/** Reads records; `lock` keeps others from changing them until the transaction ends. */
export async function selectRecords(
  client: Queryable,
  scopeId: number,
  keys: readonly RecordKey[],
  options: { readonly lock: boolean },
): Promise<Map<string, KeyedRecord>> {
  const { rows } = await client.query({
    name: options.lock ? "tidegate-lock" : "tidegate-select",
    text: `SELECT key, ${COLUMNS} FROM tidegate_ledger_record
      WHERE scope = $1 AND key = ANY ($2::text[])
      ORDER BY key ${options.lock ? "FOR UPDATE" : ""}`,
    values: [scopeId, keys],
  });
  return new Map(rows.map((row) => [row.key, fromRow(row)]));
}

/** From a row with `key` and COLUMNS. */
// biome-ignore lint/suspicious/noExplicitAny: the driver types rows so.
export function fromRow(row: any): KeyedRecord {
  const record = fromColumns({
    state: row.state,
    fence: Number(row.fence),
    attempts: row.attempts,
    seenAt: Number(row.seen_at),
    changedAt: Number(row.changed_at),
    expiresAt: Number(row.expires_at),
    leaseUntil: Number(row.lease_until),
    owner: row.owner,
    digest: row.digest,
    detail: row.detail,
  });
  const { bucket, object_key: objectKey, input } = row;
  const columns = { eventTime: Number(row.event_time), bucket, objectKey, input };
  return { key: row.key, record, input: fromInputColumns(columns), log: row.log };
}

/** Those of `keys` that have a record that has not expired. */
export async function selectLiveKeys(
  pool: Pool,
  scopeId: number,
  keys: readonly RecordKey[],
  now: EpochMs,
): Promise<ReadonlySet<string>> {
  const { rows } = await pool.query({
    name: "tidegate-select-live",
    text: `SELECT key FROM tidegate_ledger_record
      WHERE scope = $1 AND key = ANY ($2::text[]) AND expires_at > $3`,
    values: [scopeId, keys, now],
  });
  return new Set(rows.map(({ key }) => String(key)));
}

/** The newest records that have the text in a name of their input. */
export async function searchInputs(
  pool: Pool,
  scopeId: number,
  { url, inJson }: SearchedText,
  { expiry, limit }: { readonly expiry: EpochMs; readonly limit: number },
): Promise<RecordKey[]> {
  const text = `SELECT key FROM tidegate_ledger_record WHERE scope = $1 AND expires_at > $2
    AND (strpos('s3://' || bucket || '/' || object_key, $3) > 0 OR strpos(input, $4) > 0)
    ORDER BY changed_at DESC LIMIT $5`;
  const { rows } = await pool.query(upkeep(text, [scopeId, expiry, url, inJson, limit]));
  return rows.map(({ key }) => asRecordKey(String(key)));
}

/** Reads the states of objects, by `objectName`. */
export async function selectObjects(
  client: Queryable,
  scopeId: number,
  refs: readonly { readonly bucket: string; readonly key: string }[],
  options: { readonly lock: boolean },
): Promise<Map<string, ObjectState>> {
  if (refs.length === 0) return new Map();
  const { rows } = await client.query({
    name: options.lock ? "tidegate-lock-objects" : "tidegate-select-objects",
    text: `SELECT o.bucket, o.key, o.sequencer, o.applied_key, o.expires_at, o.applied
      FROM tidegate_ledger_object AS o
      JOIN unnest($2::text[], $3::text[]) AS u (bucket, key)
        ON o.bucket = u.bucket AND o.key = u.key
      WHERE o.scope = $1 ORDER BY o.bucket, o.key ${options.lock ? "FOR UPDATE OF o" : ""}`,
    values: [scopeId, refs.map(({ bucket }) => bucket), refs.map(({ key }) => key)],
  });
  return new Map(
    rows.map((row) => [
      objectName(row),
      {
        sequencer: row.sequencer,
        appliedKey: asRecordKey(row.applied_key),
        expiresAt: epochMs(Number(row.expires_at)),
        ...fromAppliedText(row.applied),
      },
    ]),
  );
}

/**
 * Saves objects; those in `locked` are locked. False if another transaction has inserted one of the
 * others in the meantime, so that the transition used an outdated state.
 */
export async function saveObjects(
  client: Queryable,
  scopeId: number,
  objects: readonly KeyedObject[],
  locked: ReadonlyMap<string, ObjectState>,
): Promise<boolean> {
  if (objects.length === 0) return true;
  const sorted = objects.toSorted((a, b) => (objectName(a.ref) < objectName(b.ref) ? -1 : 1));
  const values = (some: readonly KeyedObject[]) => [
    scopeId,
    some.map(({ ref }) => ref.bucket),
    some.map(({ ref }) => ref.key),
    some.map(({ object }) => object.sequencer),
    some.map(({ object }) => object.appliedKey),
    some.map(({ object }) => object.expiresAt),
    some.map(({ object }) => toAppliedText(object)),
  ];
  const source = `unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[],
      $7::text[]) AS u (bucket, key, sequencer, applied_key, expires_at, applied)`;
  const old = sorted.filter(({ ref }) => locked.has(objectName(ref)));
  const fresh = sorted.filter(({ ref }) => !locked.has(objectName(ref)));
  if (old.length > 0) {
    await client.query({
      name: "tidegate-update-objects",
      text: `UPDATE tidegate_ledger_object AS o SET sequencer = u.sequencer,
          applied_key = u.applied_key, expires_at = u.expires_at, applied = u.applied
        FROM ${source} WHERE o.scope = $1 AND o.bucket = u.bucket AND o.key = u.key`,
      values: values(old),
    });
  }
  if (fresh.length === 0) return true;
  const { rowCount } = await client.query({
    name: "tidegate-insert-objects",
    text: `INSERT INTO tidegate_ledger_object
      SELECT $1::integer, u.* FROM ${source} ON CONFLICT DO NOTHING`,
    values: values(fresh),
  });
  return rowCount === fresh.length;
}
