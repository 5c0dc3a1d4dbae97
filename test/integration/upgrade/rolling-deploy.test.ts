// A rolling deploy as the older release sees it: a newer one raises the version of a store that
// this one has open. `writersFrom` decides whether it keeps working.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { DynamoDBClient, UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { seconds } from "../../../src/core/units.ts";
import { asRecordKey } from "../../../src/ledger/record-state.ts";
import type { Ledger } from "../../../src/ports/ledger.ts";
import type { Outbox } from "../../../src/ports/outbox.ts";
import { createDynamoLedger } from "../../../src/stores/dynamodb/ledger.ts";
import { createDynamoOutbox } from "../../../src/stores/dynamodb/outbox.ts";
import { createPostgresLedger } from "../../../src/stores/postgres/ledger.ts";
import { createPostgresOutbox } from "../../../src/stores/postgres/outbox.ts";
import { createSqliteLedger } from "../../../src/stores/sqlite/ledger/ledger.ts";
import { createSqliteOutbox } from "../../../src/stores/sqlite/ledger/outbox.ts";
import { createManualClock, FAR_AHEAD, ManualClock } from "../../support/manual-clock.ts";
import { outboxEntryOf } from "../../support/old-stores/fill-stores.ts";
import { ANY_INPUT } from "../../support/stores/any-input.ts";
import { queryPostgres, useDynamo, usePostgres } from "../../support/stores/database-servers.ts";
import { random, turn } from "../../support/stores/real-ports.ts";

const postgres = await usePostgres();
const dynamo = await useDynamo();
const SCOPE = { pipeline: "orders", generation: 0 };
const LEASE = { owner: "older-release", leaseMs: seconds(30) };
const NEWER = { code: "TG_STORE_NEWER" };

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "tidegate-rolling-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A version that no release has, and the first schemas that may use it. */
interface Newer {
  readonly version: number;
  readonly readersFrom: number;
  readonly writersFrom: number;
}

interface World {
  readonly ledger: Ledger;
  readonly outbox: Outbox;
  /** Opens the ledger again, as a process that starts. */
  again(): Promise<Ledger>;
  upgrade(part: "ledger" | "outbox", to: Newer): Promise<void>;
}

const clock = createManualClock(FAR_AHEAD);
const ask = (name: string) => ({
  key: asRecordKey(name),
  input: ANY_INPUT,
  receivedAt: clock.now(),
});
const claim = async (ledger: Ledger, name: string) =>
  (await ledger.claim(SCOPE, [ask(name)], LEASE))[0];

let files = 0;
async function sqlite(): Promise<World> {
  files += 1;
  const path = join(folder, `${files}.db`);
  const again = async () => createSqliteLedger({ clock, turn }, { path });
  return {
    ledger: await again(),
    outbox: createSqliteOutbox({ clock }, { path }),
    again,
    async upgrade(part, { version, readersFrom, writersFrom }) {
      const db = new DatabaseSync(path);
      db.exec(`BEGIN IMMEDIATE;
        UPDATE tidegate_schema SET version = ${version} WHERE part = '${part}';
        UPDATE tidegate_schema_limits SET readers_from = ${readersFrom},
          writers_from = ${writersFrom} WHERE part = '${part}';
        COMMIT`);
      db.close();
    },
  };
}

const newerSql = (part: string, { version, readersFrom, writersFrom }: Newer) =>
  `UPDATE tidegate_schema SET version = ${version} WHERE part = '${part}';
   UPDATE tidegate_schema_limits SET readers_from = ${readersFrom},
     writers_from = ${writersFrom} WHERE part = '${part}';`;

async function onPostgres(): Promise<World> {
  const url = await postgres.freshUrl();
  const again = () => createPostgresLedger({ clock }, { url });
  return {
    ledger: await again(),
    outbox: await createPostgresOutbox({ clock }, { url }),
    again,
    upgrade: async (part, to) => void (await queryPostgres(url, newerSql(part, to))),
  };
}

async function onDynamo(): Promise<World> {
  const { table, ...connection } = dynamo.freshOptions();
  const tables = { ledger: table, outbox: `${table}-outbox` };
  const ports = { clock, random };
  const again = () => createDynamoLedger(ports, { ...connection, table: tables.ledger });
  return {
    ledger: await again(),
    outbox: await createDynamoOutbox(ports, { ...connection, table: tables.outbox }),
    again,
    async upgrade(part, { version, readersFrom, writersFrom }) {
      const client = new DynamoDBClient(connection);
      const key = { pk: { S: `meta#${part}` } };
      await client.send(
        new UpdateItemCommand({
          TableName: tables[part],
          Key: part === "ledger" ? key : { ...key, sk: { S: "meta" } },
          UpdateExpression: "SET version = :v, readersFrom = :r, writersFrom = :w",
          ExpressionAttributeValues: {
            ":v": { N: String(version) },
            ":r": { N: String(readersFrom) },
            ":w": { N: String(writersFrom) },
          },
        }),
      );
      client.destroy();
      clock.advance(seconds(6)); // V3 of table-version.ts
    },
  };
}

const STORES = [
  { name: "SQLite", available: true, open: sqlite, ledgerAt: 8, outboxAt: 4 },
  { name: "PostgreSQL", available: postgres.available, open: onPostgres, ledgerAt: 7, outboxAt: 4 },
  { name: "DynamoDB", available: dynamo.available, open: onDynamo, ledgerAt: 5, outboxAt: 3 },
];

describe.each(STORES)("$name", ({ available, open, ledgerAt, outboxAt }) => {
  test.skipIf(!available)("an older release keeps working if the store allows it", async () => {
    const { ledger, outbox, again, upgrade } = await open();
    const to = { version: ledgerAt + 1, readersFrom: ledgerAt, writersFrom: ledgerAt };
    await upgrade("ledger", to);
    const held = await claim(ledger, "a");
    if (held?.kind !== "claimed") throw new Error(`a is ${held?.kind}`);
    const commit = { key: asRecordKey("a"), fence: held.fence, digest: "d" };
    expect(await ledger.commit(SCOPE, [commit])).toEqual([{ kind: "committed" }]);
    const restarted = await again();
    expect(await claim(restarted, "a")).toMatchObject({ kind: "duplicate", digest: "d" });
    for (const store of [ledger, outbox, restarted]) await store.close();
  });

  test.skipIf(!available)("writes of a fenced process fail, and nothing is stored", async () => {
    const { ledger, outbox, again, upgrade } = await open();
    const held = await claim(ledger, "held");
    if (held?.kind !== "claimed") throw new Error(`held is ${held?.kind}`);
    const version = ledgerAt + 1;
    await upgrade("ledger", { version, readersFrom: version, writersFrom: version });
    const times = { receivedAt: clock.now(), startedAt: clock.now() };
    const key = asRecordKey("held");
    const note = { kind: "tried", name: "n", at: clock.now(), count: 1, body: "{}" } as const;
    const failure = { errorClass: "e", fingerprint: "f", message: "m" };
    const attempt = { ...ask("held"), fence: held.fence, owner: "w", permanent: true, failure };
    const fenced = [
      () => claim(ledger, "new"),
      () => ledger.commit(SCOPE, [{ key, fence: held.fence, digest: "d" }]),
      () => ledger.commitDirect(SCOPE, [{ ...ask("direct"), ...times, owner: "w", digest: "d" }]),
      () => ledger.fail(SCOPE, [attempt]),
      () => ledger.release(SCOPE, [{ key, fence: held.fence }]),
      () => ledger.addNotes(SCOPE, [note]),
      () => ledger.purge(10),
    ];
    for (const write of fenced) await expect(write()).rejects.toMatchObject(NEWER);
    await expect(claim(ledger, "new")).rejects.toThrow(
      `the ledger has schema ${version}, and this release uses schema ${ledgerAt}; ` +
        "use the newer release that wrote it",
    );
    await expect(again()).rejects.toMatchObject(NEWER);
    await upgrade("ledger", { version: ledgerAt, readersFrom: 1, writersFrom: 1 });
    const newer = await again();
    expect(await claim(newer, "held")).toMatchObject({ kind: "busy" });
    expect(await newer.hasRecords(SCOPE, [asRecordKey("new"), asRecordKey("direct")])).toEqual([
      false,
      false,
    ]);
    expect(await newer.findNote(SCOPE, "tried", "n")).toBeUndefined();
    for (const store of [ledger, outbox, newer]) await store.close();
  });

  test.skipIf(!available)("a fenced outbox registers and takes nothing", async () => {
    const { ledger, outbox, upgrade } = await open();
    await outbox.register("t", [outboxEntryOf("a")], { ...LEASE, owner: "gone" });
    clock.advance(seconds(31));
    const version = outboxAt + 1;
    await upgrade("outbox", { version, readersFrom: version, writersFrom: version });
    const register = outbox.register("t", [outboxEntryOf("b")], LEASE);
    await expect(register).rejects.toMatchObject(NEWER);
    await expect(outbox.take("t", 10, LEASE)).rejects.toMatchObject(NEWER);
    await upgrade("outbox", { version: outboxAt, readersFrom: 1, writersFrom: 1 });
    expect((await outbox.take("t", 10, LEASE)).map(({ key }) => key)).toEqual(["a"]);
    for (const store of [ledger, outbox]) await store.close();
  });
});

describe.skipIf(!postgres.available)("PostgreSQL", () => {
  /** Resolves when a statement of the ledger waits for the lock of the upgrade. */
  async function untilBlocked(client: pg.Client): Promise<void> {
    const waiting = `SELECT count(*)::integer AS n FROM pg_locks
      WHERE NOT granted AND relation = 'tidegate_schema_limits'::regclass`;
    await expect.poll(async () => (await client.query(waiting)).rows[0]?.n).toBeGreaterThan(0);
  }

  const calls = [
    { name: "a claim", call: (ledger: Ledger) => claim(ledger, "a") },
    { name: "a stale claim", call: (ledger: Ledger) => claim(ledger, "held") },
    { name: "a purge", call: (ledger: Ledger) => ledger.purge(10) },
  ];
  test.each(calls)("$name that waits for an upgrade is fenced by it (F1)", async ({ call }) => {
    const url = await postgres.freshUrl();
    const ledger = await createPostgresLedger({ clock }, { url });
    await claim(ledger, "held");
    const client = new pg.Client(url);
    await client.connect();
    await client.query("BEGIN; LOCK TABLE tidegate_schema_limits IN ACCESS EXCLUSIVE MODE");
    const waiting = call(ledger);
    waiting.catch(() => undefined);
    await untilBlocked(client);
    await client.query(newerSql("ledger", { version: 8, readersFrom: 8, writersFrom: 8 }));
    await client.query("COMMIT");
    await expect(waiting).rejects.toMatchObject(NEWER);
    await client.end();
    await ledger.close();
  });

  test("scopes, batches and the mark of the clock are fenced as well (F1)", async () => {
    const url = await postgres.freshUrl();
    const ledger = await createPostgresLedger({ clock }, { url });
    const outbox = await createPostgresOutbox({ clock }, { url });
    const marking = await createPostgresLedger({ clock: new ManualClock(FAR_AHEAD) }, { url });
    await claim(ledger, "a");
    await queryPostgres(
      url,
      `INSERT INTO tidegate_batch_item SELECT 'batch', 'name', 'key', false, 0;
       ${newerSql("ledger", { version: 8, readersFrom: 8, writersFrom: 8 })}
       ${newerSql("outbox", { version: 5, readersFrom: 5, writersFrom: 5 })}`,
    );
    const other = { ...SCOPE, pipeline: "other" };
    await expect(ledger.claim(other, [ask("a")], LEASE)).rejects.toMatchObject(NEWER);
    await expect(outbox.purge(10)).rejects.toMatchObject(NEWER);
    await expect(claim(marking, "b")).rejects.toMatchObject(NEWER);
    const rows = await queryPostgres(
      url,
      `SELECT (SELECT count(*)::integer FROM tidegate_ledger_scope) AS scopes,
        (SELECT count(*)::integer FROM tidegate_batch_item) AS items,
        (SELECT count(*)::integer FROM tidegate_clock) AS marks`,
    );
    expect(rows).toEqual([{ scopes: 1, items: 1, marks: 0 }]);
    for (const store of [ledger, outbox, marking]) await store.close();
  });

  test("an upgrade that fences waits for the transactions that have begun to write (F1)", async () => {
    const url = await postgres.freshUrl();
    const ledger = await createPostgresLedger({ clock }, { url });
    const holder = new pg.Client(url);
    await holder.connect();
    const held = await claim(ledger, "held");
    if (held?.kind !== "claimed") throw new Error(`held is ${held?.kind}`);
    await holder.query("BEGIN; SELECT * FROM tidegate_ledger_record FOR UPDATE");
    const times = { receivedAt: clock.now(), startedAt: clock.now() };
    const writes = [{ statement: "SELECT 1", params: [] }];
    const direct = { ...ask("held"), ...times, owner: "w", digest: "d", writes };
    const writing = ledger.commitDirect(SCOPE, [direct]);
    writing.catch(() => undefined);
    const rows = `SELECT count(*)::integer AS n FROM pg_stat_activity
      WHERE wait_event_type = 'Lock' AND query LIKE '%tidegate_ledger_record%'`;
    await expect.poll(async () => (await holder.query(rows)).rows[0]?.n).toBeGreaterThan(0);
    const upgrading = new pg.Client(url);
    await upgrading.connect();
    await upgrading.query("BEGIN; SET lock_timeout = 100");
    const lock = upgrading.query("LOCK TABLE tidegate_schema_limits IN ACCESS EXCLUSIVE MODE");
    await expect(lock).rejects.toMatchObject({ code: "55P03" });
    await holder.query("ROLLBACK");
    await writing.catch(() => undefined);
    await upgrading.end();
    await holder.end();
    await ledger.close();
  });
});
