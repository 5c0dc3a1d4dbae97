// Opening a table: the client of a ledger or an outbox, once its table is there.

import type { DynamoDBClientConfig } from "@aws-sdk/client-dynamodb";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { createStoreGuard, type GuardedStore, type StoreGuard } from "../../core/store-guard.ts";
import { PARALLEL_MAX } from "./in-parallel.ts";

/** Where a table is; what is left out, the SDK finds as it always does. */
export interface DynamoConnection {
  readonly region?: string;
  /** Of DynamoDB Local or another implementation; else Amazon's own. */
  readonly endpoint?: string;
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string };
}

export interface OpenedTable extends StoreGuard {
  readonly client: DynamoDBClient;
}

/** Tries of the SDK per request; every write bears being repeated. */
const SDK_ATTEMPTS_MAX = 4;
const CONNECT_TIMEOUT_MS = 3_000;
const REQUEST_TIMEOUT_MS = 10_000;

/** A table that `prepare` has found, or made, ready; else a failure, and nothing left open. */
export async function openTable(
  store: Omit<GuardedStore, "release">,
  connection: DynamoConnection,
  prepare: (client: DynamoDBClient) => Promise<void>,
): Promise<OpenedTable> {
  const client = createClient(connection);
  const { guard, close } = createStoreGuard({ ...store, release: () => client.destroy() });
  try {
    await guard(() => prepare(client));
    return { client, guard, close };
  } catch (error) {
    await close();
    throw error;
  }
}

function createClient({ region, endpoint, credentials }: DynamoConnection): DynamoDBClient {
  const config: DynamoDBClientConfig = {
    maxAttempts: SDK_ATTEMPTS_MAX,
    requestHandler: {
      connectionTimeout: CONNECT_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      httpAgent: { maxSockets: PARALLEL_MAX, keepAlive: true },
      httpsAgent: { maxSockets: PARALLEL_MAX, keepAlive: true },
    },
  };
  if (region !== undefined) config.region = region;
  if (endpoint !== undefined) config.endpoint = endpoint;
  if (credentials !== undefined) config.credentials = credentials;
  return new DynamoDBClient(config);
}
