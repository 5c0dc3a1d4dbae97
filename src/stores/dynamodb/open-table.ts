// Opening a table: the client of a ledger or an outbox, once its table is there.
//   L1. Every try of a request ends: in time, or as an error that the SDK answers with another try
//       on another connection, so that one dead connection costs one limit and nothing else.
//   L2. When all tries went unanswered the outcome is unknown: DynamoDB may have done it. It is
//       told as a table that cannot be used now, never as refused and never as done.
//   L3. A write that is tried again after it was done must find that out: by the token that the
//       SDK gives each transaction, or by the name it left on its items (I2 of record-items.ts),
//       which is there for longer than DynamoDB knows a token.

import type { DynamoDBClientConfig } from "@aws-sdk/client-dynamodb";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { type DurationMs, seconds } from "../../core/units.ts";
import { createStoreGuard, type GuardedStore, type StoreGuard } from "../../ledger/store-guard.ts";
import { PARALLEL_MAX } from "./in-parallel.ts";

/** Where a table is; what is left out, the SDK finds as it always does. */
export interface DynamoConnection {
  readonly region?: string;
  /** Of DynamoDB Local or another implementation; else Amazon's own. */
  readonly endpoint?: string;
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string };
  /** How long one try of a request may take, of which there are up to four: 3 s if unsaid. */
  readonly requestMsMax?: DurationMs;
}

export interface OpenedTable extends StoreGuard {
  readonly client: DynamoDBClient;
}

/** Tries of the SDK per request; every write bears being repeated (L3). */
export const SDK_ATTEMPTS_MAX = 4;
const CONNECT_TIMEOUT_MS = 3_000;
/** Four of these stay short of a lease, so that it can still be renewed. */
export const DYNAMODB_REQUEST_MS_MAX: DurationMs = seconds(3);

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

function createClient(connection: DynamoConnection): DynamoDBClient {
  const { region, endpoint, credentials, requestMsMax = DYNAMODB_REQUEST_MS_MAX } = connection;
  const config: DynamoDBClientConfig = {
    maxAttempts: SDK_ATTEMPTS_MAX,
    requestHandler: {
      connectionTimeout: CONNECT_TIMEOUT_MS,
      requestTimeout: requestMsMax,
      throwOnRequestTimeout: true, // L1: without it the SDK only warns, and waits on.
      socketTimeout: requestMsMax, // L1: the other one ends with the head of the answer.
      httpAgent: { maxSockets: PARALLEL_MAX, keepAlive: true },
      httpsAgent: { maxSockets: PARALLEL_MAX, keepAlive: true },
    },
  };
  if (region !== undefined) config.region = region;
  if (endpoint !== undefined) config.endpoint = endpoint;
  if (credentials !== undefined) config.credentials = credentials;
  return new DynamoDBClient(config);
}
