// DynamoDB ledger: the record transitions over one table, by conditional writes.
//   D1. Every record is its own request, with a bounded number in flight. Records of one batch that
//       share a key, an object or a note run one after another.
//   D2. Reads that decide something are consistent, or come with a failed condition (the remedy of
//       T7).
//   D3. If a batch fails, the claims it made are released where possible. The caller receives none
//       of them, and each would be held, and counted as an attempt, for nothing.

import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { present } from "../../core/assert.ts";
import { refuseConfig } from "../../core/errors.ts";
import type { DurationMs } from "../../core/units.ts";
import { checkRetention, checkScope, rounds } from "../../ledger/batches.ts";
import { hasRecordsCall } from "../../ledger/has-records.ts";
import type { RecordItem, RunBatch } from "../../ledger/ledger-calls.ts";
import { ledgerCalls } from "../../ledger/ledger-calls.ts";
import { listCall } from "../../ledger/list-records.ts";
import { noteCalls } from "../../ledger/note-calls.ts";
import type { RecordResult } from "../../ledger/record-call.ts";
import { decodeEntries } from "../../ledger/record-log.ts";
import { liveObject, liveRecord, RETENTION_MS_DEFAULT } from "../../ledger/record-state.ts";
import { runCalls } from "../../ledger/runs.ts";
import { searchCall } from "../../ledger/search-records.ts";
import { openedOrClosed, type StoreGuard } from "../../ledger/store-guard.ts";
import { type LedgerTime, onCallersClock, type StoreTimeOptions } from "../../ledger/store-time.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { Random } from "../../ports/random.ts";
import type { LedgerScope } from "../../ports/record.ts";
import { dynamoLedgerFault } from "./faults.ts";
import { inParallel } from "./in-parallel.ts";
import { createDynamoUpkeep, searchItems } from "./ledger-upkeep.ts";
import { listDynamoRows } from "./list-items.ts";
import { findLiveKeys } from "./live-keys.ts";
import { createDynamoNoteStore } from "./note-writes.ts";
import { type DynamoConnection, openTable } from "./open-table.ts";
import { fromObjectItem, fromRecordItem, objectPk, recordPk } from "./record-items.ts";
import type { LedgerTable } from "./record-writes.ts";
import { getItem, runRecord } from "./record-writes.ts";
import { createDynamoRunStore } from "./run-items.ts";
import { createDynamoTable, findSchema, LEDGER, listingOff } from "./schema.ts";
import { TableTime } from "./table-time.ts";
import { fencedGuard, type StoredVersion } from "./table-version.ts";

const CLOCK_KEY = { pk: { S: "meta#clock" } };

export interface DynamoLedgerOptions extends DynamoConnection, StoreTimeOptions {
  readonly table: string;
  readonly retentionMs?: DurationMs;
  /** Whether to create a missing table, which needs the permissions. Default: true. */
  readonly create?: boolean;
  /**
   * Creates a missing table with the indexes that `listRecords` needs; every write of a record then
   * costs more. An existing table keeps what it was created with. Default: false.
   */
  readonly listing?: boolean;
}

/** Creates a missing table or, without `create`, requires it. */
async function prepare(
  client: DynamoDBClient,
  options: DynamoLedgerOptions,
): Promise<StoredVersion> {
  const { table, create = true, listing = false } = options;
  const existing = create
    ? await createDynamoTable(client, table, { listing })
    : await findSchema(client, table);
  if (existing === null) {
    refuseConfig(`the table ${table} contains no ledger; run \`tidegate ledger init\` first`);
  }
  if (listing && !existing.listing) throw listingOff(table);
  return existing;
}

/** Runs the records of a batch in rounds without shared items (D1). */
async function runBatch(
  table: LedgerTable,
  time: LedgerTime,
  scope: LedgerScope,
  items: readonly RecordItem[],
): Promise<RecordResult[]> {
  const results = new Array<RecordResult>(items.length);
  try {
    for (const round of rounds(items)) {
      const instant = time.read();
      await inParallel(round, async (at) => {
        const item = present(items[at], "an item of the round");
        results[at] = await runRecord(table, scope, item, instant);
      });
    }
    return onCallersClock(results, time);
  } catch (error) {
    await releaseClaims(table, time, scope, items, results);
    throw error;
  }
}

/** D3 */
async function releaseClaims(
  table: LedgerTable,
  time: LedgerTime,
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
    await runRecord(table, scope, release, time.read()).catch(() => undefined);
  });
}

/** Opens the ledger in a DynamoDB table. */
export async function createDynamoLedger(
  ports: { readonly clock: Clock; readonly random: Random },
  options: DynamoLedgerOptions,
): Promise<Ledger> {
  const { table, retentionMs = RETENTION_MS_DEFAULT } = options;
  checkRetention(retentionMs);
  let listing = false;
  const opened = await openTable(
    { name: "ledger", faultOf: (error) => dynamoLedgerFault(error, table) },
    options,
    async (database) => {
      ({ listing } = await prepare(database, options));
    },
  );
  const { client, close } = opened;
  const guard = fencedGuard(opened, table, LEDGER, ports.clock);
  const { acceptClock } = options;
  const marks = new TableTime(
    client,
    { table, key: CLOCK_KEY },
    { clock: ports.clock, acceptClock },
  );
  await openedOrClosed(
    guard(() => marks.open()),
    close,
  );
  const { time } = marks;
  const instance = ports.random.uuid();
  let writes = 0;
  const nextWrite = () => {
    writes += 1;
    return `${instance}#${writes}`;
  };
  const ledgerTable: LedgerTable = { client, table, retentionMs, listing, nextWrite };

  const run: RunBatch = (scope, items) =>
    guard(async () => {
      await marks.readToWrite();
      return await runBatch(ledgerTable, time, scope, items);
    });

  return {
    sinkDialect: null,
    sinkStore: null,
    ...ledgerCalls(run, { takesWrites: false }),
    ...noteCalls(createDynamoNoteStore({ table: ledgerTable, time, guard })),
    ...createDynamoUpkeep({ client, table, marks, guard }),
    ...runCalls(
      createDynamoRunStore({ table: ledgerTable, marks, guard }),
      () => time.read().expiry,
    ),
    ...readCalls(ledgerTable, marks, guard),
    close,
  };
}

/** The calls that only read records and objects. */
function readCalls(ledgerTable: LedgerTable, marks: TableTime, guard: StoreGuard["guard"]) {
  const { client, table } = ledgerTable;
  const { time } = marks;
  const calls: Pick<
    Ledger,
    "show" | "showObject" | "hasRecords" | "searchRecords" | "listRecords"
  > = {
    ...listCall(
      (scope, range) =>
        guard(async () => {
          if (!ledgerTable.listing) throw listingOff(table);
          return await listDynamoRows(ledgerTable, scope, range);
        }),
      () => time.read().expiry,
    ),
    ...hasRecordsCall((scope, keys) =>
      guard(() => findLiveKeys(ledgerTable, scope, keys, time.read().expiry)),
    ),
    ...searchCall((scope, text, limit) =>
      guard(() => searchItems({ client, table, marks }, scope, text, limit)),
    ),
    show: (scope, key) =>
      guard(async () => {
        checkScope(scope);
        const stored = fromRecordItem(await getItem(ledgerTable, recordPk(scope, key)));
        const record = liveRecord(stored.record, time.read().expiry);
        if (record.kind === "absent" || stored.input === null) return undefined;
        return { key, record, input: stored.input, entries: decodeEntries(stored.log) };
      }),
    showObject: (scope, bucket, key) =>
      guard(async () => {
        checkScope(scope);
        const item = await getItem(ledgerTable, objectPk(scope, { bucket, key }));
        return liveObject(fromObjectItem(item).object, time.read().expiry) ?? undefined;
      }),
  };
  return calls;
}
