// Backlog: carries what an outbox holds and nobody has sent, oldest first, page by page. Producers
// catch up with it, relays do nothing else.
//   L1. A page is carried to its end before the next is read, so memory is bounded and order kept.
//   L2. The first row that cannot be sent ends it: what follows waits in the outbox.

import type { Outbox, OutboxLease, OutboxRow } from "../ports/outbox.ts";
import type { Carried, Courier } from "./outbox-sender.ts";
import type { Target } from "./target.ts";

const PAGE_ROWS = 100;
/** Results kept for a caller; a producer's own rows are at the end, and fewer than that. */
const RESULTS_MAX = 2_000;

export interface Backlog {
  /** What became of the newest rows carried, by key. */
  readonly carried: ReadonlyMap<string, Carried>;
  readonly sent: number;
  readonly refused: number;
  /** Why it ended early, or null if nothing is left. */
  readonly failed: Extract<Carried, { kind: "unsent" }> | null;
}

export async function carryBacklog(
  ports: { readonly outbox: Outbox; readonly target: Target },
  courier: Courier,
  lease: OutboxLease,
): Promise<Backlog> {
  await courier.idle(); // Else a row just being marked could be read as pending and sent again.
  courier.resume();
  const carried = new Map<string, Carried>();
  const counts = { sent: 0, refused: 0 };
  for (;;) {
    const rows = await ports.outbox.take(ports.target.name, PAGE_ROWS, lease);
    const results = await Promise.all(rows.map((row) => courier.carry(row))); // L1
    let failed: Backlog["failed"] = null;
    for (const [at, result] of results.entries()) {
      remember(carried, rows[at], result);
      if (result.kind === "unsent") failed ??= result;
      else counts[result.kind] += 1;
    }
    if (failed !== null || rows.length < PAGE_ROWS) return { carried, ...counts, failed }; // L2
  }
}

function remember(
  carried: Map<string, Carried>,
  row: OutboxRow | undefined,
  result: Carried,
): void {
  if (row === undefined) return;
  carried.set(row.key, result);
  const oldest = carried.keys().next();
  if (carried.size > RESULTS_MAX && !oldest.done) carried.delete(oldest.value);
}
