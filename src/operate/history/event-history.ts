// Event history: everything the ledger stores about an event, found by its object or its key.
//   Y1. All data was masked before it was written; only the ledger is read.
//   Y2. An object is found by the list of its records. A DynamoDB table without lists has the
//       newest event that was applied to it, the dossiers of dead-lettered events, and the notes of
//       events that were tried more than once. So have objects whose key is masked.
//   Y3. An own message is found by its business key in any state, because the record key follows
//       from it.
//   Y4. Any other text is searched in the names of all events: business key, event id, message id,
//       and object. A part of a name is enough. This reads all records of a scope, so it runs only
//       if Y2 and Y3 find nothing.
//   Y5. Code and configuration are those of the run that made the latest attempt.

import type { JsonObject, JsonValue } from "../../core/encoding/canonical-json.ts";
import { MASKED } from "../../core/encoding/secrets.ts";
import { TidegateError } from "../../core/errors.ts";
import { ownIdentities } from "../../core/events/own-message.ts";
import type { InputHash } from "../../core/input-hash.ts";
import type { EpochMs } from "../../core/units.ts";
import { type Dossier, decodeDossier } from "../../ingest/dead-letters/dossier.ts";
import { dossiersOf } from "../../ingest/dead-letters/dossier-list.ts";
import { type EditedCopies, editedIn } from "../../ingest/dead-letters/edited-note.ts";
import { findHeld, isHeldFailure } from "../../ingest/late/held-note.ts";
import { quarantineIn } from "../../ingest/quarantine/quarantine-access.ts";
import { findTried, objectDigest } from "../../ingest/running/tried-note.ts";
import { inputHashIn } from "../../ingest/stages/effects/effects-summary.ts";
import { recordKey } from "../../ledger/record-key.ts";
import { asRecordKey } from "../../ledger/record-state.ts";
import { namesOf } from "../../ledger/search-records.ts";
import type { Ledger, Note, RecordView, RunRow } from "../../ports/ledger.ts";
import type { LedgerScope, RecordInput, RecordKey } from "../../ports/record.ts";
import { outputOfRun, type RowsLocation } from "../lineage/recorded-facts.ts";
import { type LastDuplicate, lastDuplicate } from "./last-duplicate.ts";

/** What the ledger stores about a record. */
export interface EventHistory {
  readonly pipeline: string;
  readonly generation: number;
  readonly key: RecordKey;
  readonly object: { readonly bucket: string; readonly key: string } | null;
  /** The event's names, masked: object or business key, event id, message id. */
  readonly about: readonly string[];
  readonly input: RecordInput;
  /** The run of the latest attempt; null if it was not recorded (Y5). */
  readonly run: RunRow | null;
  /** Where the rows of that run are; null if it was not recorded. */
  readonly location: RowsLocation | null;
  /** Content hash of the committed effects. */
  readonly digest: string | null;
  /** Of the bytes of the input, or why it has no hash. */
  readonly content: InputHash;
  readonly state: RecordView["record"]["kind"];
  readonly attempts: number;
  readonly fence: number;
  readonly seenAt: EpochMs;
  readonly rememberedUntil: EpochMs;
  /** The owner of the claim, while there is one. */
  readonly heldBy: { readonly owner: string; readonly until: EpochMs } | null;
  readonly lane: string;
  readonly watermark: number | null;
  readonly tookMs: number | null;
  /** Rows that the commit left in quarantine. */
  readonly quarantined: number;
  /** How often each effect was requested; null until the commit. */
  readonly effects: Readonly<Record<string, number>> | null;
  /** A newer event of the object was applied first, so the effects of this one were skipped. */
  readonly superseded: boolean;
  /** Set if the record is parked because it was too late; `to` is the late queue. */
  readonly tooLate: { readonly to: string | null } | null;
  readonly duplicates:
    | ({ readonly count: number; readonly lastAt: EpochMs } & LastDuplicate)
    | null;
  readonly dossier: Dossier | null;
  /** Edited copies that were sent as new records, and the message of the latest. */
  readonly edited: EditedCopies | null;
  readonly entries: RecordView["entries"];
}

export interface HistoryQuery {
  /**
   * `s3://bucket/key`, a key in a bucket, a business key, an idempotency key, a record key, or any
   * part of an event's names (Y4).
   */
  readonly what: string;
  /** The bucket of a bare key. */
  readonly bucket?: string | null | undefined;
}

/** Histories per query. */
const HISTORIES_MAX = 100;
/** Records that a search looks at: those whose details contain the text anywhere. */
const CANDIDATES_MAX = 1_000;
const KEY = /^k\d+:/;
const OBJECT_URL = /^s3:\/\/([^/]+)\/(.+)$/s;

/** The histories that match `what`, oldest first. */
export async function findHistories(
  ledger: Ledger,
  scopes: readonly LedgerScope[],
  query: HistoryQuery,
): Promise<EventHistory[]> {
  const histories: EventHistory[] = [];
  for (const scope of scopes) {
    for (const key of await keysOf(ledger, scope, query)) {
      const history = await historyOf(ledger, scope, key);
      if (history !== null && histories.length < HISTORIES_MAX) histories.push(history);
    }
  }
  if (histories.length === 0) {
    // Y4
    for (const scope of scopes) histories.push(...(await searchHistories(ledger, scope, query)));
  }
  return histories.toSorted((a, b) => a.seenAt - b.seenAt);
}

async function keysOf(
  ledger: Ledger,
  scope: LedgerScope,
  { what, bucket: bucketDefault }: HistoryQuery,
): Promise<RecordKey[]> {
  if (KEY.test(what)) return [asRecordKey(what), recordKey(scope, what)];
  const business = ownIdentities(scope.pipeline, what).map((each) => recordKey(scope, each)); // Y3
  const [, bucket = bucketDefault ?? null, path = what] = OBJECT_URL.exec(what) ?? [];
  const keys = new Set<RecordKey>(business);
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
    for (const key of await objectKeys(ledger, scope, { bucket: each, key: path })) keys.add(key);
    const state = await ledger.showObject(scope, each, path);
    if (state !== undefined) keys.add(state.appliedKey);
  }
  return [...keys];
}

/** The records of an object, from its list (Y2). */
async function objectKeys(
  ledger: Ledger,
  scope: LedgerScope,
  { bucket, key }: { readonly bucket: string; readonly key: string },
): Promise<RecordKey[]> {
  try {
    const query = { by: "object", bucket, prefix: key } as const;
    const page = { after: null, limit: HISTORIES_MAX };
    const { records } = await ledger.listRecords(scope, query, page);
    return records.filter(({ input }) => input.object?.key === key).map((record) => record.key);
  } catch (error) {
    if (error instanceof TidegateError && error.code === "TG_LISTING_OFF") return [];
    throw error;
  }
}

/** The histories of events that have a name with `what` in it (Y4). */
async function searchHistories(
  ledger: Ledger,
  scope: LedgerScope,
  { what }: HistoryQuery,
): Promise<EventHistory[]> {
  if (what === "") return [];
  const keys = new Set(await ledger.searchRecords(scope, what, CANDIDATES_MAX));
  for await (const dossier of dossiersOf(ledger, scope)) {
    if (namesInDossier(dossier).some((name) => name.includes(what))) {
      keys.add(asRecordKey(dossier.record_key));
    }
  }
  const histories: EventHistory[] = [];
  for (const key of keys) {
    const history = await historyOf(ledger, scope, key);
    const matches = history?.about.some((name) => name.includes(what));
    if (history !== null && matches) histories.push(history);
    if (histories.length === HISTORIES_MAX) break;
  }
  return histories;
}

/** The names of a dead-lettered event; its payload has those of a message. */
function namesInDossier({ object, business_key, message_id, payload }: Dossier): string[] {
  const { event_id } = isJsonObject(payload) ? payload : {};
  const name = object === null ? null : `s3://${object.bucket}/${object.key}`;
  return [name, business_key, event_id, message_id].filter((each) => typeof each === "string");
}

function isJsonObject(value: JsonValue): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function duplicatesIn({ count, at: lastAt, body }: Note): EventHistory["duplicates"] {
  return { count, lastAt, ...lastDuplicate(body) };
}

/** The history of one record; null if the ledger does not have it. */
export async function historyOf(
  ledger: Ledger,
  scope: LedgerScope,
  key: RecordKey,
): Promise<EventHistory | null> {
  const view = await ledger.show(scope, key);
  if (view === undefined) return null;
  const { record, input, entries } = view;
  const isHeld = record.kind === "parked" && isHeldFailure(record.failure);
  const held = isHeld ? await findHeld(ledger, scope, key) : null;
  const [duplicates, note, edited, run] = await Promise.all([
    ledger.findNote(scope, "duplicates", key),
    ledger.findNote(scope, "dossier", key),
    ledger.findNote(scope, "edited", key),
    input.runId === "" ? undefined : ledger.findRun(scope, input.runId),
  ]);
  const dossier = note === undefined ? null : decodeDossier(note.body);
  const { kind, attempts, fence, seenAt, expiresAt } = record;
  const decided = decidedOf(record.kind === "committed" ? record.effects : null);
  return {
    ...scope,
    key,
    object: input.object ?? dossier?.object ?? null,
    input,
    run: run ?? null,
    location: run === undefined ? null : await outputOfRun(ledger, scope, run),
    digest: record.kind === "committed" ? record.digest : null,
    lane: input.lane.lane,
    watermark: input.lane.watermark,
    state: kind,
    attempts,
    fence,
    seenAt,
    rememberedUntil: expiresAt,
    heldBy: record.kind === "claimed" ? { owner: record.owner, until: record.leaseUntil } : null,
    ...decided,
    content: inputHashIn(record),
    about: namesOf(input),
    superseded: record.kind === "committed" && record.superseded,
    tooLate: isHeld ? { to: held?.held.to ?? null } : null,
    duplicates: duplicates === undefined ? null : duplicatesIn(duplicates),
    dossier,
    edited: edited === undefined ? null : editedIn(edited),
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
  const { tookMs, effects } = details;
  const quarantined = quarantineIn(text);
  return {
    tookMs: typeof tookMs === "number" ? tookMs : null,
    quarantined: quarantined?.rows ?? 0,
    effects: typeof effects === "object" ? (effects as Record<string, number> | null) : null,
  };
}
