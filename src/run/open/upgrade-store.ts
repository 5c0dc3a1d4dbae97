// Upgrade store: brings the ledger, and the outbox beside it, to the schema of this release.

import { existsSync } from "node:fs";
import { TidegateError } from "../../core/errors.ts";
import type { SchemaUpgrade } from "../../ledger/schema-version.ts";
import { chooseEndpoint } from "./find-server.ts";
import { loadDriver, localCredentials, parseStoreUrl } from "./store-url.ts";

/** What was upgraded; with `dryRun`, what an upgrade would do. */
export async function upgradeStore(
  url: string,
  options: { readonly dryRun: boolean },
): Promise<SchemaUpgrade[]> {
  const location = parseStoreUrl(url, "ledger");
  switch (location.store) {
    case "memory":
      return [];
    case "sqlite": {
      const { path } = location;
      if (!existsSync(path)) {
        const message = `the file ${path} does not exist; name the SQLite file of the ledger`;
        throw new TidegateError("TG_CONFIG_INVALID", message);
      }
      const { upgradeSqlite } = await import("../../stores/sqlite/upgrade-file.ts");
      return upgradeSqlite(path, options);
    }
    case "postgres": {
      const load = () => import("../../stores/postgres/upgrade-tables.ts");
      const { upgradePostgres } = await loadDriver("ledger", "pg", load);
      return await upgradePostgres(location.url, options);
    }
    case "dynamodb": {
      const load = () => import("../../stores/dynamodb/upgrade-table.ts");
      const { upgradeDynamo } = await loadDriver("ledger", "@aws-sdk/client-dynamodb", load);
      const { store: _, ...table } = location;
      const server = { endpoint: location.endpoint, cloud: null };
      const credentials = localCredentials(chooseEndpoint("DYNAMODB", server).endpoint);
      return await upgradeDynamo({ ...table, ...credentials }, options);
    }
  }
}
