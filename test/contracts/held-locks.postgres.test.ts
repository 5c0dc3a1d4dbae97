// Held locks on PostgreSQL: another session locks rows and keeps them, without the limits that our
// own transactions have. Calls that need those rows are busy: they are repeated, fail with a
// message that says so, and leave no backend waiting. Other calls work.

import pg from "pg";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { seconds } from "../../src/core/units.ts";
import { asRecordKey, fenceOf } from "../../src/ledger/record-state.ts";
import type { Ledger } from "../../src/ports/ledger.ts";
import { openPostgresDatabase } from "../../src/sinks/table/databases/postgres-database.ts";
import { createPostgresLedger } from "../../src/stores/postgres/ledger.ts";
import { createPostgresOutbox } from "../../src/stores/postgres/outbox.ts";
import { ownLockLimit } from "../../src/stores/postgres/time-limits.ts";
import { inPostgresTransaction } from "../../src/stores/postgres/transaction.ts";
import { createManualClock, FAR_AHEAD } from "../support/manual-clock.ts";
import { ANY_INPUT } from "../support/stores/any-input.ts";
import { queryPostgres, usePostgres } from "../support/stores/database-servers.ts";

const { available, freshUrl } = await usePostgres();
const clock = createManualClock(FAR_AHEAD);
const now = clock.now();
/** Shortens the lock limit, too, which is at most half of it. */
const statementMsMax = seconds(1);
const SCOPE = { pipeline: "orders", generation: 1 };
const LEASE = { owner: "w", leaseMs: seconds(30) };
const [HELD, FREE, NEW] = [asRecordKey("held"), asRecordKey("free"), asRecordKey("new")];
const NOTE = { kind: "tried", name: "n", at: now, count: 1, body: "" } as const;
const FENCE = fenceOf(now);
const busy = (code: string) => ({ code, message: expect.stringContaining("is busy") });

describe.skipIf(!available)("while another session holds the rows", () => {
  let url = "";
  let ledger: Ledger;
  let holder: pg.Client;

  beforeEach(async () => {
    url = await freshUrl();
    ledger = await createPostgresLedger({ clock }, { url, statementMsMax });
    const requests = [HELD, FREE].map((key) => ({ key, input: ANY_INPUT, receivedAt: now }));
    const claims = await ledger.claim(SCOPE, requests, LEASE);
    expect(claims).toMatchObject([{ fence: FENCE }, { fence: FENCE }]);
    await ledger.addNotes(SCOPE, [NOTE]);
    holder = new pg.Client(url);
    await holder.connect();
  });
  afterEach(async () => {
    await holder.end();
    await ledger.close();
  });

  const hold = (sql: string) => holder.query(`BEGIN; ${sql}`);
  const waiters = () =>
    queryPostgres(url, "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock'");
  const commitOf = (key: typeof HELD) => ({ key, fence: FENCE, digest: "d" });
  const direct = { owner: "w", input: ANY_INPUT, receivedAt: now, startedAt: now, digest: "d" };

  test("a claim and a direct commit of that record are busy, and those of others succeed", async () => {
    await hold("UPDATE tidegate_ledger_record SET log = log WHERE key = 'held'");
    const soon = { kind: "busy", until: now + seconds(5) };
    const requests = [HELD, NEW].map((key) => ({ key, input: ANY_INPUT, receivedAt: now }));
    expect(await ledger.claim(SCOPE, requests, { ...LEASE, owner: "v" })).toMatchObject([
      ...[soon, { kind: "claimed" }],
    ]);
    const commits = [HELD, asRecordKey("newer")].map((key) => ({ ...direct, key }));
    expect(await ledger.commitDirect(SCOPE, commits)).toMatchObject([
      ...[soon, { kind: "committed" }],
    ]);
    expect(await waiters()).toEqual([]);
  });

  test("a record that is being inserted is busy for a claim", async () => {
    await hold(`INSERT INTO tidegate_ledger_record
      SELECT (jsonb_populate_record(r, '{"key": "new"}')).* FROM tidegate_ledger_record AS r
      WHERE key = 'free'`);
    const request = { key: NEW, input: ANY_INPUT, receivedAt: now };
    expect(await ledger.claim(SCOPE, [request], LEASE)).toMatchObject([{ kind: "busy" }]);
    await holder.query("ROLLBACK");
    expect(await ledger.claim(SCOPE, [request], LEASE)).toMatchObject([{ kind: "claimed" }]);
  });

  test("a commit fails after its tries, the rest of its batch is written, and a repeat works", async () => {
    await hold("SELECT 1 FROM tidegate_ledger_record WHERE key = 'held' FOR UPDATE");
    const commits = [commitOf(HELD), commitOf(FREE)];
    await expect(ledger.commit(SCOPE, commits)).rejects.toMatchObject(busy("TG_LEDGER_BUSY"));
    expect((await ledger.show(SCOPE, FREE))?.record.kind).toBe("committed");
    expect(await waiters()).toEqual([]);
    await holder.query("ROLLBACK");
    const done = { kind: "committed" };
    expect(await ledger.commit(SCOPE, commits)).toEqual([done, done]);
  });

  test("a renewal waits until the rows are released", async () => {
    await hold("SELECT 1 FROM tidegate_ledger_record WHERE key = 'held' FOR UPDATE");
    const held = [HELD, FREE].map((key) => ({ key, fence: FENCE }));
    const renewing = ledger.renew(SCOPE, held, LEASE.leaseMs);
    // The first try has failed once this claim, which started later, was refused.
    await ledger.claim(SCOPE, [{ key: HELD, input: ANY_INPUT, receivedAt: now }], LEASE);
    await holder.query("ROLLBACK");
    expect(await renewing).toMatchObject([{ kind: "renewed" }, { kind: "renewed" }]);
  });

  test.each([
    ["an addition to a note", () => ledger.addNotes(SCOPE, [NOTE])],
    ["the removal of a note", () => ledger.removeNotes(SCOPE, "tried", ["n"])],
  ])("%s is busy", async (_, call) => {
    await hold("SELECT 1 FROM tidegate_ledger_note FOR UPDATE");
    await expect(call()).rejects.toMatchObject(busy("TG_LEDGER_BUSY"));
    expect(await waiters()).toEqual([]);
    await holder.query("ROLLBACK");
    await call();
  });

  test("the outbox is busy", async () => {
    const outbox = await createPostgresOutbox({ clock }, { url, statementMsMax });
    const entry = { key: "e", groupId: null, dedupId: "d", payloadDigest: "p", body: "b" };
    const register = () => outbox.register("t", [{ ...entry, attributes: {} }], LEASE);
    await register();
    await hold("SELECT 1 FROM tidegate_outbox FOR UPDATE");
    await expect(register()).rejects.toMatchObject(busy("TG_OUTBOX_UNAVAILABLE"));
    expect(await waiters()).toEqual([]);
    await holder.query("ROLLBACK");
    expect(await register()).toMatchObject([{ kind: "taken" }]);
    await outbox.close();
  });

  test("a sink of its own and one within the commit are not refused, but retried later", async () => {
    await queryPostgres(url, "CREATE TABLE t (id integer); INSERT INTO t VALUES (1)");
    const write = { statement: "UPDATE t SET id = id + 1", params: [] };
    const database = openPostgresDatabase(url, statementMsMax);
    const { signal } = new AbortController();
    await hold("SELECT 1 FROM t FOR UPDATE");
    await expect(database.transact([write], signal)).rejects.toMatchObject({
      code: "TG_SINK_UNAVAILABLE",
      retry: "later",
    });
    const commits = [{ ...direct, key: NEW, writes: [write] }];
    expect(await ledger.commitDirect(SCOPE, commits)).toMatchObject([{ kind: "busy" }]);
    expect(await waiters()).toEqual([]);
    await holder.query("ROLLBACK");
    await database.transact([write], signal);
    expect(await ledger.commitDirect(SCOPE, commits)).toMatchObject([{ kind: "committed" }]);
    expect(await queryPostgres(url, "SELECT id FROM t")).toEqual([{ id: 3 }]);
    await database.close();
  });

  test("the limits end with their transaction, so a shared connection keeps none", async () => {
    const pool = new pg.Pool({ connectionString: url, max: 1, query_timeout: statementMsMax });
    const names = ["idle_in_transaction_session_timeout", "lock_timeout", "statement_timeout"];
    const limits = async (client: pg.Pool | pg.PoolClient) => {
      const select = "SELECT setting FROM pg_settings WHERE name = ANY ($1) ORDER BY name";
      return (await client.query(select, [names])).rows.map(({ setting }) => setting);
    };
    expect(await inPostgresTransaction(pool, "a test", limits)).toEqual(["5000", "500", "900"]);
    expect(await limits(pool)).toEqual(["0", "0", "0"]);
    const { rows } = await pool.query(`${ownLockLimit(pool).with}
      SELECT current_setting('lock_timeout') AS own FROM lock_limit`);
    expect(rows).toEqual([{ own: "500ms" }]);
    expect(await limits(pool)).toEqual(["0", "0", "0"]);
    await pool.end();
  });
});
