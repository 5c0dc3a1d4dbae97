// Ledger reads: what the console reads from a ledger, with its counts and caches. It runs in the
// thread of ledger-thread.ts, beside the pipeline and not in its way.
//   L1. Arguments and results are plain values, which another thread can be sent.
//   L2. Passes over many rows are refreshed in the background, and only after somebody asked. They
//       end their turn of the event loop after every page, so a view never waits for a pass.
//   L3. A pass takes PASS_SHARE of the time at most: the more it reads, the rarer it is.

import type { Completeness } from "../../ingest/late/complete-up-to.ts";
import { readPipelineStatus } from "../../operate/pause.ts";
import type { AuditSummary } from "../../ports/audit.ts";
import type { Clock } from "../../ports/clock.ts";
import type {
  AuditPageView,
  PipelineStateView,
  ReplayDiffView,
  ReplayPageView,
  ReplayView,
} from "../../ports/console/console-control-views.ts";
import type {
  DeadLetterGroupPage,
  DeadLetterPage,
  RecordHistory,
  RecordPageView,
  RunPageView,
  TimeView,
} from "../../ports/console/console-record-views.ts";
import type { PageRequest, RecordSearch } from "../../ports/console/console-source.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { LedgerScope } from "../../ports/record.ts";
import type { Turn } from "../../ports/turn.ts";
import { readAudit, readAudits } from "./audit-reads.ts";
import { createDeadLetterIndex, type DeadLetterIndex } from "./dead-letter-index.ts";
import { readGroups, readItems } from "./dead-letter-reads.ts";
import { readRecord, readRecords, runView } from "./record-reads.ts";
import { createRefresher, type Refresher } from "./refresher.ts";
import { type ReplayOwner, readReplay, readReplayDiff, readReplays } from "./replay-reads.ts";
import { readTime } from "./time-reads.ts";

/** Reads of a ledger that queued messages and completeness need, one row or page each. */
export const PLAIN_READS = ["show", "findNote", "listNotes", "listRecords"] as const;

export type PlainReads = Pick<Ledger, (typeof PLAIN_READS)[number]>;

export interface ParkedCount {
  readonly count: number;
  /** Whether there are more than were counted so far. */
  readonly more: boolean;
}

/** What was known of completeness when the time view was asked for. */
export interface TimeRequest {
  readonly completeness: Completeness;
  /** Whether queued messages were looked at. */
  readonly looked: boolean;
}

export interface LedgerReads extends PlainReads {
  parked(scope: LedgerScope): Promise<ParkedCount | null>;
  records(scope: LedgerScope, search: RecordSearch, bucket: string | null): Promise<RecordPageView>;
  record(scope: LedgerScope, key: string): Promise<RecordHistory | null>;
  deadLetterGroups(scope: LedgerScope, page: PageRequest): Promise<DeadLetterGroupPage>;
  deadLetters(scope: LedgerScope, group: string, page: PageRequest): Promise<DeadLetterPage | null>;
  /** Null if it takes longer than a view may. */
  time(scope: LedgerScope, request: TimeRequest): Promise<TimeView | null>;
  runs(scope: LedgerScope, page: PageRequest): Promise<RunPageView>;
  pipelineState(scope: LedgerScope): Promise<PipelineStateView>;
  replays(scope: LedgerScope, page: PageRequest): Promise<ReplayPageView>;
  replay(scope: LedgerScope, run: string): Promise<ReplayView | null>;
  replayDiff(scope: LedgerScope, run: string): Promise<ReplayDiffView | null>;
  audits(scope: LedgerScope, page: PageRequest): Promise<AuditPageView>;
  audit(scope: LedgerScope, id: string): Promise<AuditSummary | null>;
}

interface ReadPorts {
  readonly clock: Clock;
  readonly turn: Turn;
  readonly ledger: Ledger;
  /** The URL of the ledger. */
  readonly url: string;
  /** The pipeline of this console, for its replays; null if only names are known. */
  readonly owner: ReplayOwner | null;
}

const TIME_MS = 2_000;
/** L3 */
const PASS_SHARE = 0.05;

interface ScopeReads {
  readonly index: DeadLetterIndex;
  readonly time: Refresher<TimeView>;
  timeRequest: TimeRequest | null;
}

export function createLedgerReads(ports: ReadPorts): LedgerReads {
  const { clock, ledger } = ports;
  const byScope = new Map<string, ScopeReads>();
  const readsOf = (scope: LedgerScope): ScopeReads => {
    const id = JSON.stringify([scope.pipeline, scope.generation]);
    const reads = byScope.get(id) ?? createScopeReads(ports, scope);
    byScope.set(id, reads);
    return reads;
  };
  return {
    show: (scope, key) => ledger.show(scope, key),
    findNote: (scope, kind, name) => ledger.findNote(scope, kind, name),
    listNotes: (scope, kind, page) => ledger.listNotes(scope, kind, page),
    listRecords: (scope, query, page) => ledger.listRecords(scope, query, page),
    async parked(scope) {
      const { index } = readsOf(scope);
      await index.read();
      return index.peek();
    },
    records: (scope, search, bucket) => readRecords({ ledger, bucket }, scope, search),
    record: (scope, key) => readRecord(ledger, scope, key, clock.now()),
    deadLetterGroups: (scope, page) => readGroups(ledger, scope, readsOf(scope).index, page),
    deadLetters: (scope, group, page) =>
      readItems(ledger, scope, readsOf(scope).index, group, page),
    async time(scope, request) {
      const reads = readsOf(scope);
      reads.timeRequest = request;
      return reads.time.value();
    },
    async runs(scope, { cursor, limit }) {
      const { runs, next } = await ledger.listRuns(scope, { after: cursor, limit });
      return { runs: runs.map((run) => runView(run, clock.now())), next };
    },
    pipelineState: (scope) => readPipelineStatus({ clock, ledger }, scope),
    replays: (scope, page) => readReplays(ports, scope, page),
    replay: (scope, run) => readReplay(ports, scope, run),
    replayDiff: (scope, run) => readReplayDiff(ports, scope, run),
    audits: (scope, page) => readAudits(ledger, scope, page),
    audit: (scope, id) => readAudit(ledger, scope, id),
  };
}

function createScopeReads(ports: ReadPorts, scope: LedgerScope): ScopeReads {
  const { clock } = ports;
  const ledger = yieldingLedger(ports);
  const reads: ScopeReads = {
    timeRequest: null,
    index: createDeadLetterIndex({ clock, ledger }, scope, PASS_SHARE),
    time: createRefresher(
      clock,
      async () => {
        const { completeness, looked } = reads.timeRequest as TimeRequest;
        return readTime(scope, { ledger, now: clock.now(), completeness, looked });
      },
      TIME_MS,
      PASS_SHARE,
    ),
  };
  return reads;
}

/** The ledger for passes: every page begins with a new turn of the event loop (L2). */
function yieldingLedger({ turn, ledger }: ReadPorts): Ledger {
  const nextTurn = () => new Promise<void>((resolve) => turn.afterTurn(resolve));
  return {
    ...ledger,
    async listNotes(...given) {
      await nextTurn();
      return ledger.listNotes(...given);
    },
    async listRecords(...given) {
      await nextTurn();
      return ledger.listRecords(...given);
    },
  };
}
