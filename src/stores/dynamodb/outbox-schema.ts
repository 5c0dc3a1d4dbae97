// Outbox schema: creates the outbox's table, whose expired items DynamoDB deletes by their `ttl`.

import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { TidegateError } from "../../core/errors.ts";
import { outboxTable } from "./outbox-table.ts";
import { enableExpiry } from "./schema.ts";
import { makeTable, type Part, readVersion, writeVersion } from "./table-version.ts";

export const OUTBOX: Part = {
  part: "outbox",
  version: 3,
  oldest: 2,
  metaKey: { pk: { S: "meta#outbox" }, sk: { S: "meta" } },
  steps: [{ to: 3, readersFrom: 2, writersFrom: 2 }],
};
const TABLE_NAME = /^[A-Za-z0-9_.-]{3,255}$/;

/** Creates what is missing; safe when several processes start at once. */
export async function createOutboxTable(client: DynamoDBClient, table: string): Promise<void> {
  if (!TABLE_NAME.test(table)) {
    throw new TidegateError("TG_CONFIG_INVALID", `${JSON.stringify(table)} is not a table name`);
  }
  if ((await readVersion(client, table, OUTBOX)) !== null) return;
  await makeTable(client, outboxTable(table));
  await enableExpiry(client, table);
  await writeVersion(client, table, OUTBOX);
}
