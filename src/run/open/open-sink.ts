// Open sink: the sink that a pipeline names, beside the ledger it runs on.
//   K3. Which pair can work is decided here, at the start, in one sentence (ports/sink.ts).

import { TidegateError } from "../../core/errors.ts";
import type { Pipeline } from "../../ingest/spec/define-pipeline.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { Sink } from "../../ports/sink.ts";
import { createFunctionSink } from "../../sinks/function/function-sink.ts";
import { createIdempotentTableSink, createTableSink } from "../../sinks/table/index.ts";
import type { LedgerLocation } from "./open-ledger.ts";

/** The sink, ready to be written to; null where a pipeline has none. */
export async function openSink(
  pipeline: Pipeline,
  ledger: Pick<Ledger, "sinkDialect">,
  place: LedgerLocation,
): Promise<Sink | null> {
  const sink = sinkOf(pipeline, ledger, place);
  if (sink?.mode === "idempotent" && pipeline.lease === "receipt") {
    refuse(
      'lease: "receipt" goes only with tables in the ledger\'s own database, since any other sink ' +
        'needs the fence of a claim; say lease: "auto"',
    );
  }
  await sink?.prepare();
  return sink;
}

function sinkOf(
  { sink }: Pipeline,
  { sinkDialect }: Pick<Ledger, "sinkDialect">,
  place: LedgerLocation,
): Sink | null {
  if (sink === null) return null;
  if (typeof sink === "function") return createFunctionSink(sink);
  if (sink.database !== null) return createIdempotentTableSink(sink);
  if (sinkDialect === "sqlite" && place.store === "sqlite") {
    return createTableSink(sink, { dialect: "sqlite", path: place.path });
  }
  if (sinkDialect === "postgres" && place.store === "postgres") {
    return createTableSink(sink, { dialect: "postgres", url: place.url });
  }
  return refuse(
    `tables() writes into the ledger's database, and a ${place.store} ledger is none: name one for ` +
      "them with --tables-database or tables({ … }, { database }), or run on a SQLite or PostgreSQL " +
      "ledger",
  );
}

function refuse(message: string): never {
  throw new TidegateError("TG_CONFIG_INVALID", message);
}
