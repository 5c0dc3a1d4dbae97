// Replay text: plans, states and differences of replays, as lines of text and as JSON.

import type {
  CheckedPlan,
  ReplayEntry,
  ReplayProgress,
  ReplayStatus,
  RowDifference,
  TableDifference,
} from "../../operate/replays/replays.ts";

const SECOND_MS = 1_000;
const PERCENT = 100;
const INPUTS_SHOWN = 5;
const WORDS: Readonly<Record<string, string>> = {
  running: "is running",
  stopped: "stopped before its end; start the same replay again to continue it",
  cancelled: "was cancelled; start the same replay again to continue it",
  failed: "has records that failed; fix the pipeline and start a new replay",
  ready: "is complete; compare it with replay diff, then replay promote or replay drop",
  promoted: "was promoted; its rows are live",
  complete: "is complete",
};

function at(time: number): string {
  return new Date(time).toISOString();
}

export function requestText({ request: { from, to, bucket, prefix, into } }: ReplayEntry): string {
  const objects = bucket === null ? "" : ` s3://${bucket}/${prefix ?? ""}`;
  return `${at(from)} to ${at(to)}${objects} into ${into}`;
}

export function planLines(plan: CheckedPlan): string[] {
  const { run, inputs, leftOut, gone, superseded, existing } = plan;
  const [first, last] = [inputs[0], inputs.at(-1)];
  return [
    `run ${run}`,
    `${inputs.length} records to replay${first && last ? `, ${at(first.eventTime)} to ${at(last.eventTime)}` : ""}`,
    ...inputs.slice(0, INPUTS_SHOWN).map(({ object, kind }) => {
      const version = object.versionId === null ? "" : ` version ${object.versionId}`;
      return `  ${kind}  s3://${object.bucket}/${object.key}${version}`;
    }),
    ...(inputs.length > INPUTS_SHOWN ? [`  and ${inputs.length - INPUTS_SHOWN} more`] : []),
    ...Object.entries(leftOut).map(([reason, count]) => `${count} left out: ${reason}`),
    ...(superseded.length > 0 ? [`${superseded.length} versions are gone and were replaced`] : []),
    ...gone.map(({ uri, versionId, reason, cause = "gone" }) => {
      return `${cause}: ${uri} ${versionId ?? ""} ${reason}`;
    }),
    ...(existing === null ? [] : [`the same run exists: it ${WORDS[existing.state]}`]),
  ];
}

export function planJson(plan: CheckedPlan): string {
  const { run, request, digests, inputs, inputsDigest, cut, leftOut, gone } = plan;
  const existing = plan.existing?.state ?? null;
  const facts = { run, request, ...digests, inputs: inputs.length, inputsDigest, cut };
  return JSON.stringify({ ...facts, leftOut, gone, existing });
}

export function replayStatusLines(status: ReplayStatus): string[] {
  const { entry, state, outcome, tables, uses } = status;
  const counts =
    outcome === null
      ? []
      : [
          `  ${outcome.committed} committed, ${outcome.superseded} superseded, ${outcome.failed} failed`,
          ...outcome.failures.map(({ uri, reason }) => `  failed: ${uri}: ${reason}`),
        ];
  return [
    `${entry.run}  ${state}  ${requestText(entry)}  ${entry.inputs} records, generation ${entry.generation}`,
    ...counts,
    ...[...tables].map(([table, shadow]) => `  ${table} is shadowed by ${shadow}`),
    ...entry.missing.map(({ uri, reason }) => `  without ${uri}, which ${reason}`),
    ...useLines(uses),
    `  it ${WORDS[state]}`,
  ];
}

/** Names calls that give another run other values. */
export function useLines(uses: ReplayStatus["uses"]): string[] {
  return uses.map(
    ({ call, location }) =>
      `  not deterministic: the handler calls ${call} at ${location}; use its context instead`,
  );
}

export function statusLine({ entry, state }: ReplayStatus): string {
  return `${entry.run}  ${state}  ${requestText(entry)}  ${entry.inputs} records`;
}

export function replayStatusJson({ entry, state, outcome, tables, uses }: ReplayStatus): string {
  return JSON.stringify({ ...entry, state, outcome, tables: Object.fromEntries(tables), uses });
}

export function progressText({ done, of, remainingMs }: ReplayProgress): string {
  const share = Math.floor((done / of) * PERCENT);
  const remaining =
    remainingMs === null ? "" : `, about ${Math.ceil(remainingMs / SECOND_MS)} s to go`;
  return `${done} of ${of} records (${share} %)${remaining}`;
}

export function differenceLines(difference: TableDifference): string[] {
  const { table, added, removed, changed, keptObjects, samples } = difference;
  const keeping =
    keptObjects === 0
      ? []
      : [`  ${keptObjects} objects keep their live rows: they have newer events or added rows`];
  return [
    `${table}: ${added} added, ${removed} removed, ${changed} changed`,
    ...samples.map((sample) => `  ${sampleText(sample)}`),
    ...keeping,
  ];
}

function sampleText({ kind, key, live, replayed }: RowDifference): string {
  const row = JSON.stringify(key);
  if (kind === "added") return `added    ${row} ${JSON.stringify(replayed)}`;
  if (kind === "removed") return `removed  ${row} ${JSON.stringify(live)}`;
  return `changed  ${row} ${JSON.stringify(live)} to ${JSON.stringify(replayed)}`;
}
