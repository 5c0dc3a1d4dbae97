// Stage sweep: removes rows that dead attempts staged (S3 of sinks/table/stage.ts).

import type { EpochMs } from "../../core/units.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { Sink } from "../../ports/sink.ts";
import { sweepDatabaseStages } from "../../sinks/table/index.ts";

/** The sweep of a running pipeline; empty if its sink does not stage. */
export function stageSweep(
  sink: Sink | null,
  { sinkStore }: Pick<Ledger, "sinkStore">,
): { readonly sweepStages?: (now: EpochMs) => Promise<number> } {
  if (sink?.sweepStages === undefined) return {};
  if (sink.mode === "idempotent") return { sweepStages: sink.sweepStages.bind(sink) };
  const sweep = sink.sweepStages.bind(sink);
  return sinkStore === null ? {} : { sweepStages: (now) => sweep(sinkStore, now) };
}

/** The sweep of a ledger's database, whose pipelines are not known. */
export async function sweepLedgerStages(
  { sinkStore, sinkDialect }: Pick<Ledger, "sinkStore" | "sinkDialect">,
  now: EpochMs,
): Promise<number> {
  if (sinkStore === null || sinkDialect === null) return 0;
  return await sweepDatabaseStages(sinkDialect, sinkStore, now);
}
