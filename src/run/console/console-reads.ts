// Console reads: what the console shows of a ledger, joined with what it knows of the queues.
//   C1. The ledger is read in another thread (ledger-thread.ts). This thread, which may run the
//       pipeline, only looks at queues and counters.
//   C2. The flow waits FLOW_WAIT_MS for the ledger; what comes later is in the next answer, a
//       second later.

import { reasonOf } from "../../core/errors.ts";
import { durationMs } from "../../core/units.ts";
import { type Completeness, readStoredCompleteness } from "../../ingest/late/complete-up-to.ts";
import { findPause } from "../../ingest/running/pause.ts";
import type { Pipeline } from "../../ingest/spec/define-pipeline.ts";
import { systemPorts } from "../../platform/index.ts";
import type { TimeView } from "../../ports/console/console-record-views.ts";
import type {
  ConsoleReads,
  ConsumerFigures,
  FlowFacts,
  QueueFigures,
  ShownPipeline,
} from "../../ports/console/console-source.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { LedgerScope } from "../../ports/record.ts";
import type { RunningPipeline } from "../run-pipeline.ts";
import { maskAudit } from "./audit-reads.ts";
import type { LedgerReads, ParkedCount, PlainReads } from "./ledger-reads.ts";
import type { MessageMask } from "./message-mask.ts";
import { createRefresher, type Refresher } from "./refresher.ts";
import type { SetupOptions } from "./setup-reads.ts";
import { holderClause } from "./time-reads.ts";

export interface ConsoleReadParts {
  /** Null without a ledger, as in a cloud without a pipeline. */
  readonly ledger: LedgerReads | null;
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
  readonly outage: () => FlowFacts["outage"];
  /** Completeness with the queued messages; null if they cannot be looked at. */
  readonly completeness: ((ledger: Ledger) => Promise<Completeness>) | null;
  readonly setup: SetupOptions;
  readonly mask: MessageMask;
}

const FLOW_WAIT_MS = durationMs(250);
const SETUP_MS = 30_000;
const COMPLETE_MS = 1_000;
/** Queued messages are decoded by the thread that runs handlers. */
const LOOK_SHARE = 0.01;

interface ScopeReads {
  readonly ledger: LedgerReads;
  readonly completeness: Refresher<Completeness>;
  /** Whether completeness includes the queued messages. */
  readonly looked: boolean;
  /** The latest count of dead letters. */
  parked: ParkedCount | null;
  /** As of the latest look. */
  paused: FlowFacts["paused"];
}

export function createConsoleReads(parts: ConsoleReadParts): ConsoleReads {
  const { clock } = systemPorts;
  const { ledger } = parts;
  const { views } = parts.mask;
  const byScope = new Map<string, ScopeReads>();
  const setup = createRefresher(clock, () => checkSetup(parts.setup), SETUP_MS);

  function readsOf(scope: LedgerScope): ScopeReads | null {
    if (ledger === null) return null;
    const id = JSON.stringify([scope.pipeline, scope.generation]);
    const existing = byScope.get(id) ?? createScopeReads(parts, ledger, scope);
    byScope.set(id, existing);
    return existing;
  }

  return {
    pipelines: () => parts.pipelines(),
    flow: (scope, looked) => readFlow(parts, scope, looked, scope && readsOf(scope)),
    async records(scope, search) {
      if (ledger === null) return { records: [], next: null, complete: true, looked: 0 };
      const page = await ledger.records(scope, search, parts.names.bucket);
      return { ...page, records: page.records.map(views.summary) };
    },
    ...maskedDeadLetters(parts),
    async time(scope) {
      const reads = readsOf(scope);
      const view = reads === null ? null : await timeOf(reads, scope);
      return view === null ? emptyTime(scope, clock.now()) : views.time(view);
    },
    async runs(scope, page) {
      return ledger === null ? { runs: [], next: null } : ledger.runs(scope, page);
    },
    async pipelineState(scope) {
      const nothing = { ...scope, paused: null, processes: [] };
      return ledger === null ? nothing : ledger.pipelineState(scope);
    },
    ...maskedReplays(parts),
    async replayDiff(scope, run) {
      return ledger === null ? null : ledger.replayDiff(scope, run);
    },
    ...maskedAudits(parts),
    async setupCheck() {
      const check = await setup.value();
      const unknown = ["the check is still running; ask again"];
      return check ?? { at: clock.now(), findings: [], checked: 0, unknown };
    },
  };
}

async function checkSetup(options: SetupOptions) {
  // Loaded here to keep the start of a server fast.
  const { readSetupCheck } = await import("./setup-reads.ts");
  return readSetupCheck(options, systemPorts.clock.now());
}

type DeadLetterReads = Pick<ConsoleReads, "record" | "deadLetterGroups" | "deadLetters">;

function maskedDeadLetters({ ledger, mask: { views } }: ConsoleReadParts): DeadLetterReads {
  return {
    async record(scope, key) {
      const record = ledger === null ? null : await ledger.record(scope, key);
      return record === null ? null : views.record(record);
    },
    async deadLetterGroups(scope, page) {
      if (ledger === null) {
        return { at: systemPorts.clock.now(), groups: [], total: 0, more: false, next: null };
      }
      const answer = await ledger.deadLetterGroups(scope, page);
      return { ...answer, groups: answer.groups.map(views.group) };
    },
    async deadLetters(scope, group, page) {
      const answer = ledger === null ? null : await ledger.deadLetters(scope, group, page);
      return answer === null ? null : { ...answer, items: answer.items.map(views.deadLetter) };
    },
  };
}

function maskedReplays({
  ledger,
  mask: { views },
}: ConsoleReadParts): Pick<ConsoleReads, "replays" | "replay"> {
  return {
    async replays(scope, page) {
      if (ledger === null) return { replays: [], next: null };
      const { replays, next } = await ledger.replays(scope, page);
      return { replays: replays.map(views.replay), next };
    },
    async replay(scope, run) {
      const replay = ledger === null ? null : await ledger.replay(scope, run);
      return replay === null ? null : views.replay(replay);
    },
  };
}

function maskedAudits({ ledger, mask }: ConsoleReadParts): Pick<ConsoleReads, "audits" | "audit"> {
  return {
    async audits(scope, page) {
      if (ledger === null) return { audits: [], next: null };
      const { audits, next } = await ledger.audits(scope, page);
      return { audits: audits.map((audit) => maskAudit(audit, mask)), next };
    },
    async audit(scope, id) {
      const audit = ledger === null ? null : await ledger.audit(scope, id);
      return audit === null ? null : maskAudit(audit, mask);
    },
  };
}

function createScopeReads(
  parts: ConsoleReadParts,
  ledger: LedgerReads,
  scope: LedgerScope,
): ScopeReads {
  const { pipeline: own, completeness: lookWith } = parts;
  const isOwn = own?.name === scope.pipeline && own.generation === scope.generation;
  const look = isOwn ? lookWith : null;
  const rows = asLedger(ledger);
  const complete = () => look?.(rows) ?? readStoredCompleteness(rows, scope);
  const completeness = createRefresher(systemPorts.clock, complete, COMPLETE_MS, LOOK_SHARE);
  return { ledger, completeness, looked: look !== null, parked: null, paused: null };
}

/** What computes completeness reads only; the thread's connection could not write (C1). */
function asLedger(reads: PlainReads): Ledger {
  return reads as Ledger;
}

async function timeOf({ ledger, completeness, looked }: ScopeReads, scope: LedgerScope) {
  const reached = await completeness.value();
  if (reached === null) return null;
  return ledger.time(scope, { completeness: reached, looked: looked && reached.isExact });
}

async function readFlow(
  parts: ConsoleReadParts,
  scope: LedgerScope | null,
  looked: boolean,
  reads: ScopeReads | null,
): Promise<FlowFacts> {
  const { names, running } = parts;
  const failures: string[] = [];
  const attempt = async <T>(what: string, read: () => Promise<T>): Promise<T | null> => {
    try {
      return await read();
    } catch (error) {
      failures.push(`${what}: ${reasonOf(error)}`);
      return null;
    }
  };
  const figures = await attempt("queues", () => parts.figures(looked));
  if (reads !== null && scope !== null && looked) {
    const refreshed = Promise.all([
      attempt("dead letters", async () => {
        reads.parked = await reads.ledger.parked(scope);
      }),
      attempt("pause", async () => {
        reads.paused = await findPause(asLedger(reads.ledger), scope);
      }),
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
    parked: reads?.parked ?? null,
    watermark: snapshot?.watermark ?? completeness?.watermark ?? null,
    completeUpTo: completeness?.at ?? null,
    heldBy: parts.mask.views.clause(holderClause(completeness?.heldBy ?? null, null)),
    paused: reads?.paused ?? null,
    outage: parts.outage(),
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
