// Recorded manifest: the manifest of a run or of one of its parts, from the ledger.
//   M1. Only the ledger is read, so the manifest of a process that was killed is complete.
//   M2. A whole manifest is written as a stream: a first pass finds the span of event times, a
//       second one lists it in order.
//   M3. A live run is split by UTC day of the commit, and a day with many records into parts of
//       about PART_RECORDS in the order of commits. A part is sorted in memory. Once a day is over,
//       or the run is, its parts do not change: every process writes the same bytes.
//   M4. Dead letters and held records belong to the first part of the day of their last attempt.

import {
  addMs,
  type DurationMs,
  days,
  durationMs,
  type EpochMs,
  epochMs,
} from "../../core/units.ts";
import {
  createManifestSums,
  type ManifestHead,
  type ManifestInput,
  type ManifestTail,
  manifestInstant,
  writeManifest,
} from "../../lineage/run-manifest.ts";
import type { Ledger, ListedRecord, RecordPage, RecordQuery } from "../../ports/ledger.ts";
import type { LedgerScope, RecordKey } from "../../ports/record.ts";
import { byEventTime, manifestInputOf, storedJson } from "./manifest-input.ts";
import {
  CLOCK_SLACK_MS,
  committedBy,
  type LocationOf,
  type RecordedRun,
  recordsOf,
} from "./recorded-run.ts";

/** Records of one part, up to a page more (M3). */
export const PART_RECORDS = 50_000;
const PAGE_RECORDS = 500;
const NOTES_PER_PAGE = 100;
/** Notes that one part looks at, of each kind. */
const NOTES_MAX = 100_000;
const DAY_MS: DurationMs = days(1);

/** Inputs that a replay does without. */
export type MissingInputs = ManifestTail["missing"];

/** The manifest of a whole run, in pieces of text (M2). */
export async function* manifestOfRun(
  ledger: Ledger,
  run: RecordedRun,
  locationOf: LocationOf,
  missing: MissingInputs = [],
): AsyncGenerator<string> {
  const span = await spanOf(ledger, run);
  async function* inputs() {
    if (span === null) return;
    const to = addMs(span.to, durationMs(1));
    const query: RecordQuery = { by: "event-time", from: span.from, to };
    for await (const listed of recordsOf(ledger, run.scope, query)) {
      if (listed.input.runId === run.row.id) yield listed;
    }
  }
  const { endedAt } = run.row;
  const head = headOf(run, { part: 1, day: null, endedAt });
  yield* manifestText(head, inputs(), locationOf, missing);
}

async function spanOf(ledger: Ledger, run: RecordedRun) {
  let span: { from: EpochMs; to: EpochMs } | null = null;
  for await (const { input } of committedBy(ledger, run)) {
    const { eventTime } = input;
    const from = Math.min(span?.from ?? eventTime, eventTime) as EpochMs;
    const to = Math.max(span?.to ?? eventTime, eventTime) as EpochMs;
    span = { from, to };
  }
  return span;
}

async function* manifestText(
  head: ManifestHead,
  listed: AsyncIterable<ListedRecord> | Iterable<ListedRecord>,
  locationOf: LocationOf,
  gone: MissingInputs,
): AsyncGenerator<string> {
  const sums = createManifestSums();
  const missing = [...gone];
  async function* inputs(): AsyncGenerator<ManifestInput> {
    for await (const each of listed) {
      const input = manifestInputOf(each);
      sums.add(input);
      missing.push(...missingObject(each, input));
      yield input;
    }
  }
  yield* writeManifest(head, inputs(), () => ({
    outputs: sums.outputs(locationOf),
    counts: sums.counts(),
    late: sums.late(),
    missing,
  }));
}

/** An object that was gone when its event was processed. */
function missingObject({ record }: ListedRecord, { uri, messageId }: ManifestInput): MissingInputs {
  if (record.kind !== "parked" || record.failure.errorClass !== "missing-object") return [];
  return [{ uri: uri ?? messageId ?? "", reason: record.failure.message }];
}

/** One part of a live run (M3). */
export interface ManifestPart {
  /** `2026-03-01`. */
  readonly day: string;
  /** Counts from 1 in each day. */
  readonly part: number;
  /** The text, in pieces. */
  text(): AsyncIterable<string>;
}

/** The UTC days of a run, of which the ends may be empty because of other clocks. */
export function daysOf({ row }: RecordedRun): EpochMs[] {
  const first = dayOf(addMs(row.startedAt, durationMs(-CLOCK_SLACK_MS)));
  const last = dayOf(addMs(row.endedAt ?? row.seenAt, CLOCK_SLACK_MS));
  const all: EpochMs[] = [];
  for (let day = first; day <= last; day = addMs(day, DAY_MS)) all.push(day);
  return all;
}

/** The start of the UTC day of an instant. */
export function dayOf(at: EpochMs): EpochMs {
  return epochMs(Math.floor(at / DAY_MS) * DAY_MS);
}

export function dayName(day: EpochMs): string {
  return manifestInstant(day).slice(0, "2026-03-01".length);
}

/** Whether the run lived on that day, by its own clock. */
function livedOn({ startedAt, endedAt, seenAt }: RecordedRun["row"], day: EpochMs): boolean {
  return dayOf(startedAt) <= day && day <= dayOf(endedAt ?? seenAt);
}

/** The parts of a day, last one first: if the first one exists, all do. */
export async function partsOfDay(
  ledger: Ledger,
  run: RecordedRun,
  day: EpochMs,
  options: { readonly locationOf: LocationOf; readonly partRecords?: number },
): Promise<ManifestPart[]> {
  const { locationOf, partRecords = PART_RECORDS } = options;
  const query: RecordQuery = { by: "commit-time", from: day, to: addMs(day, DAY_MS) };
  const starts = await partStarts(ledger, run, query, partRecords);
  const parked = await parkedBy(ledger, run, day);
  const isEmpty = starts.length === 1 && starts[0]?.records === 0 && parked.length === 0;
  if (isEmpty && !livedOn(run.row, day)) return [];
  const { endedAt } = run.row;
  const ended = endedAt !== null && dayOf(endedAt) <= day ? endedAt : null;
  const parts = starts.map(({ after, pages }, at): ManifestPart => {
    const part = at + 1;
    const head = headOf(run, { part, day: dayName(day), endedAt: ended });
    async function* text() {
      const records = await pagesOf(ledger, run, query, { after, pages });
      const all = part === 1 ? [...records, ...parked] : records; // M4
      const sorted = all
        .map((listed) => ({ listed, input: manifestInputOf(listed) }))
        .sort((a, b) => byEventTime(a.input, b.input))
        .map(({ listed }) => listed);
      yield* manifestText(head, sorted, locationOf, []);
    }
    return { day: dayName(day), part, text };
  });
  return parts.reverse();
}

interface PartStart {
  readonly after: string | null;
  readonly pages: number;
  readonly records: number;
}

/** Where the parts of a day begin: a part ends with the page that fills it. */
async function partStarts(
  ledger: Ledger,
  { scope, row }: RecordedRun,
  query: RecordQuery,
  partRecords: number,
): Promise<PartStart[]> {
  const starts: PartStart[] = [];
  let start: { after: string | null; pages: number; records: number } | null = null;
  let after: string | null = null;
  do {
    start ??= { after, pages: 0, records: 0 };
    const page: RecordPage = await ledger.listRecords(scope, query, { after, limit: PAGE_RECORDS });
    start.pages += 1;
    start.records += page.records.filter(({ input }) => input.runId === row.id).length;
    after = page.next;
    if (start.records < partRecords && after !== null) continue;
    starts.push(start);
    start = null;
  } while (after !== null);
  const [first, ...others] = starts;
  return first === undefined ? [] : [first, ...others.filter(({ records }) => records > 0)];
}

async function pagesOf(
  ledger: Ledger,
  { scope, row }: RecordedRun,
  query: RecordQuery,
  { after: start, pages }: Pick<PartStart, "after" | "pages">,
): Promise<ListedRecord[]> {
  const records: ListedRecord[] = [];
  let after = start;
  for (let page = 0; page < pages; page += 1) {
    const listed = await ledger.listRecords(scope, query, { after, limit: PAGE_RECORDS });
    records.push(...listed.records.filter(({ input }) => input.runId === row.id));
    after = listed.next;
    if (after === null) break;
  }
  return records;
}

/** Dead letters and held records whose last attempt the run made on that day (M4). */
async function parkedBy(
  ledger: Ledger,
  { scope, row }: RecordedRun,
  day: EpochMs,
): Promise<ListedRecord[]> {
  const parked = new Map<RecordKey, ListedRecord>();
  for (const kind of ["dossier", "held"] as const) {
    for await (const key of notedKeys(ledger, scope, kind)) {
      const view = parked.has(key) ? undefined : await ledger.show(scope, key);
      if (view?.record.kind !== "parked" || view.input.runId !== row.id) continue;
      if (dayOf(view.record.changedAt) !== day) continue;
      parked.set(key, { key, record: view.record, input: view.input });
    }
  }
  return [...parked.values()];
}

/** Keys of records with such a note; names with a space are parts of held messages. */
async function* notedKeys(
  ledger: Ledger,
  scope: LedgerScope,
  kind: "dossier" | "held",
): AsyncGenerator<RecordKey> {
  let after: string | null = null;
  for (let read = 0; read < NOTES_MAX; read += NOTES_PER_PAGE) {
    const page: readonly { readonly name: string }[] = await ledger.listNotes(scope, kind, {
      after,
      limit: NOTES_PER_PAGE,
    });
    for (const { name } of page) if (!name.includes(" ")) yield name as RecordKey;
    after = page.at(-1)?.name ?? null;
    if (page.length < NOTES_PER_PAGE) return;
  }
}

function headOf(
  { scope, row }: RecordedRun,
  of: { readonly part: number; readonly day: string | null; readonly endedAt: EpochMs | null },
): ManifestHead {
  const environment = Object.entries(storedJson(row.environment));
  const { file, values, pipelineDigest, ...request } = storedJson(row.parameters);
  const frozen = (values ?? {}) as {
    readonly seed?: string;
    readonly parameters?: ManifestHead["parameters"];
    readonly models?: ManifestHead["models"];
    readonly lookups?: ManifestHead["lookups"];
  };
  return {
    run: {
      id: row.id,
      kind: row.kind,
      pipeline: scope.pipeline,
      generation: scope.generation,
      part: of.part,
      day: of.day,
      startedAt: manifestInstant(row.startedAt),
      endedAt: of.endedAt === null ? null : manifestInstant(of.endedAt),
      window: windowOf(request),
      revisionOf: null,
      file: typeof file === "string" ? file : null,
    },
    code: { digest: row.codeDigest },
    config: {
      digest: row.configDigest,
      pipeline: typeof pipelineDigest === "string" ? pipelineDigest : row.configDigest,
    },
    environment: Object.fromEntries(environment.map(([name, value]) => [name, String(value)])),
    request: request as ManifestHead["request"],
    parameters: frozen.parameters ?? {},
    seeds: { pipeline: frozen.seed ?? "" },
    models: frozen.models ?? {},
    lookups: frozen.lookups ?? {},
  };
}

/** The window of a replay, which its request names in milliseconds. */
function windowOf({ from, to, cut }: Record<string, unknown>): ManifestHead["run"]["window"] {
  if (typeof from !== "number" || typeof to !== "number" || typeof cut !== "number") return null;
  const [since, until, last] = [from, to, cut].map((at) => manifestInstant(epochMs(at)));
  return { from: since ?? "", to: until ?? "", cut: last ?? "" };
}
