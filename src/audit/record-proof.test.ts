import { expect, test } from "vitest";
import { createManualClock } from "../../test/support/manual-clock.ts";
import { ANY_INPUT } from "../../test/support/stores/any-input.ts";
import { formatInstant } from "../core/encoding/rfc3339.ts";
import { deterministicUuid } from "../core/encoding/uuid.ts";
import { TidegateError } from "../core/errors.ts";
import { eventKey, kindOf } from "../core/events/object-identity.ts";
import { epochMs } from "../core/units.ts";
import { recordKey } from "../ledger/record-key.ts";
import type { ListedRecord } from "../ports/ledger.ts";
import { createMemoryLedger } from "../stores/memory/ledger.ts";
import { checkRecords } from "./check-records.ts";
import { proofOf } from "./record-proof.ts";

const scope = { pipeline: "orders", generation: 0 };
const at = epochMs(1_700_000_000_000);
const object = { bucket: "b", key: "k", versionId: "v1", sequencer: "0055", etag: null, size: 1 };

function recordOf(name: string): ListedRecord {
  const { versionId, ...rest } = object;
  const event = eventKey({
    ...rest,
    kind: kindOf(name),
    event_name: name,
    version_id: versionId,
    request_id: null,
    event_time: formatInstant(at),
  });
  const input = { ...ANY_INPUT, kind: "object" as const, eventId: deterministicUuid(at, event) };
  return {
    key: recordKey(scope, event),
    input: { ...input, object, source: null, dedupeKey: null },
    record: { kind: "claimed" },
  } as ListedRecord;
}

test.each([
  "ObjectCreated:CompleteMultipartUpload",
  "LifecycleExpiration:DeleteMarkerCreated",
  "ObjectRestore:Completed",
  "ObjectTagging:Put",
  "ObjectAnnotation:Delete",
  "ObjectAcl:Put",
  "ObjectRetention:Put",
  "LifecycleTransition",
  "IntelligentTiering",
  "ReducedRedundancyLostObject",
  "Replication:OperationMissedThreshold",
])("a record of the event %s is proved, and one with another key is edited", (name) => {
  const record = recordOf(name);
  expect(proofOf(scope, record)).toBe("proved");
  const committed = { kind: "committed", effects: "{}" } as ListedRecord["record"];
  const { key } = recordOf("ObjectRestore:Post");
  const moved = { ...record, key, record: committed };
  expect(proofOf(scope, moved)).toBe("edited");
});

test("a ledger that keeps no lists has no problem: its records are not compared", async () => {
  const ledger = createMemoryLedger({ clock: createManualClock(at) });
  const off = () => Promise.reject(new TidegateError("TG_LISTING_OFF", "no lists"));
  const { show } = ledger;
  expect(await checkRecords({ listRecords: ledger.listRecords, show }, scope)).toEqual([]);
  expect(await checkRecords({ listRecords: off, show }, scope)).toBeNull();
});
