// Outbox purger: while a pipeline runs, deletes expired rows of the outbox in its ledger's store.
//   O1. Producers purge their own outbox (outbox-purge.ts of produce). This purger serves producers
//       that no longer run, and a pipeline that shortens the retention.
//   O2. It never creates an outbox. A producer may create one later, so each round looks again.
//   O3. Pending rows are never deleted (B5 of outbox-transitions.ts).

import { type DurationMs, subtractMs } from "../../core/units.ts";
import { CONSUMER_METRICS } from "../../ingest/telemetry/metrics.ts";
import type { Outbox } from "../../ports/outbox.ts";
import { type RowPurger, type RowPurgerPorts, startRowPurger } from "./row-purger.ts";

export interface OutboxPurgerPorts extends Omit<RowPurgerPorts, "store"> {
  /** Opens the outbox; null if there is none yet (O2). */
  readonly findOutbox: () => Promise<Outbox | null>;
}

/** `retentionMs` is null to keep rows for as long as their producer set. */
export function startOutboxPurger(
  { findOutbox, ...ports }: OutboxPurgerPorts,
  retentionMs: DurationMs | null,
): RowPurger {
  let outbox: Outbox | null = null;
  const store = {
    async purge(limit: number): Promise<number> {
      outbox ??= await findOutbox();
      if (outbox === null) return 0;
      if (retentionMs === null) return outbox.purge(limit);
      return outbox.purge(limit, subtractMs(ports.clock.now(), retentionMs)); // O1
    },
  };
  const purger = startRowPurger(
    { ...ports, store },
    { name: "outbox", metric: CONSUMER_METRICS.outboxPurged.name, emptyBatches: 1 },
  );
  return {
    async close() {
      await purger.close();
      await outbox?.close();
    },
  };
}
