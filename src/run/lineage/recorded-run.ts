// Recorded run: what the ledger knows of a run, as facts for lineage documents.
//   R1. Only the ledger is read. What it masks stays masked.
//   R2. A run has the records whose latest attempt it made. Committed ones are found by commit
//       time, within the life of the run.
//   R3. Lineage documents are built in memory, so more than RECORDS_MAX records are refused.
//       Manifests are written as streams (recorded-manifest.ts).
//   R4. A replay into a shadow wrote to no live output before its promotion. So it is not among the
//       runs of a table or an object; its own document has it.

import { TidegateError } from "../../core/errors.ts";
import { addMs, type DurationMs, durationMs, type EpochMs, hours } from "../../core/units.ts";
import { inputHashIn } from "../../ingest/stages/effects/effects-summary.ts";
import type {
  LineageFacts,
  LineageInput,
  LineageOutput,
  LineageRun,
} from "../../lineage/lineage-facts.ts";
import { createManifestSums, type OutputLocation } from "../../lineage/run-manifest.ts";
import type { Ledger, ListedRecord, RecordQuery, RunRow } from "../../ports/ledger.ts";
import type { LedgerScope } from "../../ports/record.ts";
import { isPromotionNoted } from "../../replay/replay-registry.ts";
import { byEventTime, manifestInputOf, storedJson } from "./manifest-input.ts";
import { hasPromotedShadow } from "./row-lineage.ts";

/** Records in one lineage document (R3). */
export const RECORDS_MAX = 100_000;
const PAGE_RECORDS = 500;
const PAGE_RUNS = 100;
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

/** The newest runs of several scopes, by their start. */
export async function newestRuns(
  ledger: Ledger,
  scopes: readonly LedgerScope[],
  limit: number,
): Promise<RecordedRun[]> {
  const runs: RecordedRun[] = [];
  for (const scope of scopes) {
    let after: string | null = null;
    let remaining = limit;
    do {
      const page = await ledger.listRuns(scope, { after, limit: PAGE_RUNS });
      runs.push(...page.runs.map((row) => ({ scope, row })));
      remaining -= page.runs.length;
      after = remaining > 0 ? page.next : null;
    } while (after !== null);
  }
  const newest = (a: RecordedRun, b: RecordedRun) =>
    b.row.startedAt - a.row.startedAt || (a.row.id < b.row.id ? 1 : -1);
  return runs.toSorted(newest).slice(0, limit);
}

/** All records of a query, page by page. */
export async function* recordsOf(
  ledger: Ledger,
  scope: LedgerScope,
  query: RecordQuery,
): AsyncGenerator<ListedRecord> {
  let after: string | null = null;
  do {
    const page = await ledger.listRecords(scope, query, { after, limit: PAGE_RECORDS });
    yield* page.records;
    after = page.next;
  } while (after !== null);
}

/** The committed records of a run (R2). */
export async function* committedBy(ledger: Ledger, { scope, row }: RecordedRun) {
  const from = addMs(row.startedAt, durationMs(-CLOCK_SLACK_MS));
  const to = addMs(row.endedAt ?? row.seenAt, CLOCK_SLACK_MS);
  for await (const listed of recordsOf(ledger, scope, { by: "commit-time", from, to })) {
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
function refuseMany(name: string, records: number, fix: string): void {
  if (records <= RECORDS_MAX) return;
  const message = `${name} has more than ${RECORDS_MAX} records, too many for one document; ${fix}`;
  throw new TidegateError("TG_VALUE_INVALID", message);
}

/** The facts about one output: for each run that wrote to it, the records that did. */
export async function factsOfOutput(
  ledger: Ledger,
  scope: LedgerScope,
  output: string,
  locationOf: LocationOf,
): Promise<LineageFacts[]> {
  const byRun = new Map<string, ListedRecord[]>();
  const isLive = liveRuns(ledger, scope);
  let records = 0;
  for await (const listed of recordsOf(ledger, scope, { by: "commit-time" })) {
    if (!Object.hasOwn(manifestInputOf(listed).wrote, output)) continue;
    const { runId } = listed.input;
    if (!(await isLive(runId))) continue; // R4
    records += 1;
    refuseMany(`the table ${output}`, records, `name one row, ${output}:KEY, or one run`);
    const ofRun = byRun.get(runId) ?? [];
    ofRun.push(listed);
    byRun.set(runId, ofRun);
  }
  return await factsByRun(ledger, scope, byRun, locationOf);
}

/** Whether a run wrote to live outputs (R4); asks once per run. */
function liveRuns(ledger: Ledger, scope: LedgerScope): (id: string) => Promise<boolean> {
  const answers = new Map<string, Promise<boolean>>();
  return (id) => {
    const answer = answers.get(id) ?? isLiveRun(ledger, scope, id);
    answers.set(id, answer);
    return answer;
  };
}

async function isLiveRun(ledger: Ledger, scope: LedgerScope, id: string): Promise<boolean> {
  const row = await ledger.findRun(scope, id);
  return row === undefined || (await outputOfRun(ledger, scope, row)) !== "shadow";
}

/** Where the rows of a run are: in live tables from the start, in a shadow, or promoted (R4). */
export type RowsLocation = "live" | "shadow" | "promoted";

export async function outputOfRun(
  ledger: Ledger,
  scope: LedgerScope,
  { id, kind, parameters }: RunRow,
): Promise<RowsLocation> {
  if (kind !== "replay" || storedJson(parameters).into !== "shadow") return "live";
  if (await isPromotionNoted(ledger, scope)) return "promoted";
  return (await hasPromotedShadow(ledger, id)) ? "promoted" : "shadow";
}

async function factsByRun(
  ledger: Ledger,
  scope: LedgerScope,
  byRun: ReadonlyMap<string, readonly ListedRecord[]>,
  locationOf: LocationOf,
): Promise<LineageFacts[]> {
  const facts: LineageFacts[] = [];
  for (const [id, records] of byRun) {
    const row = (await ledger.findRun(scope, id)) ?? unrecordedRun(id, records);
    facts.push(factsOf({ scope, row }, records, locationOf));
  }
  return facts.toSorted((a, b) => a.run.startedAt - b.run.startedAt);
}

/** The facts about one object: for each run that committed versions of it, those versions. */
export async function factsOfObject(
  ledger: Ledger,
  scope: LedgerScope,
  object: { readonly bucket: string; readonly key: string },
  locationOf: LocationOf,
): Promise<LineageFacts[]> {
  const { bucket, key: prefix } = object;
  const byRun = new Map<string, ListedRecord[]>();
  const isLive = liveRuns(ledger, scope);
  const query: RecordQuery = { by: "object", bucket, prefix, outcomes: ["committed"] };
  for await (const listed of recordsOf(ledger, scope, query)) {
    if (listed.input.object?.key !== prefix) break; // Longer keys with this prefix follow.
    const { runId } = listed.input;
    if (!(await isLive(runId))) continue; // R4
    byRun.set(runId, [...(byRun.get(runId) ?? []), listed]);
  }
  return await factsByRun(ledger, scope, byRun, locationOf);
}

/** The facts about one record: the run that committed it, its object or message, its outputs. */
export async function factsOfRecord(
  ledger: Ledger,
  { scope, listed }: { readonly scope: LedgerScope; readonly listed: ListedRecord },
  locationOf: LocationOf,
): Promise<LineageFacts> {
  const { runId } = listed.input;
  const row = (await ledger.findRun(scope, runId)) ?? unrecordedRun(runId, [listed]);
  return factsOf({ scope, row }, [listed], locationOf);
}

/** A run whose row expired, or whose process died before it wrote one. */
function unrecordedRun(id: string, records: readonly ListedRecord[]): RunRow {
  const times = records.map(({ record }) => record.changedAt).toSorted((a, b) => a - b);
  const startedAt = times[0] as EpochMs;
  const unknown = "0".repeat(64);
  return {
    id,
    kind: "live",
    startedAt,
    endedAt: null,
    seenAt: times.at(-1) as EpochMs,
    codeDigest: unknown,
    configDigest: unknown,
    environment: "{}",
    parameters: "{}",
    counts: "{}",
  };
}

function factsOf(
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
