// Outbox upkeep: counts and purges a DynamoDB outbox. Both read the whole table, so use them
// rarely.

import { paginateScan } from "@aws-sdk/client-dynamodb";
import { countRows } from "../../ledger/outbox-stats.ts";
import type { Clock } from "../../ports/clock.ts";
import type { OutboxStats } from "../../ports/outbox.ts";
import { fromItem, type OutboxTable, replaceRow, type VersionedRow } from "./outbox-items.ts";

export interface OutboxUpkeepParts {
  readonly outbox: OutboxTable;
  readonly clock: Clock;
  guard<T>(work: () => Promise<T>): Promise<T>;
}

const ROW_PREFIX = "row#";

async function scanRows({ client, table: TableName }: OutboxTable) {
  const rows: { readonly target: string; readonly stored: VersionedRow }[] = [];
  for await (const { Items = [] } of paginateScan(
    { client },
    { TableName, ConsistentRead: true },
  )) {
    for (const item of Items) {
      const pk = item.pk?.S ?? "";
      if (!pk.startsWith(ROW_PREFIX)) continue;
      rows.push({ target: pk.slice(ROW_PREFIX.length), stored: fromItem(item) });
    }
  }
  return rows;
}

export function createOutboxUpkeep({ outbox, clock, guard }: OutboxUpkeepParts) {
  return {
    stats: (target: string): Promise<OutboxStats> =>
      guard(async () => {
        const targetRows = (await scanRows(outbox)).filter((row) => row.target === target);
        return countRows(targetRows.flatMap(({ stored }) => stored.row ?? []));
      }),
    purge: (limit: number): Promise<number> =>
      guard(async () => {
        const now = clock.now();
        const expired = (await scanRows(outbox)).filter(({ stored }) => {
          const expiresAt = stored.row?.expiresAt ?? null;
          return expiresAt !== null && expiresAt <= now;
        });
        const deletions = expired
          .slice(0, limit)
          .map(({ target, stored }) => replaceRow(outbox, target, stored, null));
        return (await Promise.all(deletions)).filter((done) => done).length;
      }),
  };
}
