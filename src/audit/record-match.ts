// Record match: which records are about the creation of an object version.
//   M1. The key of a record is a hash of its event, so it proves what the event was: a creation, a
//       removal, or something else, such as new tags or a redrive of single rows.
//   M2. A listed record is proved by the time of the listed object, as it has no sequencer.
//   M3. Applied records of an object have one order: that of their sequencers. A listed one has the
//       place that its commit got (Q3 of sequencer.ts). Clocks of commits have no say: those of two
//       consumers may differ. Only records without a place are ordered by time, before all others.

import { formatInstant } from "../core/encoding/rfc3339.ts";
import { eventKey, objectStateOf } from "../core/events/object-identity.ts";
import { compareSequencers } from "../core/events/sequencer.ts";
import type { EpochMs } from "../core/units.ts";
import { recordKey } from "../ledger/record-key.ts";
import type { ListedObject } from "../ports/objects/object-lister.ts";
import type {
  CommittedRecord,
  Failure,
  InputObject,
  LedgerScope,
  RecordInput,
  RecordKey,
} from "../ports/record.ts";

export type MatchKind = "created" | "listed" | "removed" | "other";

/** What an audit reads of a record; a ListedRecord is one. */
export interface AuditedRecord {
  readonly key: RecordKey;
  readonly record: AuditedState;
  readonly input: Pick<RecordInput, "eventTime" | "object">;
  /** What the event was, if the reader has proved it (M1). */
  readonly proved?: MatchKind | undefined;
}

export type AuditedState =
  | Pick<CommittedRecord, "kind" | "changedAt" | "effects" | "superseded">
  | { readonly kind: "parked" | "failed"; readonly changedAt: EpochMs; readonly failure: Failure }
  | { readonly kind: "claimed" | "released"; readonly changedAt: EpochMs };

type Identity = Pick<InputObject, "bucket" | "key" | "versionId" | "sequencer">;

/** What the event of a record was; `listedAt` is the time of the object that it is about. */
export function kindOfRecord(
  scope: LedgerScope,
  { key, input, proved }: Omit<AuditedRecord, "record">,
  listedAt: EpochMs | null,
): MatchKind {
  if (proved !== undefined) return proved;
  const { object } = input;
  if (object === null) return "other";
  if (object.sequencer !== null) {
    // Removals have no size, so the likely kind is tried first.
    const first = object.size === null ? "removed" : "created";
    const second = first === "created" ? "removed" : "created";
    if (keyOf(scope, object, first, input.eventTime) === key) return first; // M1
    return keyOf(scope, object, second, input.eventTime) === key ? second : "other";
  }
  const isAt = (at: EpochMs) => keyOf(scope, object, "created", at) === key; // M2
  return isAt(input.eventTime) || (listedAt !== null && isAt(listedAt)) ? "listed" : "other";
}

function keyOf(
  scope: LedgerScope,
  { bucket, key, versionId, sequencer }: Identity,
  kind: "created" | "removed",
  at: EpochMs,
): RecordKey {
  const identity = eventKey({
    kind,
    event_name: "",
    bucket,
    key,
    version_id: versionId,
    etag: null,
    size: null,
    sequencer,
    request_id: null,
    event_time: sequencer === null ? formatInstant(at) : "",
  });
  return recordKey(scope, identity);
}

/** The sequencer of an event, or the place of a listed record if it was committed (M3). */
export function placeOfRecord({ record, input }: AuditedRecord): string | null {
  const { sequencer = null } = input.object ?? {};
  if (sequencer !== null || record.kind !== "committed") return sequencer;
  try {
    const effects = JSON.parse(record.effects ?? "{}") as { sequencer?: unknown };
    return typeof effects.sequencer === "string" ? effects.sequencer : null;
  } catch {
    return null;
  }
}

/** Negative when `left` was applied first (M3). */
export function compareApplied(left: AppliedAt, right: AppliedAt): number {
  if (left.sequencer === null || right.sequencer === null) {
    const places = Number(left.sequencer !== null) - Number(right.sequencer !== null);
    return places || left.changedAt - right.changedAt;
  }
  return compareSequencers(left.sequencer, right.sequencer);
}

interface AppliedAt {
  readonly sequencer: string | null;
  readonly changedAt: EpochMs;
}

/** The name of the state that a listed object is in, as the object's row has it. */
export function stateOfListed({ versionId, etag, size }: ListedObject): string {
  const parts = { kind: "created", event_name: "", bucket: "", key: "", request_id: null } as const;
  const times = { event_time: "", sequencer: null };
  return objectStateOf({ ...parts, ...times, version_id: versionId, etag, size }) ?? "";
}

/** Whether a record is about this very version; without versions, about the same bytes. */
export function isAbout(object: InputObject, version: ListedObject): boolean {
  if (version.versionId !== null) return object.versionId === version.versionId;
  if (object.versionId !== null) return false;
  return object.etag === version.etag && object.size === version.size;
}
