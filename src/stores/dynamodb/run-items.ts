// Run items: runs as items of the table, by the rule of ledger/runs.ts. They use the index of notes
// (Y1 of ledger-table.ts), in the order of their starts.
//   G1. A run is read and written on condition that it is unchanged; a lost race starts over.

import { PutItemCommand, QueryCommand } from "@aws-sdk/client-dynamodb";
import { present } from "../../core/assert.ts";
import { epochMs } from "../../core/units.ts";
import { mergeRun, type RunStore, type StoredRun } from "../../ledger/runs.ts";
import type { RunKind } from "../../ports/ledger.ts";
import type { LedgerScope } from "../../ports/record.ts";
import { type ContendedWrite, untilWritten, WRITE_LOST } from "./contention.ts";
import { conflictsIn, type DynamoItem } from "./faults.ts";
import { BATCH_GET_MAX, getItems } from "./get-items.ts";
import { NOTE_INDEX } from "./ledger-table.ts";
import { ttlOf, writeOf } from "./record-items.ts";
import { getItem, type LedgerTable, putIf } from "./record-writes.ts";
import type { TableTime } from "./table-time.ts";

const CONTENDED: ContendedWrite = { what: "run", unavailable: "TG_LEDGER_BUSY", triesMax: 16 };
const WRITTEN = { kind: "done", value: undefined } as const;
/** Enough for every whole number that is a time. */
const TIME_DIGITS = 16;

export interface DynamoRunParts {
  readonly table: LedgerTable;
  readonly marks: TableTime;
  guard<T>(work: () => Promise<T>): Promise<T>;
}

/** Notes have no kind of that name, so their lists do not meet. */
function partition({ pipeline, generation }: LedgerScope): string {
  return `${pipeline}#${generation}#run`;
}

export function runPk(scope: LedgerScope, id: string): string {
  return `u#${partition(scope)}#${id}`;
}

function sortOf({ startedAt, id }: { readonly startedAt: number; readonly id: string }): string {
  return `${String(startedAt).padStart(TIME_DIGITS, "0")}#${id}`;
}

export function createDynamoRunStore({ table, marks, guard }: DynamoRunParts): RunStore {
  const { retentionMs } = table;
  return {
    put: (scope, run) =>
      guard(async () => {
        const at = { ...(await marks.readToWrite()), retentionMs };
        const by = table.nextWrite();
        await untilWritten(CONTENDED, async () => {
          const item = await getItem(table, runPk(scope, run.id)); // G1
          if (item?.by?.S === by) return WRITTEN; // I2 of record-items.ts
          const merged = mergeRun(fromRunItem(item), run, at);
          const previous = item === undefined ? null : writeOf(item);
          const put = putIf(table, toItem(scope, merged, by), previous);
          try {
            await table.client.send(new PutItemCommand(put));
            return WRITTEN;
          } catch (error) {
            if (conflictsIn(error) === null) throw error;
            return WRITE_LOST;
          }
        });
      }),
    find: (scope, id) => guard(async () => fromRunItem(await getItem(table, runPk(scope, id)))),
    list: (scope, { start, limit }) =>
      guard(async () => {
        const runs: StoredRun[] = [];
        let before = start === null ? null : sortOf(start);
        for (;;) {
          const size = Math.min(BATCH_GET_MAX, limit - runs.length);
          const pks = await readIndex(table, scope, { before, size });
          const items = await getItems(table, pks);
          for (const pk of pks) {
            const run = fromRunItem(items.get(pk));
            if (run !== null) {
              runs.push(run);
              before = sortOf(run);
            }
          }
          if (runs.length === limit || pks.length < size) return runs;
        }
      }),
  };
}

async function readIndex(
  { client, table }: LedgerTable,
  scope: LedgerScope,
  { before, size }: { readonly before: string | null; readonly size: number },
): Promise<string[]> {
  const { Items = [] } = await client.send(
    new QueryCommand({
      TableName: table,
      IndexName: NOTE_INDEX,
      KeyConditionExpression: before === null ? "np = :np" : "np = :np AND nm < :before",
      ExpressionAttributeValues: {
        ":np": { S: partition(scope) },
        ...(before !== null && { ":before": { S: before } }),
      },
      ScanIndexForward: false,
      Limit: size,
    }),
  );
  return Items.map(({ pk }) => present(pk?.S, "the key of a run"));
}

function toItem(scope: LedgerScope, run: StoredRun, by: string): DynamoItem {
  const { id, startedAt, endedAt, seenAt, expiresAt } = run;
  const { kind, codeDigest, configDigest, environment, parameters, counts } = run;
  const details = { kind, codeDigest, configDigest, environment, parameters, counts };
  return {
    pk: { S: runPk(scope, id) },
    by: { S: by },
    np: { S: partition(scope) },
    nm: { S: sortOf(run) },
    id: { S: id },
    beg: { N: String(startedAt) },
    ...(endedAt !== null && { fin: { N: String(endedAt) } }),
    seen: { N: String(seenAt) },
    run: { S: JSON.stringify(details) },
    exp: { N: String(expiresAt) },
    ttl: ttlOf(expiresAt),
  };
}

type Details = Omit<StoredRun, "id" | "startedAt" | "endedAt" | "seenAt" | "expiresAt" | "kind"> & {
  readonly kind: RunKind;
};

export function fromRunItem(item: DynamoItem | undefined): StoredRun | null {
  if (item === undefined) return null;
  const timeIn = (name: string) =>
    epochMs(Number(present(item[name]?.N, `the number ${name} of a run`)));
  const details = JSON.parse(present(item.run?.S, "the details of a run")) as Details;
  return {
    ...details,
    id: present(item.id?.S, "the id of a run"),
    startedAt: timeIn("beg"),
    endedAt: item.fin === undefined ? null : timeIn("fin"),
    seenAt: timeIn("seen"),
    expiresAt: timeIn("exp"),
  };
}
