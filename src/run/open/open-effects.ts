// Open effects: what the sink of a pipeline has of each object, as far as it can be listed.
//   E1. Tables can be listed, in the ledger's database or in their own. Functions, objects and
//       plain SQL statements leave nothing that names their objects in order.

import type { Pipeline } from "../../ingest/spec/define-pipeline.ts";
import type { EffectLister } from "../../ports/effect-lister.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { RowChecker } from "../../ports/row-checker.ts";
import { createRowCheckers } from "../../sinks/table/check-rows.ts";
import { databaseAddress } from "../../sinks/table/databases/database.ts";
import { createTableEffects } from "../../sinks/table/index.ts";
import { openSinkDatabase } from "../../sinks/table/table-sink.ts";

export interface OpenedEffects {
  readonly effects: readonly EffectLister[];
  /** Empty if there is nothing to compare. */
  readonly rows: readonly RowChecker[];
  /** What was checked, or why nothing was. */
  readonly what: string;
  readonly close: () => Promise<void>;
}

export async function openEffects(
  { sink }: Pipeline,
  { sinkStore, sinkDialect }: Pick<Ledger, "sinkStore" | "sinkDialect">,
): Promise<OpenedEffects> {
  if (sink === null) return unchecked("the pipeline has no sink");
  if (typeof sink === "function") return unchecked("a sink function cannot be listed");
  if (sink.onlySql === true) return unchecked("statements of sql() cannot be listed");
  if (sink.database !== null) {
    const address = databaseAddress(sink.database);
    const database = await openSinkDatabase(address);
    const effects = await createTableEffects(database, address.dialect, sink.tables).catch(
      async (error: unknown) => {
        await database.close();
        throw error;
      },
    );
    const rows = rowsOf(effects, database, address.dialect, sink.tables);
    return { ...named(effects), rows, close: () => database.close() };
  }
  if (sinkStore === null || sinkDialect === null) {
    return unchecked("the ledger's database has no tables");
  }
  const effects = await createTableEffects(sinkStore, sinkDialect, sink.tables);
  const rows = rowsOf(effects, sinkStore, sinkDialect, sink.tables);
  return { ...named(effects), rows, close: async () => undefined };
}

/** Tables that do not exist yet have no rows. */
function rowsOf(
  effects: readonly EffectLister[],
  ...tables: Parameters<typeof createRowCheckers>
): RowChecker[] {
  return effects.length === 0 ? [] : createRowCheckers(...tables);
}

function named(effects: readonly EffectLister[]) {
  const what =
    effects.length === 0
      ? "the tables do not exist yet"
      : effects.map(({ name }) => name).join(", ");
  return { effects, what };
}

/** E1 */
function unchecked(what: string): OpenedEffects {
  return { effects: [], rows: [], what, close: async () => undefined };
}
