// Ledger upkeep: counts and purges a DynamoDB ledger. Both read the whole table and cost as much.
// DynamoDB's time to live deletes expired items anyway, so purging is rarely needed.

import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import {
  DeleteItemCommand,
  DescribeTimeToLiveCommand,
  paginateScan,
} from "@aws-sdk/client-dynamodb";
import { present } from "../../core/assert.ts";
import type { ScopeCounts } from "../../ledger/scope-stats.ts";
import { compareScopes, noCounts } from "../../ledger/scope-stats.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ScopeStats } from "../../ports/ledger.ts";
import type { LedgerScope } from "../../ports/record.ts";
import type { DynamoItem } from "./faults.ts";
import { conflictsIn } from "./faults.ts";
import { parsePk } from "./record-items.ts";

export interface DynamoUpkeepParts {
  readonly client: DynamoDBClient;
  readonly table: string;
  readonly clock: Clock;
  guard<T>(work: () => Promise<T>): Promise<T>;
}

/** Every item, with the attributes that upkeep needs. */
async function* scan({ client, table }: DynamoUpkeepParts): AsyncGenerator<DynamoItem> {
  const pages = paginateScan(
    { client },
    {
      TableName: table,
      ConsistentRead: true,
      ProjectionExpression: "pk, st, #exp, #by",
      ExpressionAttributeNames: { "#exp": "exp", "#by": "by" },
    },
  );
  for await (const { Items = [] } of pages) yield* Items;
}

/** Deletes an item unless it has changed since it was read. */
async function drop(
  { client, table }: DynamoUpkeepParts,
  { pk, by }: DynamoItem,
): Promise<boolean> {
  try {
    await client.send(
      new DeleteItemCommand({
        TableName: table,
        Key: { pk: present(pk, "the key of an item") },
        ConditionExpression: "#by = :by", // I1
        ExpressionAttributeNames: { "#by": "by" },
        ExpressionAttributeValues: { ":by": present(by, "the write of an item") },
      }),
    );
    return true;
  } catch (error) {
    if (conflictsIn(error) === null) throw error;
    return false;
  }
}

export function createDynamoUpkeep(parts: DynamoUpkeepParts) {
  const { client, table, clock, guard } = parts;
  return {
    check: (): Promise<string[]> =>
      guard(async () => {
        const command = new DescribeTimeToLiveCommand({ TableName: table });
        const { TimeToLiveDescription } = await client.send(command);
        const { TimeToLiveStatus: status, AttributeName: name } = TimeToLiveDescription ?? {};
        const enabled = status === "ENABLED" || status === "ENABLING";
        if (enabled && name === "ttl") return [];
        return [
          "Time to live is not enabled on the attribute ttl; expired items stay and cost money.",
        ];
      }),
    stats: (): Promise<ScopeStats[]> =>
      guard(async () => {
        const now = clock.now();
        const all = new Map<string, LedgerScope & ScopeCounts>();
        for await (const { pk, st, exp } of scan(parts)) {
          const parsed = parsePk(pk?.S ?? "");
          if (parsed === null || Number(exp?.N) <= now) continue;
          const { scope, kind } = parsed;
          const name = `${scope.pipeline}#${scope.generation}`;
          const counts = all.get(name) ?? { ...scope, ...noCounts() };
          all.set(name, counts);
          counts[kind === "o" ? "objects" : (st?.S as keyof ScopeCounts)] += 1;
        }
        return [...all.values()].sort(compareScopes);
      }),
    purge: (limit: number): Promise<number> =>
      guard(async () => {
        const now = clock.now();
        let purged = 0;
        for await (const item of scan(parts)) {
          if (purged >= limit) break;
          if (item.exp !== undefined && Number(item.exp.N) <= now && (await drop(parts, item)))
            purged += 1;
        }
        return purged;
      }),
  };
}
