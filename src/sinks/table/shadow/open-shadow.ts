// Open shadow: the shadow of a table sink, in the ledger's database or in a separate one.

import { TidegateError } from "../../../core/errors.ts";
import type { TableSinkSpec } from "../../../core/table-spec.ts";
import type { Shadow, ShadowName } from "../../../ports/shadow.ts";
import type { SinkStore } from "../../../ports/sink.ts";
import { type DatabaseAddress, databaseAddress, type SinkDatabase } from "../databases/database.ts";
import { createIdempotentTableSink, createTableSink, openSinkDatabase } from "../table-sink.ts";
import { createTableShadow } from "./shadow-tables.ts";

/** The database of the ledger, if it takes tables. */
export interface LedgerDatabase {
  readonly address: DatabaseAddress;
  readonly store: SinkStore;
}

export function openTableShadow(
  spec: TableSinkSpec,
  ledger: LedgerDatabase | null,
  name: ShadowName,
): Shadow {
  if (spec.onlySql === true) {
    const message =
      "a pipeline that writes by sql() only has no tables to shadow; replay it into the live tables";
    throw new TidegateError("TG_REPLAY_REFUSED", message);
  }
  if (spec.database !== null) return inOwnDatabase(spec, databaseAddress(spec.database), name);
  if (ledger === null) {
    const message = "a shadow needs tables in a database, and the ledger has none";
    throw new TidegateError("TG_REPLAY_REFUSED", message);
  }
  const { address, store } = ledger;
  return createTableShadow(
    spec,
    {
      dialect: address.dialect,
      store,
      open: () => openSinkDatabase(address),
      sinkOf: (shadow) => createTableSink(shadow, address),
      close: async () => undefined,
    },
    name,
  );
}

function inOwnDatabase(spec: TableSinkSpec, address: DatabaseAddress, name: ShadowName): Shadow {
  let opening: Promise<SinkDatabase> | null = null;
  const open = () => {
    opening ??= openSinkDatabase(address);
    return opening;
  };
  const store: SinkStore = {
    run: async (writes) => (await open()).transact(writes, new AbortController().signal),
    read: async (write) => (await open()).read(write),
  };
  return createTableShadow(
    spec,
    {
      dialect: address.dialect,
      store,
      open: () => openSinkDatabase(address),
      sinkOf: createIdempotentTableSink,
      close: async () => await (await opening)?.close(),
    },
    name,
  );
}
