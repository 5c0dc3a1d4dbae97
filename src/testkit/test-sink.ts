// Test sink: where the effects of a test pipeline go.
//   K1. tables() get a SQLite database in memory, also if the pipeline names one of its own.
//   K2. A sink function is not called; its effects are recorded per record, the latest call wins.

import { refuseValue } from "../core/errors.ts";
import type { Pipeline } from "../ingest/spec/define-pipeline.ts";
import type { Sink, TableRow } from "../ports/sink.ts";
import { createFunctionSink } from "../sinks/function/function-sink.ts";
import { createMemoryTables } from "../sinks/table/memory-tables.ts";
import type { MemoryLedgerOptions } from "../stores/memory/ledger.ts";

export interface TestSink {
  readonly port: Sink | null;
  readonly ledgerOptions: Pick<MemoryLedgerOptions, "writes">;
  rows(table: string): TableRow[];
  effects(): unknown[];
}

export function openTestSink(sink: Pipeline["sink"]): TestSink {
  const effects = new Map<string, readonly unknown[]>();
  if (sink !== null && typeof sink !== "function") {
    const tables = createMemoryTables(sink); // K1
    return {
      port: tables.sink,
      ledgerOptions: {
        writes: { dialect: "sqlite", run: tables.run, store: tables.store },
      },
      rows: tables.rows,
      effects: () => [],
    };
  }
  const record = createFunctionSink((values, { key }) => void effects.set(key, values)); // K2
  return {
    port: sink === null ? null : record,
    ledgerOptions: {},
    rows(table) {
      refuseValue(`no table ${JSON.stringify(table)}: the pipeline's sink is not tables()`);
    },
    effects: () => [...effects.values()].flat(),
  };
}
