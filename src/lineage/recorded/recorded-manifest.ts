// Recorded manifest: the manifest of a run or of one of its parts, from the ledger.
//   M1. Only the ledger is read, so the manifest of a process that was killed is complete.
//   M2. A whole manifest is written as a stream: a first pass finds the span of event times, a
//       second one lists it in order.
//   M3. A live run is split by UTC day of the commit, and a day with many records into parts of
//       about PART_RECORDS in the order of commits. A part is sorted in memory. Once a day is over,
//       or the run is, its parts do not change: every process writes the same bytes.
//   M4. Dead letters and held records belong to the day of their last attempt: to its first part,
//       and if there are too many, to parts of their own behind those of the commits.
//   M5. Each part says how many there are, and how it is known that the run adds nothing to it.

import {
  addMs,
  type DurationMs,
  days,
  durationMs,
  type EpochMs,
  epochMs,
} from "../../core/units.ts";
import { everyRecord } from "../../ledger/every-record.ts";
import type { Ledger, ListedRecord, RecordPage, RecordQuery } from "../../ports/ledger.ts";
import {
  createManifestSums,
  type ManifestHead,
  type ManifestInput,
  type ManifestSeal,
  type ManifestTail,
  manifestInstant,
  writeManifest,
} from "../run-manifest.ts";
import { byEventTime, manifestInputOf, storedJson } from "./manifest-input.ts";
import { type ParkedSlice, parkedBy, parkedIn, sliceParked } from "./parked-records.ts";
import { CLOCK_SLACK_MS, committedBy, type LocationOf, type RecordedRun } from "./recorded-run.ts";

/** Records of one part, up to a page more (M3). */
export const PART_RECORDS = 50_000;
const PAGE_RECORDS = 500;
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
    for await (const listed of everyRecord(ledger, run.scope, query)) {
      if (listed.input.runId === run.row.id) yield listed;
    }
  }
  const { endedAt } = run.row;
  const sealed = endedAt === null ? "open" : "ended";
  const head = headOf(run, { part: 1, parts: 1, day: null, endedAt, sealed, revision: 1 });
  yield* manifestText(head, inputs(), locationOf, missing);
}

async function spanOf(ledger: Ledger, run: RecordedRun) {
  let span: { from: EpochMs; to: EpochMs } | null = null;
  for (const records of [committedBy(ledger, run), parkedBy(ledger, run)]) {
    for await (const { input } of records) {
      const { eventTime } = input;
      const from = Math.min(span?.from ?? eventTime, eventTime) as EpochMs;
      const to = Math.max(span?.to ?? eventTime, eventTime) as EpochMs;
      span = { from, to };
    }
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
  /** 2 if it replaces a manifest of a run that continued. */
  readonly revision: number;
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

export interface DayPartsOptions {
  readonly locationOf: LocationOf;
  readonly sealed: ManifestSeal;
  readonly revision: number;
  /** Default: PART_RECORDS. */
  readonly partRecords?: number;
}

/** The parts of a day, last one first: if the first one exists, all do. */
export async function partsOfDay(
  ledger: Ledger,
  run: RecordedRun,
  day: EpochMs,
  options: DayPartsOptions,
): Promise<ManifestPart[]> {
  const { locationOf, sealed, revision, partRecords = PART_RECORDS } = options;
  const query: RecordQuery = { by: "commit-time", from: day, to: addMs(day, DAY_MS) };
  const starts = await partStarts(ledger, run, query, partRecords);
  const slices = await sliceParked(ledger, run, day, partRecords);
  const isEmpty = starts.length === 1 && starts[0]?.records === 0 && slices.length === 0;
  if (isEmpty && !livedOn(run.row, day)) return [];
  const contents = contentsOf(starts, slices);
  const { endedAt } = run.row;
  const ended = endedAt !== null && dayOf(endedAt) <= day ? endedAt : null;
  const fixed = { parts: contents.length, day: dayName(day), endedAt: ended, sealed, revision };
  const parts = contents.map(({ start, parked }, at): ManifestPart => {
    const part = at + 1;
    const head = headOf(run, { part, ...fixed });
    async function* text() {
      const records = start === null ? [] : await pagesOf(ledger, run, query, start);
      const all = new Map(records.map((listed) => [listed.key, listed]));
      for (const slice of parked) {
        for await (const listed of parkedIn(ledger, run, slice, day)) {
          if (!all.has(listed.key)) all.set(listed.key, listed);
        }
      }
      const sorted = Array.from(all.values(), (listed) => ({
        listed,
        input: manifestInputOf(listed),
      })).sort((a, b) => byEventTime(a.input, b.input));
      yield* manifestText(
        head,
        sorted.map(({ listed }) => listed),
        locationOf,
        [],
      );
    }
    return { day: dayName(day), part, revision, text };
  });
  return parts.reverse();
}

/** What each part has: commits, and the first slice of each kind in the first part (M4). */
function contentsOf(starts: readonly PartStart[], slices: readonly ParkedSlice[]) {
  const isFirst = ({ after }: ParkedSlice) => after === null;
  const withCommits = starts.map((start, at) => {
    return { start, parked: at === 0 ? slices.filter(isFirst) : [] };
  });
  const others = slices.filter((slice) => !isFirst(slice));
  return [...withCommits, ...others.map((slice) => ({ start: null, parked: [slice] }))];
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

function headOf(
  { scope, row }: RecordedRun,
  of: Pick<ManifestHead["run"], "part" | "parts" | "day" | "sealed" | "revision"> & {
    readonly endedAt: EpochMs | null;
  },
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
      parts: of.parts,
      day: of.day,
      sealed: of.sealed,
      revision: of.revision,
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
