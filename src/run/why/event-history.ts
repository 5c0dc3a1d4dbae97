// Event history: everything the ledger stores about an event, found by its object or its key.
//   Y1. All data was masked before it was written; only the ledger is read.
//   Y2. An object is found by the newest event that was applied to it, by the dossiers of
//       dead-lettered events, and by the notes of events that were tried more than once. An event
//       in its first attempt is found by its key only.

import { MASKED } from "../../core/encoding/mask.ts";
import type { EpochMs } from "../../core/units.ts";
import { dossiersOf } from "../../ingest/dead-letters/dead-letter-list.ts";
import { type Dossier, decodeDossier } from "../../ingest/dead-letters/dossier.ts";
import { findTried, objectDigest } from "../../ingest/running/tried-note.ts";
import { recordKey } from "../../ledger/record-key.ts";
import { asRecordKey } from "../../ledger/record-state.ts";
import type { Ledger, RecordView } from "../../ports/ledger.ts";
import type { LedgerScope, RecordKey } from "../../ports/record.ts";

export interface EventHistory {
  readonly pipeline: string;
  readonly generation: number;
  readonly key: RecordKey;
  readonly object: { readonly bucket: string; readonly key: string } | null;
  readonly state: RecordView["record"]["kind"];
  readonly attempts: number;
  readonly fence: number;
  readonly seenAt: EpochMs;
  readonly rememberedUntil: EpochMs;
  /** The owner of the claim, while there is one. */
  readonly heldBy: { readonly owner: string; readonly until: EpochMs } | null;
  readonly lane: string | null;
  readonly watermark: number | null;
  readonly tookMs: number | null;
  /** How often each effect was requested; null until the commit. */
  readonly effects: Readonly<Record<string, number>> | null;
  /** A newer event of the object was applied first, so the effects of this one were skipped. */
  readonly superseded: boolean;
  readonly duplicates: { readonly count: number; readonly lastAt: EpochMs } | null;
  readonly dossier: Dossier | null;
  readonly entries: RecordView["entries"];
}

export interface HistoryQuery {
  /** `s3://bucket/key`, a key in a bucket, an idempotency key or a record key. */
  readonly what: string;
  /** The bucket of a bare key. */
  readonly bucket?: string | null | undefined;
  /** Default: all pipelines of the ledger. */
  readonly pipeline?: string | undefined;
  readonly generation?: number | undefined;
}

/** Histories per query. */
const HISTORIES_MAX = 100;
const KEY = /^k\d+:/;
const OBJECT_URL = /^s3:\/\/([^/]+)\/(.+)$/s;

/** The histories that match `what`, oldest first. */
export async function findHistories(ledger: Ledger, query: HistoryQuery): Promise<EventHistory[]> {
  const histories: EventHistory[] = [];
  for (const scope of await scopesOf(ledger, query)) {
    for (const key of await keysOf(ledger, scope, query)) {
      const history = await historyOf(ledger, scope, key);
      if (history !== null && histories.length < HISTORIES_MAX) histories.push(history);
    }
  }
  return histories.toSorted((a, b) => a.seenAt - b.seenAt);
}

async function scopesOf(ledger: Ledger, query: HistoryQuery): Promise<LedgerScope[]> {
  const { pipeline, generation } = query;
  if (pipeline !== undefined) return [{ pipeline, generation: generation ?? 0 }];
  const scopes = await ledger.stats();
  return scopes
    .filter((scope) => generation === undefined || scope.generation === generation)
    .map((scope) => ({ pipeline: scope.pipeline, generation: scope.generation }));
}

async function keysOf(
  ledger: Ledger,
  scope: LedgerScope,
  { what, bucket: bucketDefault }: HistoryQuery,
): Promise<RecordKey[]> {
  if (KEY.test(what)) return [asRecordKey(what), recordKey(scope, what)];
  const [, bucket = bucketDefault ?? null, path = what] = OBJECT_URL.exec(what) ?? [];
  const keys = new Set<RecordKey>();
  const buckets = new Set(bucket === null ? [] : [bucket]);
  // Dossiers are ordered by record key, not by object.
  const digest = objectDigest(path);
  for await (const { object, object_digest, record_key } of dossiersOf(ledger, scope)) {
    if (object === null || (object.key !== path && object_digest !== digest)) continue;
    if (bucket !== null && object.bucket !== bucket && object.bucket !== MASKED) continue;
    keys.add(asRecordKey(record_key));
    if (object.bucket !== MASKED) buckets.add(object.bucket);
  }
  for (const tried of await findTried(ledger, scope, { bucket, key: path })) {
    keys.add(tried.key);
    buckets.add(tried.bucket);
  }
  for (const each of buckets) {
    const state = await ledger.showObject(scope, each, path);
    if (state !== undefined) keys.add(state.appliedKey);
  }
  return [...keys];
}

async function historyOf(
  ledger: Ledger,
  scope: LedgerScope,
  key: RecordKey,
): Promise<EventHistory | null> {
  const view = await ledger.show(scope, key);
  if (view === undefined) return null;
  const [duplicates, note] = await Promise.all([
    ledger.findNote(scope, "duplicates", key),
    ledger.findNote(scope, "dossier", key),
  ]);
  const { record, entries } = view;
  const dossier = note === undefined ? null : decodeDossier(note.body);
  const { kind, attempts, fence, seenAt, expiresAt } = record;
  return {
    ...scope,
    key,
    object: dossier?.object ?? null,
    state: kind,
    attempts,
    fence,
    seenAt,
    rememberedUntil: expiresAt,
    heldBy: record.kind === "claimed" ? { owner: record.owner, until: record.leaseUntil } : null,
    ...decidedOf(record.kind === "committed" ? record.effects : null),
    superseded: record.kind === "committed" && record.superseded,
    duplicates:
      duplicates === undefined ? null : { count: duplicates.count, lastAt: duplicates.at },
    dossier,
    entries,
  };
}

/** The details stored by the commit; unreadable ones are left out. */
function decidedOf(text: string | null) {
  let details: Record<string, unknown> = {};
  try {
    details = text === null ? {} : (JSON.parse(text) as Record<string, unknown>);
  } catch {
    // Another version wrote it; `tidegate ledger show` prints it.
  }
  const { lane, watermark, tookMs, effects } = details;
  return {
    lane: typeof lane === "string" ? lane : null,
    watermark: typeof watermark === "number" ? watermark : null,
    tookMs: typeof tookMs === "number" ? tookMs : null,
    effects: typeof effects === "object" ? (effects as Record<string, number> | null) : null,
  };
}
