// Pipeline summary: the counts of a running pipeline, as a screen or as a line.
//   S1. Pure: the output depends on the arguments only, including time and width.
//   S2. Every outcome is shown, so that the counts add up. Rare outcomes appear once they occur.
//   S3. A narrow terminal gets more lines; no line is cut.

import type { ConsumerSnapshot } from "../../run/combine-running.ts";

export interface SummaryFacts {
  readonly name: string;
  /** The bucket and prefix, or the queue. */
  readonly source: string;
  readonly runningMs: number;
  readonly nowMs: number;
  /** Recent commits per second. */
  readonly rate: number;
  /** Messages in the dead-letter queue; null if unknown. */
  readonly deadLetters: number | null;
}

const GAP = "   ";

/** The lines of the live screen, for a terminal of that width. */
export function summaryScreen(
  snapshot: ConsumerSnapshot,
  facts: SummaryFacts,
  columns: number,
): string[] {
  const { name, source, runningMs, rate, deadLetters } = facts;
  const waiting = deadLetters === null ? "" : ` (${deadLetters} in the queue)`;
  return [
    ...wrap([`${name} from ${source}`, `for ${span(runningMs)}`], columns),
    ...wrap(
      [
        `received ${snapshot.received}`,
        `committed ${snapshot.committed}`,
        `duplicates ${snapshot.duplicates}`,
        ...unusual(snapshot), // S2
        `retried ${snapshot.retried}`,
        `dead letters ${snapshot.deadLettered}${waiting}`,
      ],
      columns,
    ),
    ...wrap(
      [
        `in progress ${snapshot.inFlight}`,
        `waiting ${snapshot.waiting}`,
        `${rate.toFixed(1)}/s`,
        `oldest unsettled ${ageOf(snapshot.oldestUnsettledAt, facts.nowMs)}`,
        ...(snapshot.breaker === "closed"
          ? []
          : [`sink or ledger down, breaker ${snapshot.breaker}`]),
        ...pauseOf(snapshot),
        `watermark ${timeOf(snapshot.watermark)}`,
      ],
      columns,
    ),
  ];
}

/** The same in one line, for pipes. */
export function summaryLine(snapshot: ConsumerSnapshot): string {
  const { received, committed, duplicates, retried, deadLettered } = snapshot;
  const { inFlight, waiting, breaker } = snapshot;
  return [
    `received ${received}`,
    `committed ${committed}`,
    `duplicates ${duplicates}`,
    ...unusual(snapshot), // S2
    `retried ${retried}`,
    `dead letters ${deadLettered}`,
    `in progress ${inFlight}`,
    `waiting ${waiting}`,
    ...(breaker === "closed" ? [] : [`breaker ${breaker}`]),
    ...pauseOf(snapshot),
  ].join(", ");
}

/** Counts that are zero in most runs. */
function unusual({ ignored, stale, dropped, held, returned, lost }: ConsumerSnapshot): string[] {
  const counts = { ignored, stale, dropped, "too late": held, returned, "leases lost": lost };
  return Object.entries(counts).flatMap(([name, count]) => (count > 0 ? [`${name} ${count}`] : []));
}

function pauseOf({ paused }: ConsumerSnapshot): string[] {
  if (paused === null) return [];
  const why = paused.reason === "" ? "" : `: ${paused.reason}`;
  return [`paused since ${timeOf(paused.since)}${why}`];
}

/** As many items to a line as fit (S3). */
export function wrap(items: readonly string[], columns: number): string[] {
  const lines: string[] = [];
  for (const item of items) {
    const last = lines.at(-1);
    const joined = last === undefined ? item : `${last}${GAP}${item}`;
    if (last !== undefined && joined.length <= columns) lines[lines.length - 1] = joined;
    else lines.push(item);
  }
  return lines;
}

function ageOf(at: number | null, nowMs: number): string {
  return at === null ? "none" : span(Math.max(0, nowMs - at));
}

function timeOf(at: number | null): string {
  return at === null ? "none yet" : new Date(at).toISOString();
}

/** A duration in its two largest units. */
export function span(ms: number): string {
  const seconds = Math.floor(ms / 1_000);
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  if (hours > 0) return `${hours} h ${minutes % 60} min`;
  return minutes > 0 ? `${minutes} min ${seconds % 60} s` : `${seconds} s`;
}
