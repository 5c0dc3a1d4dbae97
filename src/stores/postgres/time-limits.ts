// Time limits: how long a statement may go unanswered. A peer that died, or a network that lost the
// connection, says nothing, and TCP alone would wait for many minutes.
//   L1. What was not answered in time is of unknown outcome: the server may carry it out all the
//       same. It comes out as a store that cannot be used now, never as refused and never as done.
//   L2. Its connection is closed and not used again, as a late answer would be taken for the next.
//   L3. The limit is kept on our side. `statement_timeout` is the server's to keep, which a silent
//       one does not, and poolers refuse connections that bring it along.

import type { QueryConfig } from "pg";
import { type DurationMs, minutes, seconds } from "../../core/units.ts";

/** For statements that deliveries wait for; short of a lease, so that it can still be renewed. */
export const STATEMENT_MS_MAX: DurationMs = seconds(15);

/** For upkeep and migrations, which may read whole tables or wait for another process's. */
export const UPKEEP_MS_MAX: DurationMs = minutes(10);

/** The connection's own probes begin after so much silence: they find a dead peer between calls. */
const KEEP_ALIVE_MS = 10_000;

/** What a pool must be told so that its statements end. */
export function timeLimits(statementMsMax: DurationMs) {
  const keepAlive = { keepAlive: true, keepAliveInitialDelayMillis: KEEP_ALIVE_MS };
  return { query_timeout: statementMsMax, ...keepAlive };
}

/** A statement of upkeep or of a migration, with the longer limit. */
export function upkeep(text: string, values: unknown[] = []): QueryConfig {
  // The driver takes a limit per statement, which its types leave out.
  const limited: QueryConfig & { readonly query_timeout: number } = {
    ...{ text, values, query_timeout: UPKEEP_MS_MAX },
  };
  return limited;
}
