// Reader pages: pages of records as they travel from a reading thread to the audit.
//   P1. A page is one flat array of texts and numbers. Copying an object for each record from
//       thread to thread would take longer than reading it.
//   P2. A record travels with what an audit reads of it. The thread proves what its event was, so
//       that both threads share the hashes; a record without a sequencer is proved by the time of
//       the listed object (M2 of record-match.ts), which only the audit knows.
//   P3. Most records are committed and not superseded: their state travels as null. The effects of
//       a record only matter if it has no sequencer.

import {
  type AuditedRecord,
  type AuditedState,
  kindOfRecord,
  type MatchKind,
} from "../../audit/record-match.ts";
import { assert, present } from "../../core/assert.ts";
import type { EpochMs } from "../../core/units.ts";
import { inputVersionOf } from "../../ledger/record-input.ts";
import type { FlatRecord } from "../../ledger/rows/flat-records.ts";
import type { LedgerScope, RecordKey } from "../../ports/record.ts";

export type FlatPage = readonly (string | number | null | AuditedState)[];

const RECORD_VALUES = 10;

export function packRecords(
  scope: LedgerScope,
  bucket: string,
  records: readonly FlatRecord[],
): FlatPage {
  const values: (string | number | null | AuditedState)[] = [];
  for (const [text, kind, changed, , time, object, detail, input] of records) {
    const key = text as RecordKey;
    const changedAt = changed as EpochMs;
    const eventTime = time as EpochMs;
    const version = present(inputVersionOf(input), "the object of a record in a list by object");
    const [versionId, etag, size, sequencer] = version;
    const state = stateOf(kind, changedAt, detail, sequencer !== null);
    const from = { eventTime, object: { bucket, key: object, versionId, etag, size, sequencer } };
    const listed = { key, input: from };
    const proved = sequencer === null ? null : kindOfRecord(scope, listed, null); // P2
    values.push(key, changedAt, eventTime, object);
    values.push(versionId, etag, size, sequencer, proved, state);
  }
  return values;
}

function stateOf(
  kind: string,
  changedAt: EpochMs,
  detail: string | null,
  hasSequencer: boolean,
): AuditedState | null {
  switch (kind) {
    case "claimed":
    case "released":
      return { kind, changedAt };
    case "failed":
    case "parked":
      return { kind, changedAt, failure: JSON.parse(present(detail, "the failure of a record")) };
    case "committed": {
      const { effects = null, superseded = false } = detail === null ? {} : JSON.parse(detail);
      if (hasSequencer && !superseded) return null; // P3
      return { kind, changedAt, effects: hasSequencer ? null : effects, superseded };
    }
    default:
      assert(false, `a record is in state ${kind}`);
  }
}

export function unpackRecords(bucket: string, values: FlatPage): AuditedRecord[] {
  const records: AuditedRecord[] = [];
  for (let at = 0; at < values.length; at += RECORD_VALUES) {
    const changedAt = values[at + 1] as EpochMs;
    const state = values[at + 9] as AuditedState | null;
    records.push({
      key: values[at] as RecordKey,
      record: state ?? { kind: "committed", changedAt, effects: null, superseded: false },
      input: {
        eventTime: values[at + 2] as EpochMs,
        object: {
          bucket,
          key: values[at + 3] as string,
          versionId: values[at + 4] as string | null,
          etag: values[at + 5] as string | null,
          size: values[at + 6] as number | null,
          sequencer: values[at + 7] as string | null,
        },
      },
      proved: (values[at + 8] ?? undefined) as MatchKind | undefined,
    });
  }
  return records;
}
