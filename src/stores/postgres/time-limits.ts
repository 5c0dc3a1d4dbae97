// Time limits: timeouts of statements. A dead peer or a lost connection sends nothing, and TCP
// alone would wait for many minutes.
//   L1. A statement that times out has an unknown outcome: the server may still run it. The store
//       reports itself unavailable, never a rejection and never success.
//   L2. Its connection is closed and not used again, as a late answer would be taken for the next
//       one.
//   L3. The client enforces the limit. The server enforces `statement_timeout`, which a silent
//       server does not, and poolers reject connections that set it.

import type { QueryConfig } from "pg";
import { type DurationMs, minutes, seconds } from "../../core/units.ts";

/**
 * For statements that deliveries wait for; shorter than a lease, so that it can still be renewed.
 */
export const STATEMENT_MS_MAX: DurationMs = seconds(15);

/** For upkeep and migrations, which may read whole tables or wait for another process. */
export const UPKEEP_MS_MAX: DurationMs = minutes(10);

/** TCP keep-alive probes start after this much silence and detect a dead peer between calls. */
const KEEP_ALIVE_MS = 10_000;

/** Options of a pool with which every statement ends. */
export function timeLimits(statementMsMax: DurationMs) {
  const keepAlive = { keepAlive: true, keepAliveInitialDelayMillis: KEEP_ALIVE_MS };
  return { query_timeout: statementMsMax, ...keepAlive };
}

/** A statement of upkeep or of a migration, with the longer timeout. */
export function upkeep(text: string, values: unknown[] = []): QueryConfig {
  // The driver accepts a timeout per statement, which its types omit.
  const limited: QueryConfig & { readonly query_timeout: number } = {
    text,
    values,
    query_timeout: UPKEEP_MS_MAX,
  };
  return limited;
}
