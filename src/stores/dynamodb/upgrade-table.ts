// Upgrade table: brings the ledger or the outbox in a table to the schema of this release.

import type { SchemaUpgrade } from "../../ledger/schema-version.ts";
import { dynamoLedgerFault, nameOf } from "./faults.ts";
import { type DynamoConnection, openTable } from "./open-table.ts";
import { OUTBOX } from "./outbox-schema.ts";
import { LEDGER } from "./schema.ts";
import { upgradeTable } from "./table-version.ts";

/** A table has one of the two; the key of its items says which. */
export async function upgradeDynamo(
  { table, ...connection }: DynamoConnection & { readonly table: string },
  options: { readonly dryRun: boolean },
): Promise<SchemaUpgrade[]> {
  const opened = await openTable(
    { name: "ledger", faultOf: (error) => dynamoLedgerFault(error, table) },
    connection,
    async () => undefined,
  );
  const { client, guard, close } = opened;
  const upgrade = () =>
    upgradeTable(client, table, LEDGER, options).catch((error: unknown) => {
      if (nameOf(error) !== "ValidationException") throw error; // Other keys: an outbox.
      return upgradeTable(client, table, OUTBOX, options);
    });
  try {
    const upgraded = await guard(upgrade);
    return upgraded === null ? [] : [upgraded];
  } finally {
    await close();
  }
}
