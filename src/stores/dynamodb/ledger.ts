// DynamoDB ledger: the record transitions over one table, by conditional writes.
//   D1. Every record is its own request, with a bounded number in flight. Records of one batch that
//       share a key, an object or a note run one after another.
//   D2. Reads that decide something are consistent, or come with a failed condition (the remedy of
//       T7).
//   D3. If a batch fails, the claims it made are released where possible. The caller receives none
//       of them, and each would be held, and counted as an attempt, for nothing.

import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { present } from "../../core/assert.ts";
import { TidegateError } from "../../core/errors.ts";
import type { DurationMs } from "../../core/units.ts";
import { checkRetention, checkScope, rounds } from "../../ledger/batches.ts";
import type { RecordItem, RunBatch } from "../../ledger/ledger-calls.ts";
import { ledgerCalls } from "../../ledger/ledger-calls.ts";
import { noteCalls } from "../../ledger/note-calls.ts";
import type { RecordResult } from "../../ledger/record-call.ts";
import { decodeEntries } from "../../ledger/record-log.ts";
import { liveObject, liveRecord, RETENTION_MS_DEFAULT } from "../../ledger/record-state.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { Random } from "../../ports/random.ts";
import type { LedgerScope } from "../../ports/record.ts";
import { dynamoLedgerFault } from "./faults.ts";
import { inParallel } from "./in-parallel.ts";
import { createDynamoUpkeep } from "./ledger-upkeep.ts";
import { createDynamoNoteStore } from "./note-writes.ts";
import { type DynamoConnection, openTable } from "./open-table.ts";
import { fromObjectItem, fromRecordItem, objectPk, recordPk } from "./record-items.ts";
import type { LedgerTable } from "./record-writes.ts";
import { getItem, runRecord } from "./record-writes.ts";
import { checkSchema, migrateDynamoLedger } from "./schema.ts";

export interface DynamoLedgerOptions extends DynamoConnection {
  readonly table: string;
  readonly retentionMs?: DurationMs;
  /** Whether to create a missing table, which needs the permissions. Default: true. */
  readonly migrate?: boolean;
}

/** Creates the table or, without `migrate`, checks it. */
async function prepare(client: DynamoDBClient, options: DynamoLedgerOptions): Promise<void> {
  const { table, migrate: mayMigrate = true } = options;
  if (mayMigrate) await migrateDynamoLedger(client, table);
  else if (!(await checkSchema(client, table))) {
    const message = `the table ${table} contains no ledger of this version; run \`tidegate ledger init\` first`;
    throw new TidegateError("TG_CONFIG_INVALID", message);
  }
}

/** Runs the records of a batch in rounds without shared items (D1). */
async function runBatch(
  table: LedgerTable,
  clock: Clock,
  scope: LedgerScope,
  items: readonly RecordItem[],
): Promise<RecordResult[]> {
  const results = new Array<RecordResult>(items.length);
  try {
    for (const round of rounds(items)) {
      const now = clock.now();
      await inParallel(round, async (at) => {
        const item = present(items[at], "an item of the round");
        results[at] = await runRecord(table, scope, item, now);
      });
    }
    return results;
  } catch (error) {
    await releaseClaims(table, clock, scope, items, results);
    throw error;
  }
}

/** D3 */
async function releaseClaims(
  table: LedgerTable,
  clock: Clock,
  scope: LedgerScope,
  items: readonly RecordItem[],
  results: readonly (RecordResult | undefined)[],
): Promise<void> {
  await inParallel([...items.entries()], async ([at, item]) => {
    const result = results[at];
    if (result?.kind !== "claimed") return;
    const call = { call: "release", fence: result.fence } as const;
    const release = { ...item, object: null, note: null, call };
    // If the release fails as well, the lease expires.
    await runRecord(table, scope, release, clock.now()).catch(() => undefined);
  });
}

/** Opens the ledger in a DynamoDB table. */
export async function createDynamoLedger(
  ports: { readonly clock: Clock; readonly random: Random },
  options: DynamoLedgerOptions,
): Promise<Ledger> {
  const { clock } = ports;
  const { table, retentionMs = RETENTION_MS_DEFAULT } = options;
  checkRetention(retentionMs);
  const { client, guard, close } = await openTable(
    { name: "ledger", faultOf: (error) => dynamoLedgerFault(error, table) },
    options,
    (opened) => prepare(opened, options),
  );
  const instance = ports.random.uuid();
  let writes = 0;
  const nextWrite = () => {
    writes += 1;
    return `${instance}#${writes}`;
  };
  const ledgerTable: LedgerTable = { client, table, retentionMs, nextWrite };

  const run: RunBatch = (scope, items) => guard(() => runBatch(ledgerTable, clock, scope, items));

  return {
    sinkDialect: null,
    ...ledgerCalls(run, { takesWrites: false }),
    ...noteCalls(createDynamoNoteStore({ table: ledgerTable, clock, guard })),
    ...createDynamoUpkeep({ client, table, clock, guard }),
    show: (scope, key) =>
      guard(async () => {
        checkScope(scope);
        const stored = fromRecordItem(await getItem(ledgerTable, recordPk(scope, key)));
        const record = liveRecord(stored.record, clock.now());
        if (record.kind === "absent") return undefined;
        return { key, record, entries: decodeEntries(stored.log) };
      }),
    showObject: (scope, bucket, key) =>
      guard(async () => {
        checkScope(scope);
        const item = await getItem(ledgerTable, objectPk(scope, { bucket, key }));
        return liveObject(fromObjectItem(item).object, clock.now()) ?? undefined;
      }),
    close,
  };
}
