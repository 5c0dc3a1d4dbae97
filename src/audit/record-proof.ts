// Record proof: whether the stored fields of a record fit together. Nothing in it is secret, so it
// finds edits and accidents, not somebody who computes keys as Tidegate does.
//   Q1. The key of a record is a hash of its event. It is computed again from the stored input, and
//       so is the id of an object's event, which has the time of the event, too.
//   Q2. What cannot be computed again is never a problem: values that are masked or cut, bodies
//       that cannot be read, and events that only their request id tells apart.
//   Q3. The redrive of quarantined rows is a record with the event of another one. Its commit names
//       the set that its key is made of; before its commit, nothing proves it.
//   Q4. State and log are one write, so the last outcome in the log is that of the state.

import { formatInstant } from "../core/encoding/rfc3339.ts";
import { HIDDEN_TEXT, MASKED } from "../core/encoding/secrets.ts";
import { deterministicUuid, parseUuid } from "../core/encoding/uuid.ts";
import { envelopeKey } from "../core/events/envelope.ts";
import { eventKey, kindOf } from "../core/events/object-identity.ts";
import { ownIdentities } from "../core/events/own-message.ts";
import { type EpochMs, epochMs } from "../core/units.ts";
import { redriveKey } from "../ingest/quarantine/quarantine.ts";
import { redrivenIn } from "../ingest/stages/effects/effects-summary.ts";
import { INPUT_TEXT_CHARS_MAX } from "../ledger/input-checks.ts";
import { recordKey } from "../ledger/record-key.ts";
import type { ListedRecord, RecordView } from "../ports/ledger.ts";
import type { EntryStatus, InputObject, LedgerScope } from "../ports/record.ts";

export type RecordProof = "proved" | "unprovable" | "edited";

/** All events of objects that S3 documents; creations and removals share one name each in a key. */
const EVENT_NAMES = [
  "ObjectCreated:Put",
  "ObjectRemoved:Delete",
  "ObjectRestore:Post",
  "ObjectRestore:Completed",
  "ObjectRestore:Delete",
  "ObjectTagging:Put",
  "ObjectTagging:Delete",
  "ObjectAnnotation:Put",
  "ObjectAnnotation:Delete",
  "ObjectAcl:Put",
  "ObjectRetention:Put",
  "LifecycleTransition",
  "IntelligentTiering",
  "ReducedRedundancyLostObject",
  "Replication:OperationFailedReplication",
  "Replication:OperationMissedThreshold",
  "Replication:OperationNotTracked",
  "Replication:OperationReplicatedAfterThreshold",
];

/** What the key and the event id of a record prove of its input (Q1). */
export function proofOf(scope: LedgerScope, listed: ListedRecord): RecordProof {
  const { key, input } = listed;
  const { kind, object, source, dedupeKey, eventId } = input;
  const texts = [object?.bucket, object?.key, object?.versionId, source, dedupeKey, eventId];
  if (!texts.every(isWhole) || kind === "unusable") return "unprovable"; // Q2
  switch (kind) {
    case "object":
      return object === null ? "unprovable" : proofOfObject(scope, listed, object);
    case "message": {
      if (source === null || dedupeKey === null) return "edited";
      return recordKey(scope, envelopeKey(source, dedupeKey)) === key ? "proved" : "edited";
    }
    case "own": {
      if (dedupeKey === null) return "unprovable";
      const identities = ownIdentities(scope.pipeline, dedupeKey);
      return identities.some((each) => recordKey(scope, each) === key) ? "proved" : "edited";
    }
    default:
      return "edited"; // Not a kind that Tidegate writes.
  }
}

/** Q2 */
function isWhole(text: string | null | undefined): boolean {
  if (text == null) return true;
  if (text.includes(MASKED) || text.includes(HIDDEN_TEXT) || text.includes("\ufffd")) return false;
  return text.length < INPUT_TEXT_CHARS_MAX;
}

function proofOfObject(
  scope: LedgerScope,
  { key, record, input: { eventId } }: ListedRecord,
  object: InputObject,
): RecordProof {
  const at = eventId === null ? null : (parseUuid(eventId)?.timeMs ?? null);
  if (at === null) return "edited";
  const events = identitiesOf(object, epochMs(at));
  const event = events.find((each) => deterministicUuid(epochMs(at), each) === eventId);
  if (event === undefined) return object.sequencer === null ? "unprovable" : "edited"; // Q2
  if (recordKey(scope, event) === key) return "proved";
  if (record.kind !== "committed" || record.effects === null) return "unprovable"; // Q3
  const set = redrivenIn(record.effects);
  return set !== null && redriveKey(scope, set) === key ? "proved" : "edited"; // Q3
}

/** The keys of all events that may have left this input. */
function identitiesOf(object: InputObject, at: EpochMs): string[] {
  const { bucket, key, versionId, sequencer } = object;
  return EVENT_NAMES.map((name) =>
    eventKey({
      kind: kindOf(name),
      event_name: name,
      bucket,
      key,
      version_id: versionId,
      etag: null,
      size: null,
      sequencer,
      request_id: null,
      event_time: formatInstant(at),
    }),
  );
}

const OUTCOMES: Readonly<Record<string, readonly EntryStatus[]>> = {
  committed: ["succeeded", "superseded"],
  parked: ["failed"],
  failed: ["failed"],
  released: ["released", "reopened"],
  claimed: ["started"],
};

/** What in the log of a record does not fit its state; null if nothing (Q4). */
export function logProblem({ record, entries }: RecordView): string | null {
  const last = entries.at(-1);
  if (last === undefined) return "its log is empty";
  const allowed = OUTCOMES[record.kind] ?? [];
  if (!allowed.includes(last.status)) return `its log ends with "${last.status}"`;
  if (last.fence !== record.fence) return `its log ends with the fence ${last.fence}`;
  const isMoved = record.kind !== "claimed" && last.at !== record.changedAt;
  if (isMoved) return "its log ends at another time than its state";
  const isInOrder = entries.every((entry, at) => {
    const previous = entries[at - 1];
    if (previous === undefined || previous.fence < entry.fence) return true;
    return previous.fence === entry.fence && previous.seq < entry.seq;
  });
  return isInOrder ? null : "the entries of its log are not in order";
}
