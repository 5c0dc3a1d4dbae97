// Recorded facts: what the ledger knows of a table, an object or one record, as facts for lineage
// documents.
//   F1. A replay into a shadow wrote to no live output before its promotion. So it is not among the
//       runs of a table or an object; its own document has it.

import type { EpochMs } from "../../core/units.ts";
import { everyRecord } from "../../ledger/every-record.ts";
import type { LineageFacts } from "../../lineage/lineage-facts.ts";
import { manifestInputOf, storedJson } from "../../lineage/recorded/manifest-input.ts";
import {
  factsOf,
  type LocationOf,
  type RecordedRun,
  refuseMany,
} from "../../lineage/recorded/recorded-run.ts";
import type { Ledger, ListedRecord, RecordQuery, RunRow } from "../../ports/ledger.ts";
import type { LedgerScope } from "../../ports/record.ts";
import { isPromotionNoted } from "../../replay/replay-registry.ts";
import { hasPromotedShadow } from "./row-lineage.ts";

const PAGE_RUNS = 100;

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
  for await (const listed of everyRecord(ledger, scope, { by: "commit-time" })) {
    if (!Object.hasOwn(manifestInputOf(listed).wrote, output)) continue;
    const { runId } = listed.input;
    if (!(await isLive(runId))) continue; // F1
    records += 1;
    refuseMany(`the table ${output}`, records, `name one row, ${output}:KEY, or one run`);
    const ofRun = byRun.get(runId) ?? [];
    ofRun.push(listed);
    byRun.set(runId, ofRun);
  }
  return await factsByRun(ledger, scope, byRun, locationOf);
}

/** Whether a run wrote to live outputs (F1); asks once per run. */
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

/** Where the rows of a run are: in live tables from the start, in a shadow, or promoted (F1). */
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
  for await (const listed of everyRecord(ledger, scope, query)) {
    if (listed.input.object?.key !== prefix) break; // Longer keys with this prefix follow.
    const { runId } = listed.input;
    if (!(await isLive(runId))) continue; // F1
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
