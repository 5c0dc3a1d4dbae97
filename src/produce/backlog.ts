// Backlog: carries what an outbox holds and nobody has sent, oldest first, page by page. Producers
// catch up with it, relays do nothing else.
//   L1. A page is results to its end before the next is read, so memory is bounded and order kept.
//   L2. The first row that cannot be sent ends it: what follows waits in the outbox.

import type { Outbox, OutboxLease, OutboxRow } from "../ports/outbox.ts";
import type { OutboxSender, RowSendResult } from "./outbox-sender.ts";
import type { Target } from "./target.ts";

const PAGE_ROWS = 100;
/** Results kept for a caller; a producer's own rows are at the end, and fewer than that. */
const RESULTS_MAX = 2_000;

export interface Backlog {
  /** What became of the newest rows results, by key. */
  readonly results: ReadonlyMap<string, RowSendResult>;
  readonly sent: number;
  readonly refused: number;
  /** Why it ended early, or null if nothing is left. */
  readonly failed: Extract<RowSendResult, { kind: "unsent" }> | null;
}

export async function sendBacklog(
  ports: { readonly outbox: Outbox; readonly target: Target },
  sender: OutboxSender,
  lease: OutboxLease,
): Promise<Backlog> {
  await sender.idle(); // Else a row just being marked could be read as pending and sent again.
  sender.resume();
  const results = new Map<string, RowSendResult>();
  const counts = { sent: 0, refused: 0 };
  for (;;) {
    const rows = await ports.outbox.take(ports.target.name, PAGE_ROWS, lease);
    const page = await Promise.all(rows.map((row) => sender.send(row))); // L1
    let failed: Backlog["failed"] = null;
    for (const [at, result] of page.entries()) {
      remember(results, rows[at], result);
      if (result.kind === "unsent") failed ??= result;
      else counts[result.kind] += 1;
    }
    if (failed !== null || rows.length < PAGE_ROWS) return { results, ...counts, failed }; // L2
  }
}

function remember(
  results: Map<string, RowSendResult>,
  row: OutboxRow | undefined,
  result: RowSendResult,
): void {
  if (row === undefined) return;
  results.set(row.key, result);
  const oldest = results.keys().next();
  if (results.size > RESULTS_MAX && !oldest.done) results.delete(oldest.value);
}
