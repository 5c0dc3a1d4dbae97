// Open outbox: the outbox that a URL names. Drivers are loaded as for ledgers (open-ledger.ts).
//   O1. A SQLite file that does not exist is an error: commands look after the outbox of a producer
//       and never create one.

import { existsSync } from "node:fs";
import { TidegateError } from "../../core/errors.ts";
import type { Outbox } from "../../ports/outbox.ts";
import { createMemoryOutbox } from "../../stores/memory/outbox.ts";
import type { LedgerPorts } from "./open-ledger.ts";
import { loadDriver, localCredentials, parseStoreUrl } from "./store-url.ts";

export type OutboxPorts = Pick<LedgerPorts, "clock" | "random">;

export async function openOutbox(url: string, ports: OutboxPorts): Promise<Outbox> {
  const location = parseStoreUrl(url, "outbox");
  switch (location.store) {
    case "memory":
      return createMemoryOutbox(ports);
    case "sqlite": {
      const { path } = location;
      if (!existsSync(path)) {
        const message = `the file ${path} does not exist; name the SQLite file of the outbox`;
        throw new TidegateError("TG_CONFIG_INVALID", message); // O1
      }
      const { createSqliteOutbox } = await import("../../stores/sqlite/ledger/outbox.ts");
      return createSqliteOutbox(ports, { path });
    }
    case "postgres": {
      const load = () => import("../../stores/postgres/outbox.ts");
      const { createPostgresOutbox } = await loadDriver("outbox", "pg", load);
      return await createPostgresOutbox(ports, { url: location.url });
    }
    case "dynamodb": {
      const load = () => import("../../stores/dynamodb/outbox.ts");
      const { createDynamoOutbox } = await loadDriver("outbox", "@aws-sdk/client-dynamodb", load);
      const { store: _, ...table } = location;
      return await createDynamoOutbox(ports, { ...table, ...localCredentials(location.endpoint) });
    }
  }
}
