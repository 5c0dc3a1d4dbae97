// Open table: connects a ledger or an outbox to its table.
//   L1. Every try of a request ends: in time, or with an error after which the SDK retries on
//       another connection. One dead connection therefore costs one timeout and nothing else.
//   L2. If all tries time out the outcome is unknown: DynamoDB may have done it. The store reports
//       an unavailable table, never a rejection and never success.
//   L3. A repeated write must notice that it was already done: by the token that the SDK gives each
//       transaction, or by the write id on its items (I2 of record-items.ts), which outlives
//       DynamoDB's memory of a token.

import type { DynamoDBClientConfig } from "@aws-sdk/client-dynamodb";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { type DurationMs, seconds } from "../../core/units.ts";
import { createStoreGuard, type GuardedStore, type StoreGuard } from "../../ledger/store-guard.ts";
import { PARALLEL_MAX } from "./in-parallel.ts";

/** Where a table is. The AWS SDK resolves omitted values in its usual way. */
export interface DynamoConnection {
  readonly region?: string;
  /** Endpoint of DynamoDB Local or another implementation. Default: AWS. */
  readonly endpoint?: string;
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string };
  /** Timeout of one try of a request; a request has up to four tries. Default: 3 s. */
  readonly requestMsMax?: DurationMs;
}

export interface OpenedTable extends StoreGuard {
  readonly client: DynamoDBClient;
}

/** Tries of the SDK per request; every write can be repeated (L3). */
export const SDK_ATTEMPTS_MAX = 4;
const CONNECT_TIMEOUT_MS = 3_000;
/** Four of these are shorter than a lease, so that it can still be renewed. */
export const DYNAMODB_REQUEST_MS_MAX: DurationMs = seconds(3);

/** Opens a table that `prepare` has checked or created. If that fails, nothing stays open. */
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

function createClient(connection: DynamoConnection): DynamoDBClient {
  const { region, endpoint, credentials, requestMsMax = DYNAMODB_REQUEST_MS_MAX } = connection;
  const config: DynamoDBClientConfig = {
    maxAttempts: SDK_ATTEMPTS_MAX,
    requestHandler: {
      connectionTimeout: CONNECT_TIMEOUT_MS,
      requestTimeout: requestMsMax,
      throwOnRequestTimeout: true, // L1: without it the SDK only warns and keeps waiting.
      socketTimeout: requestMsMax, // L1: requestTimeout covers only the response's headers.
      httpAgent: { maxSockets: PARALLEL_MAX, keepAlive: true },
      httpsAgent: { maxSockets: PARALLEL_MAX, keepAlive: true },
    },
  };
  if (region !== undefined) config.region = region;
  if (endpoint !== undefined) config.endpoint = endpoint;
  if (credentials !== undefined) config.credentials = credentials;
  return new DynamoDBClient(config);
}
