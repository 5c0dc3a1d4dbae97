// Open ledger: the ledger that a URL names. Drivers are optional packages, so each is loaded only
// if a URL requires it.

import type { DurationMs } from "../../core/units.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { Random } from "../../ports/random.ts";
import type { Turn } from "../../ports/turn.ts";
import { createMemoryLedger } from "../../stores/memory/ledger.ts";
import { chooseEndpoint } from "./find-server.ts";
import { loadDriver, localCredentials, parseStoreUrl } from "./store-url.ts";

export interface LedgerPorts {
  readonly clock: Clock;
  readonly turn: Turn;
  readonly random: Random;
}

export interface OpenLedgerOptions {
  /** Believes the clock, however far it is ahead of the ledger. Default: false. */
  readonly acceptClock?: boolean;
  /** How long records are kept. Default: 45 days. */
  readonly retentionMs?: DurationMs;
  /** Whether to create a missing ledger; if false, it is an error. Default: true. */
  readonly create?: boolean;
  /** Whether a new DynamoDB table keeps lists of its records. Default: false. */
  readonly listing?: boolean;
  /** Opens an existing ledger for reading; calls that write fail. */
  readonly readOnly?: boolean;
}

export async function openLedger(
  url: string,
  ports: LedgerPorts,
  given: OpenLedgerOptions = {},
): Promise<Ledger> {
  const location = parseStoreUrl(url, "ledger");
  const options = given.readOnly === true ? { ...given, create: false } : given;
  switch (location.store) {
    case "memory":
      return createMemoryLedger(ports, options);
    case "sqlite": {
      const { createSqliteLedger } = await import("../../stores/sqlite/ledger/ledger.ts");
      const { listing: _, ...more } = options;
      return createSqliteLedger(ports, { path: location.path, ...more });
    }
    case "postgres": {
      const { listing: _, ...more } = options;
      const load = () => import("../../stores/postgres/ledger.ts");
      const { createPostgresLedger } = await loadDriver("ledger", "pg", load);
      return await createPostgresLedger(ports, { url: location.url, ...more });
    }
    case "dynamodb": {
      const load = () => import("../../stores/dynamodb/ledger.ts");
      const { createDynamoLedger } = await loadDriver("ledger", "@aws-sdk/client-dynamodb", load);
      const { store: _, ...table } = location;
      const server = { endpoint: location.endpoint, cloud: null };
      const credentials = localCredentials(chooseEndpoint("DYNAMODB", server).endpoint);
      return await createDynamoLedger(ports, { ...table, ...credentials, ...options });
    }
  }
}
