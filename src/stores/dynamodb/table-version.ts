// Table version: the schema of the ledger or outbox in a table, stored in one of its items.
//   V1. A table of a version that this release may not use is rejected and left unchanged.
//   V2. A table is upgraded by a command: several releases share it. A step is one conditional
//       write, so several upgrades at once do each step once.
//   V3. A request cannot look at another item without becoming a transaction, which costs twice as
//       much. So a process reads the limits again before a call if it has not for FENCE_MS. A step
//       that raises `writersFrom` has to wait as long after it has raised it, and longer than a
//       request lasts, before it changes an item.

import type { CreateTableCommandInput, DynamoDBClient } from "@aws-sdk/client-dynamodb";
import {
  CreateTableCommand,
  GetItemCommand,
  PutItemCommand,
  UpdateItemCommand,
  waitUntilTableExists,
} from "@aws-sdk/client-dynamodb";
import { type DurationMs, seconds } from "../../core/units.ts";
import {
  judgeSchema,
  newerSchema,
  outdatedSchema,
  pendingSteps,
  type SchemaLimits,
  type SchemaUpgrade,
  type StoredSchema,
  type SupportedSchema,
} from "../../ledger/schema-version.ts";
import type { StoreGuard } from "../../ledger/store-guard.ts";
import type { Clock } from "../../ports/clock.ts";
import { type DynamoItem, nameOf } from "./faults.ts";

export interface Part extends SupportedSchema {
  /** The key of the item with the table's version. */
  readonly metaKey: DynamoItem;
  /** From `oldest` on. */
  readonly steps: readonly (SchemaLimits & { readonly to: number })[];
}

const TABLE_WAIT_S = 120;
/** V3 */
const FENCE_MS: DurationMs = seconds(5);

/** What is stored with the version. */
export interface StoredVersion {
  /** Whether the table was created for listing. */
  readonly listing: boolean;
}

/** The part in this table; null if table or part is missing (V1). */
export async function readVersion(
  client: DynamoDBClient,
  table: string,
  part: Part,
): Promise<StoredVersion | null> {
  const stored = await storedSchema(client, table, part);
  const state = judgeSchema(stored, part, "write");
  if (state === "outdated") throw outdatedSchema(part, stored?.version ?? 0);
  return stored === null ? null : { listing: stored.listing };
}

async function storedSchema(
  client: DynamoDBClient,
  TableName: string,
  { metaKey: Key }: Part,
): Promise<(StoredSchema & StoredVersion) | null> {
  const item = await client
    .send(new GetItemCommand({ TableName, Key, ConsistentRead: true }))
    .then(({ Item }) => Item)
    .catch((error: unknown) => {
      if (nameOf(error) === "ResourceNotFoundException") return undefined;
      throw error;
    });
  const version = Number(item?.version?.N ?? 0);
  if (version === 0) return null;
  const readersFrom = Number(item?.readersFrom?.N ?? version);
  const writersFrom = Number(item?.writersFrom?.N ?? version);
  return { version, readersFrom, writersFrom, listing: item?.listing?.BOOL === true };
}

export async function writeVersion(
  client: DynamoDBClient,
  TableName: string,
  part: Part,
  stored: StoredVersion = { listing: false },
): Promise<void> {
  await client.send(new PutItemCommand({ TableName, Item: versionItem(part, stored) }));
}

/** The item of a table that this release creates; the Terraform modules write the same. */
export function versionItem(
  { version, metaKey, steps }: Part,
  { listing }: StoredVersion,
): DynamoItem {
  const { readersFrom, writersFrom } = steps.at(-1) ?? {
    readersFrom: version,
    writersFrom: version,
  };
  return {
    ...metaKey,
    version: { N: String(version) },
    readersFrom: { N: String(readersFrom) },
    writersFrom: { N: String(writersFrom) },
    listing: { BOOL: listing },
  };
}

/** Upgrades the part in the table (V2); null if it is of this schema or missing. */
export async function upgradeTable(
  client: DynamoDBClient,
  TableName: string,
  part: Part,
  { dryRun }: { readonly dryRun: boolean },
): Promise<SchemaUpgrade | null> {
  const stored = await storedSchema(client, TableName, part);
  if (stored === null || judgeSchema(stored, part, "write") !== "outdated") return null;
  const steps = pendingSteps(part.steps, stored.version);
  for (const { to, readersFrom, writersFrom } of dryRun ? [] : steps) {
    const update = new UpdateItemCommand({
      TableName,
      Key: part.metaKey,
      ConditionExpression: "version = :from",
      UpdateExpression: "SET version = :to, readersFrom = :readers, writersFrom = :writers",
      ExpressionAttributeValues: {
        ":from": { N: String(to - 1) },
        ":to": { N: String(to) },
        ":readers": { N: String(readersFrom) },
        ":writers": { N: String(writersFrom) },
      },
    });
    await client.send(update).catch((error: unknown) => {
      if (nameOf(error) !== "ConditionalCheckFailedException") throw error; // Another has done it.
    });
  }
  return { part: part.part, from: stored.version, to: part.version, sql: [] };
}

/** The guard of a store, which also fails the calls of a release that may not write (V3). */
export function fencedGuard(
  { client, guard }: { readonly client: DynamoDBClient; readonly guard: StoreGuard["guard"] },
  table: string,
  part: Part,
  clock: Clock,
): StoreGuard["guard"] {
  let checkedAt = clock.monotonic();
  let checking: Promise<void> | null = null;
  const check = async () => {
    const startedAt = clock.monotonic();
    const stored = await storedSchema(client, table, part);
    if (stored !== null && stored.writersFrom > part.version) {
      throw newerSchema(part, stored.version);
    }
    checkedAt = startedAt;
  };
  return (work) =>
    guard(async () => {
      if (clock.monotonic() - checkedAt >= FENCE_MS) {
        checking ??= check().finally(() => {
          checking = null;
        });
        await checking;
      }
      return await work();
    });
}

/** Creates a table unless it exists; safe when several processes start at once. */
export async function makeTable(
  client: DynamoDBClient,
  wanted: CreateTableCommandInput,
): Promise<void> {
  try {
    await client.send(new CreateTableCommand(wanted));
  } catch (error) {
    if (nameOf(error) !== "ResourceInUseException") throw error; // It exists, or is being created.
  }
  const { TableName } = wanted;
  await waitUntilTableExists({ client, maxWaitTime: TABLE_WAIT_S }, { TableName });
}
