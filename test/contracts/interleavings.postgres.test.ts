// Interleavings on PostgreSQL: what a statement does after waiting for a row. It continues with the
// current version of that row, but with all other rows as of its start. Each test holds a row,
// waits until the store waits for it, changes it and releases it.

import pg from "pg";
import { describe, expect, test } from "vitest";
import { days, seconds } from "../../src/core/units.ts";
import { asRecordKey } from "../../src/ledger/record-state.ts";
import { createPostgresLedger } from "../../src/stores/postgres/ledger.ts";
import { createPostgresOutbox } from "../../src/stores/postgres/outbox.ts";
import { createManualClock, FAR_AHEAD } from "../support/manual-clock.ts";
import { ANY_INPUT } from "../support/stores/any-input.ts";
import { usePostgres } from "../support/stores/database-servers.ts";

const { available, freshUrl } = await usePostgres();
const LOOKS_MAX = 100_000;
const TARGET = "q";
const lease = (owner: string) => ({ owner, leaseMs: seconds(30) });
const entry = (key: string) => ({
  key,
  groupId: "g",
  dedupId: key,
  payloadDigest: "p",
  body: "b",
  attributes: {},
});

/**
 * Runs the work while the first statement's locks are held; then the second statement changes the
 * row.
 */
async function whileHeld<T>(
  url: string,
  [hold, change]: readonly [hold: string, change: string],
  work: () => Promise<T>,
): Promise<T> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    await client.query("BEGIN");
    await client.query(hold);
    const working = work();
    await untilBlocked(client);
    await client.query(change);
    await client.query("COMMIT");
    return await working;
  } finally {
    await client.end();
  }
}

/** Resolves once another connection waits for the locked row. */
async function untilBlocked(client: pg.Client): Promise<void> {
  const waiting = `SELECT 1 FROM pg_stat_activity
    WHERE pg_backend_pid() = ANY (pg_blocking_pids(pid))`;
  for (let looks = 0; looks < LOOKS_MAX; looks += 1) {
    if ((await client.query(waiting)).rows.length > 0) return;
  }
  throw new Error("no connection waits for the row");
}

describe.skipIf(!available)("PostgreSQL", () => {
  async function openOutbox() {
    const url = await freshUrl();
    const clock = createManualClock(FAR_AHEAD);
    return { url, clock, outbox: await createPostgresOutbox({ clock }, { url }) };
  }

  test("a row is not taken past an older one that was leased in the meantime", async () => {
    const { url, clock, outbox } = await openOutbox();
    await outbox.register(TARGET, [entry("a"), entry("b")], lease("gone"));
    clock.advance(seconds(60));
    const until = clock.now() + seconds(30);
    const hold = "SELECT 1 FROM tidegate_outbox WHERE key = 'a' FOR UPDATE";
    const change = `UPDATE tidegate_outbox SET owner = 'other', lease_until = ${until}
      WHERE key = 'a'`;
    const rows = await whileHeld(url, [hold, change], () =>
      outbox.take(TARGET, 10, lease("relay")),
    );
    expect(rows).toEqual([]);
    expect(await outbox.find(TARGET, "b")).toMatchObject({ owner: "gone" });
    clock.advance(seconds(60));
    expect((await outbox.take(TARGET, 10, lease("relay"))).map(({ key }) => key)).toEqual([
      ...["a", "b"],
    ]);
    await outbox.close();
  });

  test("a row that became pending again is not purged as expired", async () => {
    const { url, clock, outbox } = await openOutbox();
    await outbox.register(TARGET, [entry("a")], lease("w"));
    await outbox.markSent(TARGET, [{ key: "a", epoch: 0, messageId: "m" }]);
    clock.advance(days(46));
    const hold = "SELECT 1 FROM tidegate_outbox FOR UPDATE";
    const change = "UPDATE tidegate_outbox SET state = 'pending', epoch = 1, expires_at = NULL";
    expect(await whileHeld(url, [hold, change], () => outbox.purge(10))).toBe(0);
    expect(await outbox.find(TARGET, "a")).toMatchObject({ state: "pending", epoch: 1 });
    await outbox.close();
  });

  test("a record that waited for its own commit is a duplicate, and not stale", async () => {
    const url = await freshUrl();
    const clock = createManualClock(FAR_AHEAD);
    const ledger = await createPostgresLedger({ clock }, { url });
    const now = clock.now();
    const scope = { pipeline: "orders", generation: 1 };
    const object = (sequencer: string) => ({ bucket: "in", key: "o", sequencer });
    const direct = { owner: "w", input: ANY_INPUT, receivedAt: now, startedAt: now, digest: "d" };
    const key = asRecordKey("a");
    await ledger.commitDirect(scope, [{ ...direct, key: asRecordKey("z"), object: object("01") }]);
    await ledger.commitDirect({ ...scope, generation: 2 }, [{ ...direct, key }]);
    const columns = `key, state, fence, attempts, seen_at, changed_at, expires_at, lease_until,
      owner, digest, detail, log, event_time, bucket, object_key, input`;
    const hold = "SELECT 1 FROM tidegate_ledger_object FOR UPDATE";
    const change = `UPDATE tidegate_ledger_object SET sequencer = '03', applied_key = 'a';
      INSERT INTO tidegate_ledger_record (scope, ${columns})
      SELECT (SELECT scope FROM tidegate_ledger_object), ${columns}
      FROM tidegate_ledger_record WHERE key = 'a'`;
    const note = { kind: "tried", name: "a", at: now, count: 1, body: "" } as const;
    const copy = { key, input: ANY_INPUT, receivedAt: now, object: object("02"), note };
    const [claim] = await whileHeld(url, [hold, change], () =>
      ledger.claim(scope, [copy], lease("v")),
    );
    expect(claim).toMatchObject({ kind: "duplicate", digest: "d" });
    await ledger.close();
  });
});
