// Flow facts: counters and gauges of a pipeline at one moment, for a picture of it.
//   F1. What comes later than FLOW_WAIT_MS from the ledger is in the next answer, a second later.
//   F2. A source that does not answer leaves its facts unknown, and says so.

import { reasonOf } from "../../core/errors.ts";
import { durationMs } from "../../core/units.ts";
import type { Completeness } from "../../ingest/late/complete-up-to.ts";
import { findPause, type Pause } from "../../ingest/running/pause.ts";
import type { Pipeline } from "../../ingest/spec/define-pipeline.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { LedgerScope } from "../../ports/record.ts";
import type { RunningPipeline } from "../../run/run-pipeline.ts";
import type { QueueFigures } from "../cloud/embedded-cloud.ts";
import type { LedgerPages } from "./ledger-pages.ts";
import type { Refresher } from "./refresher.ts";
import { holderClause } from "./time-page.ts";

export type FlowFacts = Awaited<ReturnType<typeof readFlow>>;
export type ConsumerFigures = ReturnType<typeof consumerFigures>;

export interface FigurePair {
  readonly queue: QueueFigures | null;
  readonly deadLetters: QueueFigures | null;
}

export interface FlowSources {
  readonly clock: Clock;
  readonly pipeline: Pipeline | null;
  /** The pipeline in this process; null if it runs elsewhere. */
  readonly running: RunningPipeline | null;
  readonly names: { readonly bucket: string | null; readonly topic: string | null };
  /** The queue of the pipeline and its dead-letter queue, with their counts now. */
  figures(isLooked: boolean): Promise<FigurePair>;
  /** Why the embedded cloud's store fails, and since when; null while it works, and on AWS. */
  readonly outage: () => { readonly since: number; readonly reason: string } | null;
}

/** What is known of a pipeline in the ledger, kept from look to look. */
export interface ScopeFacts {
  readonly pages: LedgerPages;
  readonly completeness: Refresher<Completeness>;
  /** Whether completeness includes the queued messages. */
  readonly looked: boolean;
  /** The latest count of dead letters. */
  parked: Awaited<ReturnType<LedgerPages["parked"]>>;
  /** An operator's order to receive nothing, as of the latest look. */
  paused: Pause | null;
}

const FLOW_WAIT_MS = durationMs(250);

/** Cheap: called every few seconds. `isLooked` is false while no page is open. */
export async function readFlow(
  sources: FlowSources,
  scope: LedgerScope | null,
  isLooked: boolean,
  reads: ScopeFacts | null,
) {
  const { names, running } = sources;
  const failures: string[] = [];
  const attempt = async <T>(what: string, read: () => Promise<T>): Promise<T | null> => {
    try {
      return await read();
    } catch (error) {
      failures.push(`${what}: ${reasonOf(error)}`); // F2
      return null;
    }
  };
  const figures = await attempt("queues", () => sources.figures(isLooked));
  if (reads !== null && scope !== null && isLooked) {
    const refreshed = Promise.all([
      attempt("dead letters", async () => {
        reads.parked = await reads.pages.parked(scope);
      }),
      attempt("pause", async () => {
        reads.paused = await findPause(asLedger(reads.pages), scope);
      }),
      attempt("completeness", () => reads.completeness.value()),
    ]);
    await Promise.race([refreshed, sources.clock.sleep(FLOW_WAIT_MS)]); // F1
  }
  const completeness = reads?.completeness.peek() ?? null;
  const snapshot = running?.name === scope?.pipeline ? (running?.snapshot() ?? null) : null;
  return {
    ...names,
    queue: figures?.queue ?? null,
    deadLetters: figures?.deadLetters ?? null,
    /** What the sink is, in a word or two; null if it is not known. */
    sink: sinkOf(sources.pipeline),
    consumer: snapshot === null ? null : consumerFigures(snapshot),
    parked: reads?.parked ?? null,
    watermark: snapshot?.watermark ?? completeness?.watermark ?? null,
    completeUpTo: completeness?.at ?? null,
    heldBy: holderClause(completeness?.heldBy ?? null, null),
    paused: reads?.paused ?? null,
    outage: sources.outage(),
    /** Sentences about sources that did not answer. */
    failures: [...failures],
  };
}

/** What computes completeness reads only; the connection of the pages could not write. */
export function asLedger(pages: Pick<LedgerPages, "findNote">): Ledger {
  return pages as Ledger;
}

/** Totals since the consumer started, and its state. */
function consumerFigures(snapshot: ReturnType<RunningPipeline["snapshot"]>) {
  const { received, committed, duplicates, retried, deadLettered, inFlight, breaker } = snapshot;
  const { ignored, stale, dropped, held } = snapshot;
  /** Deliveries that left the queue for good. */
  const settled = committed + duplicates + deadLettered + ignored + stale + dropped + held;
  return { received, committed, duplicates, retried, deadLettered, settled, inFlight, breaker };
}

function sinkOf(pipeline: Pipeline | null): string | null {
  const sink = pipeline?.sink ?? null;
  if (sink === null) return null;
  if (!("kind" in sink) || sink.kind !== "tables") return "function";
  return Object.keys(sink.tables).join(", ") || "tables";
}
