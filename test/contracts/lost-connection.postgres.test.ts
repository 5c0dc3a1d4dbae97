import type { Socket } from "node:net";
import pg from "pg";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { epochMs, seconds } from "../../src/core/units.ts";
import { asRecordKey, fenceOf } from "../../src/ledger/record-state.ts";
import { openPostgresDatabase } from "../../src/sinks/table/databases/postgres-database.ts";
import { inSinkTransaction } from "../../src/sinks/table/databases/postgres-transaction.ts";
import { createPostgresLedger } from "../../src/stores/postgres/ledger.ts";
import { createPostgresOutbox } from "../../src/stores/postgres/outbox.ts";
import { sqlLimits } from "../../src/stores/postgres/sql/sql-limits.ts";
import { CONFLICT, inPostgresTransaction } from "../../src/stores/postgres/transaction.ts";
import { createManualClock } from "../support/manual-clock.ts";
import { ANY_INPUT } from "../support/stores/any-input.ts";
import { queryPostgres, usePostgres } from "../support/stores/database-servers.ts";
import { createPostgresProxy } from "../support/stores/postgres-proxy.ts";

const { available, freshUrl } = await usePostgres();
const clock = createManualClock(epochMs(1_700_000_000_000));
const SCOPE = { pipeline: "orders", generation: 1 };
const LEASE = { owner: "w", leaseMs: seconds(30) };
const KEY = asRecordKey("a");
/** Long enough for any statement that is answered at all. */
const statementMsMax = seconds(1);
const LIMITS = sqlLimits(seconds(15));
const UNAVAILABLE = { code: "TG_LEDGER_UNAVAILABLE", retry: "later" };
const SINK_UNAVAILABLE = { code: "TG_SINK_UNAVAILABLE", retry: "later" };
const ADD = { statement: "INSERT INTO added VALUES ($1)", params: ["1"] };

let url = "";
const added = () => queryPostgres(url, "SELECT id FROM added ORDER BY id");

beforeEach(async () => {
  if (!available) return;
  url = await freshUrl();
  await queryPostgres(url, "CREATE TABLE added (id text)");
});

type Work = (client: pg.PoolClient) => Promise<void>;

describe.skipIf(!available).each([
  ["a store", (pool: pg.Pool, work: Work) => inPostgresTransaction(pool, "a test", work)],
  [
    "a sink",
    (pool: pg.Pool, work: Work) =>
      inSinkTransaction(pool, LIMITS, async (client) => {
        await work(client);
        return "commit";
      }),
  ],
])("a transaction of %s", (_, run) => {
  let pool: pg.Pool;
  beforeEach(() => {
    pool = new pg.Pool({ connectionString: url, max: 1 });
    pool.on("error", () => {});
  });
  afterEach(() => pool.end());

  /** Registered before the driver's listener, to observe errors that no one handles. */
  const closedSocket = (client: pg.PoolClient) => {
    const { connection } = client as unknown as { connection: { stream: Socket } };
    return new Promise((resolve) => connection.stream.prependOnceListener("close", resolve));
  };
  const pidOf = async (client: pg.PoolClient) =>
    Number((await client.query("SELECT pg_backend_pid() AS pid")).rows[0].pid);

  test("whose connection dies between two statements fails, and the process survives", async () => {
    const failing = run(pool, async (client) => {
      await client.query("INSERT INTO added VALUES ('lost')");
      const pid = await pidOf(client);
      const ended = closedSocket(client);
      await queryPostgres(url, `SELECT pg_terminate_backend(${pid})`);
      await ended;
      await client.query("SELECT 1");
    });
    await expect(failing).rejects.toThrow("not queryable");
    await run(pool, async (client) => {
      await client.query("INSERT INTO added VALUES ('next')");
    });
    expect(await added()).toEqual([{ id: "next" }]);
  });

  test("whose connection was ended under a statement fails, and the next works", async () => {
    const failing = run(pool, async (client) => {
      await client.query("SELECT pg_terminate_backend(pg_backend_pid())");
    });
    await expect(failing).rejects.toMatchObject({ code: "57P01" });
    await run(pool, async (client) => {
      await client.query("INSERT INTO added VALUES ('next')");
    });
    expect(await added()).toEqual([{ id: "next" }]);
  });

  test("that failed leaks no connection and leaves no row", async () => {
    let pid = 0;
    const failing = run(pool, async (client) => {
      pid = await pidOf(client);
      await client.query("INSERT INTO added VALUES ('lost')");
      throw new Error("of the work's own");
    });
    await expect(failing).rejects.toThrow("of the work's own");
    expect(pool.totalCount).toBe(0);
    await run(pool, async (client) => {
      expect(await pidOf(client)).not.toBe(pid);
    });
    expect(await added()).toEqual([]);
  });

  test("leaves no listener on a connection that returns to the pool", async () => {
    const listeners: number[] = [];
    const pids: number[] = [];
    for (let times = 0; times < 3; times += 1) {
      await run(pool, async (client) => {
        listeners.push(client.listenerCount("error"));
        pids.push(await pidOf(client));
      });
    }
    expect(listeners).toEqual([1, 1, 1]);
    expect(new Set(pids).size).toBe(1);
  });
});

describe.skipIf(!available)("a lost race", () => {
  const deadlock = Object.assign(new Error("deadlock detected"), { code: "40P01" });

  test("is rolled back on its connection, and run again", async () => {
    const pool = new pg.Pool({ connectionString: url, max: 1 });
    const pids: unknown[] = [];
    const won = await inPostgresTransaction(pool, "a test", async (client) => {
      pids.push((await client.query("SELECT pg_backend_pid() AS pid")).rows[0].pid);
      await client.query(`INSERT INTO added VALUES ('${pids.length}')`);
      return pids.length < 3 ? CONFLICT : "won";
    });
    expect(won).toBe("won");
    expect(await added()).toEqual([{ id: "3" }]);
    expect(new Set(pids).size).toBe(1); // ROLLBACK was answered, so its state is known.
    await pool.end();
  });

  test("of a sink that the server reports as lost is rolled back and run again", async () => {
    const pool = new pg.Pool({ connectionString: url, max: 1 });
    let tries = 0;
    await inSinkTransaction(pool, LIMITS, async (client) => {
      tries += 1;
      await client.query(`INSERT INTO added VALUES ('${tries}')`);
      if (tries < 3) throw deadlock;
      return "commit";
    });
    expect(await added()).toEqual([{ id: "3" }]);
    await inSinkTransaction(pool, LIMITS, async (client) => {
      await client.query("INSERT INTO added VALUES ('undone')");
      return "roll-back";
    });
    expect(await added()).toEqual([{ id: "3" }]);
    expect(pool.idleCount).toBe(1);
    await pool.end();
  });
});

describe.skipIf(!available).each(["cut", "silence"] as const)("a reply lost by %s", (how) => {
  test("leaves a commit with an unknown outcome, which a retry finds done", async () => {
    await using proxy = await createPostgresProxy(url);
    const ledger = await createPostgresLedger({ clock }, { url: proxy.url, statementMsMax });
    const [claim] = await ledger.claim(
      SCOPE,
      [{ key: KEY, input: ANY_INPUT, receivedAt: clock.now() }],
      LEASE,
    );
    const fence = claim?.kind === "claimed" ? claim.fence : fenceOf(0);
    proxy.loseAfter("tidegate-commit", how);
    const plain = { key: KEY, fence, digest: "d" };
    await expect(ledger.commit(SCOPE, [plain])).rejects.toMatchObject(UNAVAILABLE);
    expect((await ledger.show(SCOPE, KEY))?.record.kind).toBe("committed");
    expect(await ledger.commit(SCOPE, [plain])).toEqual([{ kind: "committed" }]);
    expect(proxy.lost()).toBe(1);
    await ledger.close();
  });

  test("leaves the rows of a commit exactly once", async () => {
    await using proxy = await createPostgresProxy(url);
    const ledger = await createPostgresLedger({ clock }, { url: proxy.url, statementMsMax });
    const times = { input: ANY_INPUT, receivedAt: clock.now(), startedAt: clock.now() };
    const commit = { key: KEY, digest: "d", owner: "w", ...times, writes: [ADD] };
    proxy.loseAfter("COMMIT", how);
    await expect(ledger.commitDirect(SCOPE, [commit])).rejects.toMatchObject(UNAVAILABLE);
    expect(await ledger.commitDirect(SCOPE, [commit])).toMatchObject([{ kind: "duplicate" }]);
    expect(await added()).toEqual([{ id: "1" }]);
    expect(proxy.lost()).toBe(1);
    await ledger.close();
  });

  test("leaves a row that is registered once, leased to its owner", async () => {
    await using proxy = await createPostgresProxy(url);
    const outbox = await createPostgresOutbox({ clock }, { url: proxy.url, statementMsMax });
    const entry = { key: "e", groupId: null, dedupId: "d", payloadDigest: "p" };
    const entries = [{ ...entry, body: "b", attributes: {} }];
    proxy.loseAfter("COMMIT", how);
    const first = outbox.register("t", entries, LEASE);
    await expect(first).rejects.toMatchObject({ code: "TG_OUTBOX_UNAVAILABLE", retry: "later" });
    expect(await outbox.register("t", entries, LEASE)).toMatchObject([{ kind: "taken" }]);
    expect(await outbox.stats("t")).toMatchObject({ pending: 1 });
    await outbox.close();
  });

  test("leaves a usable sink, and a transaction that happened completely or not at all", async () => {
    await using proxy = await createPostgresProxy(url);
    const database = openPostgresDatabase(proxy.url, statementMsMax);
    const { signal } = new AbortController();
    proxy.loseAfter("INSERT", how);
    await expect(database.transact([ADD], signal)).rejects.toMatchObject(SINK_UNAVAILABLE);
    expect(await added()).toEqual([]); // It was never committed.
    proxy.loseAfter("COMMIT", how);
    await expect(database.transact([ADD], signal)).rejects.toMatchObject(SINK_UNAVAILABLE);
    expect(await added()).toEqual([{ id: "1" }]);
    await database.transact([{ ...ADD, params: ["2"] }], signal);
    expect(await added()).toEqual([{ id: "1" }, { id: "2" }]);
    await database.close();
  });
});

test.skipIf(!available)("upkeep may take longer than what deliveries wait for", async () => {
  const ledger = await createPostgresLedger({ clock }, { url, statementMsMax });
  const holder = new pg.Client(url);
  await holder.connect();
  await holder.query("BEGIN; LOCK TABLE tidegate_ledger_record IN ACCESS EXCLUSIVE MODE");
  const purging = ledger.purge(10);
  // A normal statement has reached its timeout; the purge started before it.
  await expect(ledger.show(SCOPE, KEY)).rejects.toMatchObject(UNAVAILABLE);
  await holder.query("COMMIT");
  expect(await purging).toBe(0);
  await holder.end();
  await ledger.close();
});
