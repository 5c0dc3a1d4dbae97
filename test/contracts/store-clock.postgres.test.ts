import { describe, expect, test } from "vitest";
import { days, hours, seconds } from "../../src/core/units.ts";
import { asRecordKey } from "../../src/ledger/record-state.ts";
import { createPostgresLedger } from "../../src/stores/postgres/ledger.ts";
import { createPostgresOutbox } from "../../src/stores/postgres/outbox.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { ANY_INPUT } from "../support/stores/any-input.ts";
import { queryPostgres, usePostgres } from "../support/stores/database-servers.ts";

const { available, freshUrl } = await usePostgres();
const SCOPE = { pipeline: "orders", generation: 1 };
const LEASE = { owner: "w", leaseMs: seconds(30) };
const SERVER_NOW = "SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS at";

/** The clock of this computer, wrong by some time. */
const wrongBy = (ms: number) => new ManualClock(Date.now() + ms);
const serverNow = async (url: string) => Number((await queryPostgres(url, SERVER_NOW))[0]?.at);
const claim = { key: asRecordKey("a"), input: ANY_INPUT, receivedAt: 0 as never };

async function ledgerOn(url: string, ms: number, options: { readonly acceptClock?: boolean } = {}) {
  return await createPostgresLedger({ clock: wrongBy(ms) }, { url, ...options });
}

describe.skipIf(!available)("PostgreSQL, whose clock is the clock of all processes", () => {
  test.each([
    ["a day ahead", hours(24)],
    ["fifty days ahead", days(50)],
    ["fifty days behind", -days(50)],
  ])(
    "a process whose clock is %s writes stamps, leases and expiry of the server",
    async (_, ms) => {
      const url = await freshUrl();
      const ledger = await ledgerOn(url, ms);
      const before = await serverNow(url);
      await ledger.claim(SCOPE, [claim], LEASE);
      const after = await serverNow(url);
      const [row] = await queryPostgres(url, "SELECT * FROM tidegate_ledger_record");
      const claimedAt = Number(row?.changed_at);
      expect(claimedAt).toBeGreaterThanOrEqual(before - seconds(60));
      expect(claimedAt).toBeLessThanOrEqual(after);
      expect(Number(row?.lease_until)).toBe(claimedAt + seconds(30));
      expect(Number(row?.expires_at)).toBe(claimedAt + days(45));
      await ledger.close();
    },
  );

  test("a wrong clock neither expires nor purges what others committed", async () => {
    const url = await freshUrl();
    const right = await ledgerOn(url, 0);
    const times = { input: ANY_INPUT, receivedAt: 0 as never, startedAt: 0 as never };
    const commit = { key: asRecordKey("a"), owner: "w", digest: "d", ...times };
    expect(await right.commitDirect(SCOPE, [commit])).toMatchObject([{ kind: "committed" }]);
    const ahead = await ledgerOn(url, days(50));
    expect(await ahead.commitDirect(SCOPE, [commit])).toMatchObject([{ kind: "duplicate" }]);
    expect(await ahead.purge(100)).toBe(0);
    expect(ahead.leap()).toBeNull();
    await Promise.all([right.close(), ahead.close()]);
  });

  test("a busy claim is over by the caller's clock, however wrong that is", async () => {
    const url = await freshUrl();
    const right = await ledgerOn(url, 0);
    await right.claim(SCOPE, [claim], LEASE);
    const clock = wrongBy(-days(50));
    const behind = await createPostgresLedger({ clock }, { url });
    const [refusal] = await behind.claim(SCOPE, [claim], { ...LEASE, owner: "b" });
    if (refusal?.kind !== "busy") throw new Error("expected a busy record");
    expect(refusal.until - clock.now()).toBeGreaterThan(0);
    expect(refusal.until - clock.now()).toBeLessThanOrEqual(seconds(30));
    await Promise.all([right.close(), behind.close()]);
  });

  test("a leap of the server's own clock expires nothing either, until it is accepted", async () => {
    const url = await freshUrl();
    const ledger = await ledgerOn(url, 0);
    await ledger.claim(SCOPE, [claim], LEASE);
    await ledger.close();
    // As if the server had written all of it fifty days ago, by its clock.
    await queryPostgres(url, `UPDATE tidegate_clock SET at = at - ${days(50)}`);
    await queryPostgres(
      url,
      `UPDATE tidegate_ledger_record SET expires_at = expires_at - ${days(50)}`,
    );
    const later = await ledgerOn(url, 0);
    expect(await later.purge(100)).toBe(0);
    expect(later.leap()).not.toBeNull();
    expect((await later.check()).join(" ")).toContain("the newest instant in the store");
    await later.close();
    const accepting = await ledgerOn(url, 0, { acceptClock: true });
    expect(await accepting.purge(100)).toBe(1);
    await accepting.close();
  });

  test("rows of an outbox are leased by the server's clock", async () => {
    const url = await freshUrl();
    const entry = { key: "a", groupId: null, dedupId: "d", payloadDigest: "p", body: "{}" };
    const ahead = await createPostgresOutbox({ clock: wrongBy(days(2)) }, { url });
    await ahead.register("q", [{ ...entry, attributes: {} }], LEASE);
    const [row] = await queryPostgres(url, "SELECT lease_until FROM tidegate_outbox");
    expect(Number(row?.lease_until)).toBeLessThanOrEqual((await serverNow(url)) + seconds(30));
    // A row from before, leased by a client's clock.
    await queryPostgres(url, `UPDATE tidegate_outbox SET lease_until = lease_until + ${days(2)}`);
    const other = await createPostgresOutbox({ clock: wrongBy(0) }, { url });
    expect(await other.take("q", 10, { owner: "o", leaseMs: seconds(30) })).toHaveLength(1);
    await Promise.all([ahead.close(), other.close()]);
  });
});
