// Open sink: the sink of a pipeline, next to its ledger.
//   K3. Pairs that cannot work are rejected here, at the start, with the fix (ports/sink.ts).

import { refuseConfig } from "../../core/errors.ts";
import type { Pipeline } from "../../ingest/spec/define-pipeline.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { Sink } from "../../ports/sink.ts";
import { createFunctionSink } from "../../sinks/function/function-sink.ts";
import { createIdempotentTableSink, createTableSink } from "../../sinks/table/index.ts";
import type { StoreLocation } from "./store-url.ts";

/** Opens the sink; null if the pipeline has none. */
export async function openSink(
  pipeline: Pipeline,
  ledger: Pick<Ledger, "sinkDialect">,
  location: StoreLocation,
): Promise<Sink | null> {
  const sink = sinkOf(pipeline, ledger, location);
  if (sink?.mode === "idempotent" && pipeline.lease === "receipt") {
    refuseConfig(
      'lease: "receipt" needs tables in the ledger\'s database: any other sink needs the fence ' +
        'of a claim; use lease: "auto"',
    );
  }
  try {
    await sink?.prepare();
  } catch (error) {
    await sink?.close();
    throw error;
  }
  return sink;
}

function sinkOf(
  { sink }: Pipeline,
  { sinkDialect }: Pick<Ledger, "sinkDialect">,
  location: StoreLocation,
): Sink | null {
  if (sink === null) return null;
  if (typeof sink === "function") return createFunctionSink(sink);
  if (sink.database !== null) return createIdempotentTableSink(sink);
  if (sinkDialect === "sqlite" && location.store === "sqlite") {
    return createTableSink(sink, { dialect: "sqlite", path: location.path });
  }
  if (sinkDialect === "postgres" && location.store === "postgres") {
    return createTableSink(sink, { dialect: "postgres", url: location.url });
  }
  return refuseConfig(
    `tables() needs a database, and a ${location.store} ledger has none; set tablesDatabase or ` +
      "tables({ … }, { database }), or use a SQLite or PostgreSQL ledger",
  );
}
