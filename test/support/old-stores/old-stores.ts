// Old stores: the files of test/fixtures/stores, which earlier commits wrote, and what any later
// release must still know about them.

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { CreateTableCommand, DynamoDBClient, PutItemCommand } from "@aws-sdk/client-dynamodb";
import { expect } from "vitest";
import { type DurationMs, epochMs } from "../../../src/core/units.ts";
import type { ClaimRequest, Ledger } from "../../../src/ports/ledger.ts";
import type { Outbox } from "../../../src/ports/outbox.ts";
import { createManualClock, type ManualClock } from "../manual-clock.ts";
import { queryPostgres } from "../stores/database-servers.ts";
import {
  FILLED_AT,
  FILLED_SCOPE,
  FILLED_TARGET,
  outboxEntryOf,
  recordKey,
  requestOf,
} from "./fill-stores.ts";

const FIXTURES = join(import.meta.dirname, "../../fixtures/stores");

/** The commits that wrote them, the oldest ledger that must open among them. */
export const OLD_COMMITS: readonly string[] = readdirSync(FIXTURES)
  .filter((name) => name.endsWith(".sqlite.db.gz"))
  .map((name) => name.slice(0, name.indexOf(".")));

function contentOf(commit: string, suffix: string): Buffer {
  return gunzipSync(readFileSync(join(FIXTURES, `${commit}.${suffix}.gz`)));
}

export function restoreSqlite(commit: string, path: string): void {
  writeFileSync(path, contentOf(commit, "sqlite.db"));
}

export async function restorePostgres(commit: string, url: string): Promise<void> {
  await queryPostgres(url, contentOf(commit, "postgres.sql").toString());
}

interface DynamoFixture {
  readonly table: "ledger" | "outbox";
  readonly AttributeDefinitions: never;
  readonly KeySchema: never;
  readonly indexes: readonly never[];
  readonly items: readonly Record<string, never>[];
}

/** Creates both tables under new names. */
export async function restoreDynamo(
  commit: string,
  connection: ConstructorParameters<typeof DynamoDBClient>[0],
  nameOf: (table: DynamoFixture["table"]) => string,
): Promise<void> {
  const tables = JSON.parse(contentOf(commit, "dynamodb.json").toString()) as DynamoFixture[];
  const client = new DynamoDBClient(connection ?? {});
  for (const { table, AttributeDefinitions, KeySchema, indexes, items } of tables) {
    const TableName = nameOf(table);
    const keys = { AttributeDefinitions, KeySchema };
    const more = indexes.length === 0 ? {} : { GlobalSecondaryIndexes: [...indexes] };
    const billing = { BillingMode: "PAY_PER_REQUEST" } as const;
    await client.send(new CreateTableCommand({ TableName, ...keys, ...more, ...billing }));
    for (const Item of items) await client.send(new PutItemCommand({ TableName, Item }));
  }
  client.destroy();
}

/** A minute later: leases of the old process have run out, but the long one has not. */
export function clockAfter(): ManualClock {
  return createManualClock(epochMs(FILLED_AT + 60_000));
}

const LEASE = { owner: "new-worker", leaseMs: 30_000 as DurationMs };

/** Old duplicates are duplicates, and all else continues where the old release left it. */
export async function expectOldRecords(ledger: Ledger, clock: ManualClock): Promise<void> {
  const page = { after: null, limit: 100 };
  const { records } = await ledger.listRecords(FILLED_SCOPE, { by: "event-time" }, page);
  const states = Object.fromEntries(records.map(({ key, record }) => [key, record.kind]));
  expect(states).toEqual({
    committed: "committed",
    object: "committed",
    superseded: "committed",
    direct: "committed",
    released: "released",
    failed: "failed",
    parked: "parked",
    claimed: "claimed",
  });
  const claim = async (request: ClaimRequest) =>
    (await ledger.claim(FILLED_SCOPE, [request], LEASE))[0];
  const message = (name: string) => claim(requestOf(name, clock));
  expect(await message("committed")).toMatchObject({ kind: "duplicate", digest: "d1" });
  expect(await message("direct")).toMatchObject({ kind: "duplicate", digest: "d4" });
  const again = requestOf("object", clock, "0066");
  expect(await claim(again)).toMatchObject({ kind: "duplicate", digest: "d2" });
  const superseded = await claim(requestOf("superseded", clock, "0055"));
  expect(["duplicate", "stale"]).toContain(superseded?.kind);
  expect(await claim(requestOf("new-but-old", clock, "0044"))).toMatchObject({ kind: "stale" });
  expect(await message("claimed")).toMatchObject({ kind: "busy" });
  expect(await message("parked")).toMatchObject({ kind: "parked" });
  expect(await message("released")).toMatchObject({ kind: "claimed" });
  expect(await message("failed")).toMatchObject({ kind: "claimed" });
  expect(await ledger.reopen(FILLED_SCOPE, [recordKey("parked")])).toMatchObject([
    { kind: "reopened" },
  ]);
  expect(await message("parked")).toMatchObject({ kind: "claimed" });
  expect(await ledger.findNote(FILLED_SCOPE, "dossier", "parked")).toMatchObject({ count: 1 });
  expect(await ledger.listNotes(FILLED_SCOPE, "duplicates", page)).toHaveLength(1);
  expect(await ledger.findRun(FILLED_SCOPE, "run-1")).toMatchObject({ kind: "live" });
  expect(await ledger.purge(1_000)).toBe(0);
}

/** What was not sent is sent once, and what was sent is not sent again. */
export async function expectOldRows(outbox: Outbox, clock: ManualClock): Promise<void> {
  const keysOf = (rows: readonly { readonly key: string }[]) => rows.map(({ key }) => key);
  expect(keysOf(await outbox.take(FILLED_TARGET, 10, LEASE))).toEqual(["pending"]);
  const other = { ...LEASE, owner: "other-worker" };
  expect(await outbox.take(FILLED_TARGET, 10, other)).toEqual([]);
  const marks = [{ key: "pending", epoch: 0, messageId: "m" }];
  await outbox.markSent(FILLED_TARGET, marks);
  const results = await outbox.register(
    FILLED_TARGET,
    ["pending", "sent", "done"].map(outboxEntryOf),
    LEASE,
  );
  expect(results.map(({ kind }) => kind)).toEqual(["sent", "sent", "sent"]);
  const all = { sentBefore: clock.now(), afterSeq: 0, limit: 10 };
  expect(keysOf(await outbox.sentNotDone(FILLED_TARGET, all)).sort()).toEqual(["pending", "sent"]);
  expect(await outbox.find(FILLED_TARGET, "refused")).toMatchObject({ reason: "too large" });
  const open = await outbox.openBatchItems("batch-1", { after: null, limit: 10 });
  expect(open).toEqual([{ name: "b", key: "b" }]);
  expect(await outbox.purge(1_000)).toBe(0);
}
