// Ledger upkeep: counts and purges a DynamoDB ledger. Both read the whole table and cost as much.
// DynamoDB's time to live deletes expired items anyway, so purging is rarely needed.

import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import {
  DeleteItemCommand,
  DescribeTimeToLiveCommand,
  paginateScan,
} from "@aws-sdk/client-dynamodb";
import { present } from "../../core/assert.ts";
import { asRecordKey } from "../../ledger/record-state.ts";
import type { ScopeCounts } from "../../ledger/scope-stats.ts";
import { compareScopes, noCounts } from "../../ledger/scope-stats.ts";
import type { SearchedText } from "../../ledger/search-records.ts";
import { leapProblems } from "../../ledger/store-time.ts";
import type { ScopeStats } from "../../ports/ledger.ts";
import type { LedgerScope, RecordKey } from "../../ports/record.ts";
import type { DynamoItem } from "./faults.ts";
import { conflictsIn } from "./faults.ts";
import { parsePk, recordPk } from "./record-items.ts";
import type { TableTime } from "./table-time.ts";

export interface DynamoUpkeepParts {
  readonly client: DynamoDBClient;
  readonly table: string;
  readonly marks: TableTime;
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

/**
 * Records that have the text in a name of their input. An expression cannot join bucket and key to
 * a URL, so the text of a URL is taken apart; a few others may be found as well.
 */
export async function searchItems(
  { client, table, marks }: Omit<DynamoUpkeepParts, "guard">,
  scope: LedgerScope,
  { url, inJson }: SearchedText,
  limit: number,
): Promise<RecordKey[]> {
  const prefix = recordPk(scope, asRecordKey(""));
  const [, bucket, name] = /^s3:\/\/([^/]*)(?:\/(.*))?$/s.exec(url) ?? [];
  const [attribute, part] = name === undefined ? ["bkt", bucket ?? url] : ["obj", name];
  const pages = paginateScan(
    { client },
    {
      TableName: table,
      ConsistentRead: true,
      ProjectionExpression: "pk",
      FilterExpression:
        "begins_with(pk, :prefix) AND #exp > :now AND " +
        "(contains(#part, :part) OR contains(obj, :url) OR contains(inp, :json))",
      ExpressionAttributeNames: { "#exp": "exp", "#part": attribute },
      ExpressionAttributeValues: {
        ":prefix": { S: prefix },
        ":now": { N: String(marks.time.read().expiry) },
        ":part": { S: part },
        ":url": { S: url },
        ":json": { S: inJson },
      },
    },
  );
  const keys: RecordKey[] = [];
  for await (const { Items = [] } of pages) {
    for (const { pk } of Items) keys.push(asRecordKey((pk?.S ?? "").slice(prefix.length)));
    if (keys.length >= limit) break;
  }
  return keys.slice(0, limit);
}

export function createDynamoUpkeep(parts: DynamoUpkeepParts) {
  const { client, table, marks, guard } = parts;
  const { time } = marks;
  return {
    check: (): Promise<string[]> =>
      guard(async () => {
        const command = new DescribeTimeToLiveCommand({ TableName: table });
        const { TimeToLiveDescription } = await client.send(command);
        const { TimeToLiveStatus: status, AttributeName: name } = TimeToLiveDescription ?? {};
        const enabled = status === "ENABLED" || status === "ENABLING";
        const leaps = leapProblems(time.leap());
        if (enabled && name === "ttl") return leaps;
        return [
          "Time to live is not enabled on the attribute ttl; expired items stay and cost money.",
          ...leaps,
        ];
      }),
    stats: (): Promise<ScopeStats[]> =>
      guard(async () => {
        const { expiry } = time.read();
        const all = new Map<string, LedgerScope & ScopeCounts>();
        for await (const { pk, st, exp } of scan(parts)) {
          const parsed = parsePk(pk?.S ?? "");
          if (parsed === null || Number(exp?.N) <= expiry) continue;
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
        const { expiry } = await marks.readToWrite();
        let purged = 0;
        for await (const item of scan(parts)) {
          if (purged >= limit) break;
          if (item.exp !== undefined && Number(item.exp.N) <= expiry && (await drop(parts, item)))
            purged += 1;
        }
        return purged;
      }),
    leap: () => time.leap(),
  };
}
