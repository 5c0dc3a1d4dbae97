// Console reads: what the console shows of a ledger, joined with what it knows of the queues.
//   C1. Quick reads use the ledger as it is. Long ones are refreshed in the background, by a gentle
//       ledger, and only while somebody looks.
//   C2. The flow waits FLOW_WAIT_MS for them; later they are in the next answer, a second later.

import { reasonOf } from "../../core/errors.ts";
import { durationMs } from "../../core/units.ts";
import { type Completeness, readStoredCompleteness } from "../../ingest/late/complete-up-to.ts";
import type { Pipeline } from "../../ingest/spec/define-pipeline.ts";
import { systemPorts } from "../../platform/index.ts";
import type { TimeView } from "../../ports/console-record-views.ts";
import type {
  ConsoleReads,
  ConsumerFigures,
  FlowFacts,
  QueueFigures,
  ShownPipeline,
} from "../../ports/console-source.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { LedgerScope } from "../../ports/record.ts";
import type { RunningPipeline } from "../run-pipeline.ts";
import { createDeadLetterIndex, type DeadLetterIndex } from "./dead-letter-index.ts";
import { readGroups, readItems } from "./dead-letter-reads.ts";
import { createGentleLedger } from "./gentle-ledger.ts";
import { readRecord, readRecords, runView } from "./record-reads.ts";
import { createRefresher, type Refresher } from "./refresher.ts";
import { readSetupCheck, type SetupOptions } from "./setup-reads.ts";
import { holderClause, readTime } from "./time-reads.ts";

export interface ConsoleReadParts {
  /** Null without a ledger, as in a cloud without a pipeline. */
  readonly ledger: Ledger | null;
  readonly pipeline: Pipeline | null;
  /** The pipeline in this process; null if it runs elsewhere. */
  readonly running: RunningPipeline | null;
  readonly names: { readonly bucket: string | null; readonly topic: string | null };
  pipelines(): Promise<readonly ShownPipeline[]>;
  /** The queue of the pipeline and its dead-letter queue, with their counts now. */
  figures(looked: boolean): Promise<{
    readonly queue: QueueFigures | null;
    readonly deadLetters: QueueFigures | null;
  }>;
  /** Completeness with the queued messages; null if they cannot be looked at. */
  readonly completeness: ((ledger: Ledger) => Promise<Completeness>) | null;
  readonly setup: SetupOptions;
}

const FLOW_WAIT_MS = durationMs(250);
const SETUP_MS = 30_000;
const TIME_MS = 2_000;
const COMPLETE_MS = 1_000;
/** Queued messages are decoded by the thread that runs handlers, without rests. */
const LOOK_SHARE = 0.02;

interface ScopeReads {
  readonly index: DeadLetterIndex;
  readonly completeness: Refresher<Completeness>;
  readonly time: Refresher<TimeView>;
}

export function createConsoleReads(parts: ConsoleReadParts): ConsoleReads {
  const { clock } = systemPorts;
  const byScope = new Map<string, ScopeReads>();
  const setup = createRefresher(clock, () => readSetupCheck(parts.setup, clock.now()), SETUP_MS);

  function readsOf(ledger: Ledger, scope: LedgerScope): ScopeReads {
    const id = JSON.stringify([scope.pipeline, scope.generation]);
    const reads = byScope.get(id) ?? createScopeReads(parts, ledger, scope);
    byScope.set(id, reads);
    return reads;
  }

  return {
    pipelines: () => parts.pipelines(),
    flow: (scope, looked) => readFlow(parts, scope, looked, readsOf),
    async records(scope, search) {
      const { ledger } = parts;
      if (ledger === null) return { records: [], next: null, complete: true, looked: 0 };
      return readRecords({ ledger, bucket: parts.names.bucket }, scope, search);
    },
    async record(scope, key) {
      return parts.ledger === null ? null : readRecord(parts.ledger, scope, key, clock.now());
    },
    async deadLetterGroups(scope, page) {
      const { ledger } = parts;
      if (ledger !== null) return readGroups(ledger, scope, readsOf(ledger, scope).index, page);
      return { at: clock.now(), groups: [], total: 0, more: false, next: null };
    },
    async deadLetters(scope, group, page) {
      const { ledger } = parts;
      if (ledger === null) return null;
      return readItems(ledger, scope, readsOf(ledger, scope).index, group, page);
    },
    async time(scope) {
      const { ledger } = parts;
      const view = ledger === null ? null : await readsOf(ledger, scope).time.value();
      return view ?? emptyTime(scope, clock.now());
    },
    async runs(scope, { cursor, limit }) {
      if (parts.ledger === null) return { runs: [], next: null };
      const { runs, next } = await parts.ledger.listRuns(scope, { after: cursor, limit });
      return { runs: runs.map((run) => runView(run, clock.now())), next };
    },
    async setupCheck() {
      const check = await setup.value();
      const unknown = ["the check is still running; ask again"];
      return check ?? { at: clock.now(), findings: [], checked: 0, unknown };
    },
  };
}

/** C1 */
function createScopeReads(parts: ConsoleReadParts, ledger: Ledger, scope: LedgerScope): ScopeReads {
  const { clock } = systemPorts;
  const gentle = createGentleLedger(clock, ledger);
  const own = parts.pipeline;
  const isOwn = own?.name === scope.pipeline && own.generation === scope.generation;
  const look = isOwn ? parts.completeness : null;
  const complete = () => look?.(gentle) ?? readStoredCompleteness(gentle, scope);
  const completeness = createRefresher(clock, complete, COMPLETE_MS, LOOK_SHARE);
  return {
    index: createDeadLetterIndex({ clock, ledger: gentle }, scope),
    completeness,
    time: createRefresher(
      clock,
      async () => {
        const reached = (await completeness.value()) ?? (await complete());
        const now = clock.now();
        const looked = look !== null;
        return readTime(scope, { ledger: gentle, now, completeness: reached, looked });
      },
      TIME_MS,
    ),
  };
}

async function readFlow(
  parts: ConsoleReadParts,
  scope: LedgerScope | null,
  looked: boolean,
  readsOf: (ledger: Ledger, scope: LedgerScope) => ScopeReads,
): Promise<FlowFacts> {
  const { ledger, names, running } = parts;
  const failures: string[] = [];
  const attempt = async <T>(what: string, read: () => Promise<T>): Promise<T | null> => {
    try {
      return await read();
    } catch (error) {
      failures.push(`${what}: ${reasonOf(error)}`);
      return null;
    }
  };
  const reads = ledger === null || scope === null ? null : readsOf(ledger, scope);
  const figures = await attempt("queues", () => parts.figures(looked));
  if (reads !== null && looked) {
    const refreshed = Promise.all([
      attempt("dead letters", () => reads.index.read()),
      attempt("completeness", () => reads.completeness.value()),
    ]);
    await Promise.race([refreshed, systemPorts.clock.sleep(FLOW_WAIT_MS)]); // C2
  }
  const completeness = reads?.completeness.peek() ?? null;
  const snapshot = running?.name === scope?.pipeline ? (running?.snapshot() ?? null) : null;
  return {
    ...names,
    queue: figures?.queue ?? null,
    deadLetters: figures?.deadLetters ?? null,
    sink: sinkOf(parts.pipeline),
    consumer: snapshot === null ? null : consumerFigures(snapshot),
    parked: reads?.index.peek() ?? null,
    watermark: snapshot?.watermark ?? completeness?.watermark ?? null,
    completeUpTo: completeness?.at ?? null,
    heldBy: holderClause(completeness?.heldBy ?? null, null),
    failures: [...failures],
  };
}

function consumerFigures(snapshot: ReturnType<RunningPipeline["snapshot"]>): ConsumerFigures {
  const { received, committed, duplicates, retried, deadLettered, inFlight, breaker } = snapshot;
  const { ignored, stale, dropped, held } = snapshot;
  const settled = committed + duplicates + deadLettered + ignored + stale + dropped + held;
  return { received, committed, duplicates, retried, deadLettered, settled, inFlight, breaker };
}

function sinkOf(pipeline: Pipeline | null): string | null {
  const sink = pipeline?.sink ?? null;
  if (sink === null) return null;
  if (!("kind" in sink) || sink.kind !== "tables") return "function";
  return Object.keys(sink.tables).join(", ") || "tables";
}

function emptyTime(scope: LedgerScope, at: number): TimeView {
  return {
    at,
    pipeline: scope.pipeline,
    generation: scope.generation,
    watermark: null,
    completeUpTo: null,
    heldBy: null,
    looked: false,
    partitions: [],
    held: { count: 0, more: false, items: [] },
    windows: [],
  };
}
