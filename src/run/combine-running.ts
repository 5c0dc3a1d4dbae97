// Combine running: several pipelines of one process, seen as one.
//   C1. They end together: if one stops by itself, all stop, so that a supervisor restarts the
//       process. Limits such as `once` end the process when every pipeline has reached its own.

import type { ConsumerSnapshot } from "../ingest/running/consumer.ts";
import { NO_COUNTS } from "../ingest/telemetry/outcome-counts.ts";
import type { RunningPipeline } from "./run-pipeline.ts";

export type { AbandonedWork } from "../ingest/running/running-work.ts";
export type { ConsumerSnapshot };

/** The part of running pipelines that a command needs. */
export type RunningPipelines = Pick<
  RunningPipeline,
  "name" | "snapshot" | "deadLetterDepth" | "failed" | "finished" | "drain" | "stop"
>;

export function combineRunning(pipelines: readonly RunningPipeline[]): RunningPipelines {
  const all = async (end: (each: RunningPipeline) => ReturnType<RunningPipeline["drain"]>) =>
    (await Promise.all(pipelines.map(end))).flat();
  return {
    name: pipelines.map(({ name }) => name).join(", "),
    snapshot: () => sumOf(pipelines.map((each) => each.snapshot())),
    async deadLetterDepth() {
      const depths = await Promise.all(pipelines.map((each) => each.deadLetterDepth()));
      return depths.reduce((sum, depth) => (depth === null ? sum : (sum ?? 0) + depth), null);
    },
    failed: Promise.race(pipelines.map(({ failed }) => failed)), // C1
    finished: Promise.all(pipelines.map(({ finished }) => finished)).then(([why = ""]) => why),
    drain: () => all((each) => each.drain()),
    stop: () => all((each) => each.stop()),
  };
}

function sumOf(snapshots: readonly ConsumerSnapshot[]): ConsumerSnapshot {
  const sum = (count: (snapshot: ConsumerSnapshot) => number) =>
    snapshots.reduce((total, snapshot) => total + count(snapshot), 0);
  const names = Object.keys(NO_COUNTS) as (keyof typeof NO_COUNTS)[];
  const counts = Object.fromEntries(names.map((name) => [name, sum((each) => each[name])]));
  const breakers = new Set(snapshots.map(({ breaker }) => breaker));
  const half = breakers.has("half-open") ? "half-open" : "closed";
  return {
    ...NO_COUNTS,
    ...counts,
    inFlight: sum(({ inFlight }) => inFlight),
    waiting: sum(({ waiting }) => waiting),
    breaker: breakers.has("open") ? "open" : half,
    paused: snapshots.find(({ paused }) => paused !== null)?.paused ?? null,
    watermark: earliest(snapshots.map(({ watermark }) => watermark)),
    oldestUnsettledAt: earliest(snapshots.map(({ oldestUnsettledAt }) => oldestUnsettledAt)),
  };
}

function earliest<T extends number>(instants: readonly (T | null)[]): T | null {
  return instants.reduce<T | null>(
    (least, each) => (least === null || (each !== null && each < least) ? each : least),
    null,
  );
}
