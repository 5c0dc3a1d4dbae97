// Backlog: sends the pending rows of an outbox, oldest first, page by page. Producers catch up with
// it; relays do nothing else.
//   L1. Every row of a page has its result before the next page is read, so that memory is bounded
//       and order is preserved.
//   L2. The first row that cannot be sent ends the run; later rows stay in the outbox.
//   L3. Runs of one owner follow each other. A lease does not protect a row from its own owner, so
//       of several runs at the same time each would send every row.

import type { Outbox, OutboxLease, OutboxRow } from "../ports/outbox.ts";
import type { OutboxSender, RowSendResult } from "./outbox-sender.ts";
import type { Target } from "./target.ts";

const PAGE_ROWS = 100;
/** The newest results that a caller gets. A producer has fewer rows than that of its own. */
const RESULTS_MAX = 2_000;

export interface Backlog {
  /** Results of the newest rows, by key. */
  readonly results: ReadonlyMap<string, RowSendResult>;
  readonly sent: number;
  readonly refused: number;
  /** Why the run ended early; null if no row is pending. */
  readonly failed: Extract<RowSendResult, { kind: "unsent" }> | null;
}

export async function sendBacklog(
  ports: { readonly outbox: Outbox; readonly target: Target },
  sender: OutboxSender,
  lease: OutboxLease,
): Promise<Backlog> {
  await sender.idle(); // A row that is being marked could be read as pending and sent again.
  sender.resume();
  const results = new Map<string, RowSendResult>();
  const counts = { sent: 0, refused: 0 };
  for (;;) {
    const rows = await ports.outbox.take(ports.target.name, PAGE_ROWS, lease);
    const page = await Promise.all(rows.map((row) => sender.send(row))); // L1
    let failed: Backlog["failed"] = null;
    for (const [at, result] of page.entries()) {
      addResult(results, rows[at], result);
      if (result.kind === "unsent") failed ??= result;
      else counts[result.kind] += 1;
    }
    if (failed !== null || rows.length < PAGE_ROWS) return { results, ...counts, failed }; // L2
  }
}

/** Runs one call after another, in the order in which they came. */
export type InTurn = <T>(run: () => Promise<T>) => Promise<T>;

export function createTurns(): InTurn {
  let last: Promise<unknown> = Promise.resolve();
  return (run) => {
    const result = last.then(run);
    last = result.catch(() => undefined);
    return result;
  };
}

/** Calls during a run wait for it, and share the next one, which finds all their rows (L3). */
export function oneRunAtATime<T>(inTurn: InTurn, run: () => Promise<T>): () => Promise<T> {
  let next: Promise<T> | null = null;
  return () => {
    next ??= inTurn(() => {
      next = null;
      return run();
    });
    return next;
  };
}

function addResult(
  results: Map<string, RowSendResult>,
  row: OutboxRow | undefined,
  result: RowSendResult,
): void {
  if (row === undefined) return;
  results.set(row.key, result);
  const oldest = results.keys().next();
  if (results.size > RESULTS_MAX && !oldest.done) results.delete(oldest.value);
}
