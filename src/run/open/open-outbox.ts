// Open outbox: the outbox that a URL names. Drivers are loaded as for ledgers (open-ledger.ts).
//   O1. A SQLite file that does not exist is an error: commands look after the outbox of a producer
//       and never create one.

import { existsSync } from "node:fs";
import { TidegateError } from "../../core/errors.ts";
import type { Outbox } from "../../ports/outbox.ts";
import { createMemoryOutbox } from "../../stores/memory/outbox.ts";
import { chooseEndpoint } from "./find-server.ts";
import type { LedgerPorts } from "./open-ledger.ts";
import { loadDriver, localCredentials, parseStoreUrl } from "./store-url.ts";

export type OutboxPorts = Pick<LedgerPorts, "clock" | "random">;

/** The outbox in the store of a URL; null if it has none, or if the store expires rows itself. */
export async function findOutbox(
  url: string,
  ports: OutboxPorts,
  options: { readonly acceptClock?: boolean } = {},
): Promise<Outbox | null> {
  const location = parseStoreUrl(url, "outbox");
  switch (location.store) {
    case "memory":
    case "dynamodb":
      return null;
    case "sqlite": {
      const { findSqliteOutbox } = await import("../../stores/sqlite/ledger/outbox.ts");
      return findSqliteOutbox(ports, { path: location.path, ...options });
    }
    case "postgres": {
      const load = () => import("../../stores/postgres/outbox.ts");
      const { findPostgresOutbox } = await loadDriver("outbox", "pg", load);
      const { url } = location;
      return await findPostgresOutbox(ports, { url, connectionsMax: 1, ...options });
    }
  }
}

export async function openOutbox(
  url: string,
  ports: OutboxPorts,
  options: { readonly acceptClock?: boolean } = {},
): Promise<Outbox> {
  const location = parseStoreUrl(url, "outbox");
  switch (location.store) {
    case "memory":
      return createMemoryOutbox(ports, options);
    case "sqlite": {
      const { path } = location;
      if (!existsSync(path)) {
        const message = `the file ${path} does not exist; name the SQLite file of the outbox`;
        throw new TidegateError("TG_CONFIG_INVALID", message); // O1
      }
      const { createSqliteOutbox } = await import("../../stores/sqlite/ledger/outbox.ts");
      return createSqliteOutbox(ports, { path, ...options });
    }
    case "postgres": {
      const load = () => import("../../stores/postgres/outbox.ts");
      const { createPostgresOutbox } = await loadDriver("outbox", "pg", load);
      return await createPostgresOutbox(ports, { url: location.url, ...options });
    }
    case "dynamodb": {
      const load = () => import("../../stores/dynamodb/outbox.ts");
      const { createDynamoOutbox } = await loadDriver("outbox", "@aws-sdk/client-dynamodb", load);
      const { store: _, ...table } = location;
      const server = { endpoint: location.endpoint, cloud: null };
      const credentials = localCredentials(chooseEndpoint("DYNAMODB", server).endpoint);
      return await createDynamoOutbox(ports, { ...table, ...credentials, ...options });
    }
  }
}
