// Ledger pages: what an operator looks at in a ledger, page by page, with its counts and caches. It
// runs in the thread of page-thread.ts, beside the pipeline and not in its way.
//   L1. Arguments and results are plain values, which another thread can be sent.
//   L2. Passes over many rows are refreshed in the background, and only after somebody asked. They
//       end their turn of the event loop after every page, so a view never waits for a pass.
//   L3. A pass takes PASS_SHARE of the time at most: the more it reads, the rarer it is.
//   L4. Every answer is bounded: a list has a page size, a count has a limit and says so.

import type { Clock } from "../../ports/clock.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { LedgerScope } from "../../ports/record.ts";
import type { Turn } from "../../ports/turn.ts";
import { readPipelineStatus } from "../pause.ts";
import { readAudit, readAudits } from "./audit-pages.ts";
import { createDeadLetterIndex } from "./dead-letter-index.ts";
import { readGroups, readItems } from "./dead-letter-pages.ts";
import type { PageRequest } from "./list-page.ts";
import { type RecordSearch, readRecord, readRecords, runView } from "./record-pages.ts";
import { createRefresher } from "./refresher.ts";
import { type ReplayOwner, readReplay, readReplayDiff, readReplays } from "./replay-pages.ts";
import { readTime, type TimeOptions } from "./time-page.ts";

export type LedgerPages = ReturnType<typeof createLedgerPages>;

/** What was known of completeness when the time view was asked for. */
type TimeRequest = Pick<TimeOptions, "completeness" | "looked">;

interface PagePorts {
  readonly clock: Clock;
  readonly turn: Turn;
  readonly ledger: Ledger;
  /** The URL of the ledger. */
  readonly url: string;
  /** The pipeline whose replays are known; null if only names are known. */
  readonly owner: ReplayOwner | null;
}

const TIME_MS = 2_000;
/** L3 */
const PASS_SHARE = 0.05;

export function createLedgerPages(ports: PagePorts) {
  const { clock, ledger } = ports;
  const passes = new Map<string, ScopePasses>();
  const passesOf = (scope: LedgerScope) => {
    const id = JSON.stringify([scope.pipeline, scope.generation]);
    const existing = passes.get(id) ?? createPasses(ports, scope);
    passes.set(id, existing);
    return existing;
  };
  return {
    // What completeness and queued messages need, one row or page each.
    ...plainReads(ledger),
    async parked(scope: LedgerScope) {
      const { index } = passesOf(scope);
      await index.read();
      return index.peek();
    },
    records: (scope: LedgerScope, search: RecordSearch, bucket: string | null) =>
      readRecords({ ledger, bucket }, scope, search),
    record: (scope: LedgerScope, key: string) => readRecord(ledger, scope, key, clock.now()),
    deadLetterGroups: (scope: LedgerScope, page: PageRequest) =>
      readGroups(ledger, scope, passesOf(scope).index, page),
    deadLetters: (scope: LedgerScope, group: string, page: PageRequest) =>
      readItems(ledger, scope, passesOf(scope).index, group, page),
    /** Null if it takes longer than a view may. */
    time(scope: LedgerScope, request: TimeRequest) {
      const { timeFor } = passesOf(scope);
      return timeFor(request);
    },
    async runs(scope: LedgerScope, { cursor, limit }: PageRequest) {
      const { runs, next } = await ledger.listRuns(scope, { after: cursor, limit });
      return { runs: runs.map((run) => runView(run, clock.now())), next };
    },
    pipelineState: (scope: LedgerScope) => readPipelineStatus({ clock, ledger }, scope),
    replays: (scope: LedgerScope, page: PageRequest) => readReplays(ports, scope, page),
    replay: (scope: LedgerScope, run: string) => readReplay(ports, scope, run),
    replayDiff: (scope: LedgerScope, run: string) => readReplayDiff(ports, scope, run),
    audits: (scope: LedgerScope, page: PageRequest) => readAudits(ledger, scope, page),
    audit: (scope: LedgerScope, id: string) => readAudit(ledger, scope, id),
  };
}

function plainReads(
  ledger: Ledger,
): Pick<Ledger, "show" | "findNote" | "listNotes" | "listRecords"> {
  return {
    show: (scope, key) => ledger.show(scope, key),
    findNote: (scope, kind, name) => ledger.findNote(scope, kind, name),
    listNotes: (scope, kind, page) => ledger.listNotes(scope, kind, page),
    listRecords: (scope, query, page) => ledger.listRecords(scope, query, page),
  };
}

type ScopePasses = ReturnType<typeof createPasses>;

function createPasses(ports: PagePorts, scope: LedgerScope) {
  const { clock } = ports;
  const ledger = yieldingLedger(ports);
  let latest: TimeRequest;
  const time = createRefresher(
    clock,
    () => readTime(scope, { ledger, now: clock.now(), ...latest }),
    TIME_MS,
    PASS_SHARE,
  );
  return {
    index: createDeadLetterIndex({ clock, ledger }, scope, PASS_SHARE),
    timeFor(request: TimeRequest) {
      latest = request;
      return time.value();
    },
  };
}

/** The ledger for passes: every page begins with a new turn of the event loop (L2). */
function yieldingLedger({ turn, ledger }: PagePorts): Ledger {
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
