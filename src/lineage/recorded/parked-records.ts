// Parked records: the dead letters and held records whose last attempt a run made.
//   P1. Every note is read, however many there are, and one page is in memory at a time
//       (ledger/every-note.ts).
//   P2. A note is not older than the attempt that parked its record, so notes from before the day
//       are skipped without a look at the record.
//   P3. A dead letter has a dossier and a held record a held note, so each is listed once.
//   P4. A slice is bounded by names. A record that is redriven between two passes leaves its slice
//       and enters no other.

import { compareUtf8 } from "../../core/encoding/utf8-order.ts";
import { addMs, type DurationMs, days, durationMs, type EpochMs } from "../../core/units.ts";
import { isHeldFailure } from "../../ingest/late/held-note.ts";
import { everyNote } from "../../ledger/every-note.ts";
import type { Ledger, ListedRecord } from "../../ports/ledger.ts";
import type { RecordKey } from "../../ports/record.ts";
import { CLOCK_SLACK_MS, type RecordedRun } from "./recorded-run.ts";

const KINDS = ["dossier", "held"] as const;
const DAY_MS: DurationMs = days(1);

/** A bounded number of parked records of one kind, by the names of their notes. */
export interface ParkedSlice {
  readonly kind: (typeof KINDS)[number];
  readonly after: string | null;
  /** The last name; null for all that follow. */
  readonly until: string | null;
}

/** The parked records of a run and a UTC day, in slices of at most `size`. */
export async function sliceParked(
  ledger: Ledger,
  run: RecordedRun,
  day: EpochMs,
  size: number,
): Promise<ParkedSlice[]> {
  const slices: ParkedSlice[] = [];
  for (const kind of KINDS) {
    let slice = { kind, after: null as string | null, until: null as string | null };
    let records = 0;
    for await (const { key } of parkedIn(ledger, run, slice, day)) {
      if (records === size) {
        slices.push(slice);
        slice = { kind, after: slice.until, until: null };
        records = 0;
      }
      records += 1;
      slice = { ...slice, until: key };
    }
    if (records > 0) slices.push({ ...slice, until: null });
  }
  return slices;
}

/** All parked records of a run, or those of a UTC day of their last attempt. */
export async function* parkedBy(
  ledger: Ledger,
  run: RecordedRun,
  day: EpochMs | null = null,
): AsyncGenerator<ListedRecord> {
  for (const kind of KINDS) yield* parkedIn(ledger, run, { kind, after: null, until: null }, day);
}

/** The parked records of a slice. */
export async function* parkedIn(
  ledger: Ledger,
  { scope, row }: RecordedRun,
  { kind, after: start, until }: ParkedSlice,
  day: EpochMs | null,
): AsyncGenerator<ListedRecord> {
  const oldest = day === null ? null : addMs(day, durationMs(-CLOCK_SLACK_MS));
  for await (const { name, at } of everyNote(ledger, scope, kind, start)) {
    // P1
    if (until !== null && compareUtf8(name, until) > 0) return; // P4
    if (name.includes(" ")) continue; // A part of a held message.
    if (oldest !== null && at < oldest) continue; // P2
    const view = await ledger.show(scope, name as RecordKey);
    if (view?.record.kind !== "parked" || view.input.runId !== row.id) continue;
    if (isHeldFailure(view.record.failure) !== (kind === "held")) continue; // P3
    const { changedAt } = view.record;
    if (day !== null && (changedAt < day || changedAt >= addMs(day, DAY_MS))) continue;
    yield { key: view.key, record: view.record, input: view.input };
  }
}
