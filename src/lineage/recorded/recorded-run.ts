// Recorded run: what the ledger knows of a run, as facts for lineage documents.
//   R1. Only the ledger is read. What it masks stays masked.
//   R2. A run has the records whose latest attempt it made. Committed ones are found by commit
//       time, within the life of the run.
//   R3. Lineage documents are built in memory, so more than RECORDS_MAX records are refused.
//       Manifests are written as streams (recorded-manifest.ts).

import { refuseValue } from "../../core/errors.ts";
import { addMs, type DurationMs, durationMs, hours } from "../../core/units.ts";
import { inputHashIn } from "../../ingest/stages/effects/effects-summary.ts";
import { everyRecord } from "../../ledger/every-record.ts";
import type { Ledger, ListedRecord, RunRow } from "../../ports/ledger.ts";
import type { LedgerScope } from "../../ports/record.ts";
import type { LineageFacts, LineageInput, LineageOutput, LineageRun } from "../lineage-facts.ts";
import { createManifestSums, type OutputLocation } from "../run-manifest.ts";
import { byEventTime, manifestInputOf, storedJson } from "./manifest-input.ts";

/** Records in one lineage document (R3). */
export const RECORDS_MAX = 100_000;
/** Commits may be dated a little before a start and after an end, by another clock. */
export const CLOCK_SLACK_MS: DurationMs = hours(1);

export interface RecordedRun {
  readonly scope: LedgerScope;
  readonly row: RunRow;
}

/** Where the outputs of a pipeline are, by name. */
export type LocationOf = (output: string) => OutputLocation;

/** The run with that id, in any of the scopes. */
export async function findRecordedRun(
  ledger: Ledger,
  scopes: readonly LedgerScope[],
  id: string,
): Promise<RecordedRun | null> {
  for (const scope of scopes) {
    const row = await ledger.findRun(scope, id);
    if (row !== undefined) return { scope, row };
  }
  return null;
}

/** The committed records of a run (R2). */
export async function* committedBy(ledger: Ledger, { scope, row }: RecordedRun) {
  const from = addMs(row.startedAt, durationMs(-CLOCK_SLACK_MS));
  const to = addMs(row.endedAt ?? row.seenAt, CLOCK_SLACK_MS);
  for await (const listed of everyRecord(ledger, scope, { by: "commit-time", from, to })) {
    if (listed.input.runId === row.id) yield listed;
  }
}

/** The facts of a whole run. */
export async function factsOfRun(
  ledger: Ledger,
  run: RecordedRun,
  locationOf: LocationOf,
): Promise<LineageFacts> {
  const records: ListedRecord[] = [];
  for await (const listed of committedBy(ledger, run)) {
    records.push(listed);
    refuseMany(`the run ${run.row.id}`, records.length, "use tidegate runs manifest");
  }
  return factsOf(run, records, locationOf);
}

/** R3 */
export function refuseMany(name: string, records: number, fix: string): void {
  if (records <= RECORDS_MAX) return;
  refuseValue(`${name} has more than ${RECORDS_MAX} records, too many for one document; ${fix}`);
}

/** The facts of some records of a run. */
export function factsOf(
  { scope, row }: RecordedRun,
  records: readonly ListedRecord[],
  locationOf: LocationOf,
): LineageFacts {
  const sums = createManifestSums();
  for (const input of records.map(manifestInputOf).toSorted(byEventTime)) sums.add(input);
  const outputs: LineageOutput[] = sums.outputs(locationOf).map((output) => ({ ...output }));
  return { run: lineageRunOf(scope, row), inputs: records.map(lineageInputOf), outputs };
}

/** The run of a ledger's row, for documents and events. */
export function lineageRunOf(scope: LedgerScope, row: RunRow): LineageRun {
  const { id, kind, startedAt, endedAt, codeDigest, configDigest } = row;
  const environment = storedJson(row.environment);
  return {
    id,
    kind,
    pipeline: scope.pipeline,
    generation: scope.generation,
    startedAt,
    endedAt,
    codeDigest,
    configDigest,
    version: String(environment.tidegate ?? "unknown"),
    window: null,
    revisionOf: null,
    failure: null,
  };
}

function lineageInputOf({ key, record, input }: ListedRecord): LineageInput {
  const { eventId, object, source, messageId, eventTime } = input;
  const { hash } = inputHashIn(record);
  return { recordKey: key, eventId, object, source, messageId, eventTime, hash };
}
