import { describe, expect, test } from "vitest";
import { epochMs, seconds } from "../../src/core/units.ts";
import { asRecordKey, fenceOf } from "../../src/ledger/record-state.ts";
import type { Ledger } from "../../src/ports/ledger.ts";
import { createPostgresLedger } from "../../src/stores/postgres/ledger.ts";
import { POSTGRES_LEDGER } from "../../src/stores/postgres/schema.ts";
import { createManualClock } from "../support/manual-clock.ts";
import { ANY_INPUT } from "../support/stores/any-input.ts";
import { queryPostgres, usePostgres } from "../support/stores/database-servers.ts";
import type { StoreBinding } from "../support/stores/opened-store.ts";
import { describeLedger } from "./ledger.ts";
import { describeLedgerLists } from "./ledger-lists.ts";
import { describeRetention } from "./ledger-retention.ts";

const { available, url, freshUrl } = await usePostgres();
const clock = createManualClock(epochMs(1_700_000_000_000));
const SCOPE = { pipeline: "orders", generation: 1 };
const LEASE = { owner: "w", leaseMs: seconds(30) };
const ask = (name: string) => ({
  key: asRecordKey(name),
  input: ANY_INPUT,
  receivedAt: clock.now(),
});

describe.skipIf(!available)("PostgreSQL", () => {
  const POSTGRES: StoreBinding<Ledger> = {
    name: "PostgreSQL",
    async open(on) {
      const own = await freshUrl();
      const again = () => createPostgresLedger({ clock: on }, { url: own });
      return { store: await again(), again };
    },
  };
  describeLedger(POSTGRES);
  describeLedgerLists(POSTGRES);
  describeRetention(POSTGRES);

  const { version } = POSTGRES_LEDGER;
  const others = [
    { other: 1, code: "TG_STORE_OLDER" },
    { other: version - 1, code: "TG_STORE_OLDER" },
    { other: version + 1, code: "TG_STORE_NEWER" },
  ];
  test.each(others)("a database of schema $other is refused and unchanged (M2)", async (each) => {
    const own = await freshUrl();
    await queryPostgres(
      own,
      "CREATE TABLE tidegate_schema (part text PRIMARY KEY, version integer)",
    );
    await queryPostgres(own, `INSERT INTO tidegate_schema VALUES ('ledger', ${each.other})`);
    for (const create of [true, false]) {
      const opening = createPostgresLedger({ clock }, { url: own, create });
      await expect(opening).rejects.toMatchObject({ code: each.code });
    }
    const tables = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()";
    expect(await queryPostgres(own, tables)).toEqual([{ tablename: "tidegate_schema" }]);
    const stored = await queryPostgres(own, "SELECT version FROM tidegate_schema");
    expect(stored).toEqual([{ version: each.other }]);
  });

  test("several processes that start at once create the tables once", async () => {
    const own = await freshUrl();
    const opening = Array.from({ length: 4 }, () => createPostgresLedger({ clock }, { url: own }));
    for (const ledger of await Promise.all(opening)) await ledger.close();
    const stored = await queryPostgres(own, "SELECT version FROM tidegate_schema");
    expect(stored).toEqual([{ version }]);
  });

  test("a note and its failure are undone together", async () => {
    const own = await freshUrl();
    const ledger = await createPostgresLedger({ clock }, { url: own });
    const [claim] = await ledger.claim(SCOPE, [ask("a")], LEASE);
    await queryPostgres(
      own,
      "ALTER TABLE tidegate_ledger_note ADD CONSTRAINT none CHECK (count = 0)",
    );
    const fence = claim?.kind === "claimed" ? claim.fence : fenceOf(0);
    const failure = { errorClass: "schema", fingerprint: "f", message: "m" };
    const note = { kind: "dossier", name: "a", at: clock.now(), count: 1, body: "why" } as const;
    const attempt = { ...ask("a"), fence, owner: "w", permanent: true, failure, note };
    await expect(ledger.fail(SCOPE, [attempt])).rejects.toThrow("none");
    expect((await ledger.show(SCOPE, asRecordKey("a")))?.record.kind).toBe("claimed");
    await queryPostgres(own, "ALTER TABLE tidegate_ledger_note DROP CONSTRAINT none");
    expect(await ledger.fail(SCOPE, [attempt])).toMatchObject([{ kind: "parked" }]);
    expect(await ledger.findNote(SCOPE, "dossier", "a")).toEqual(note);
    await ledger.close();
  });

  test("several processes may open an empty database at once", async () => {
    const own = await freshUrl();
    const opening = Array.from({ length: 4 }, () => createPostgresLedger({ clock }, { url: own }));
    for (const ledger of await Promise.all(opening)) await ledger.close();
  });

  test("a database that is down, absent or read-only gives one clear error", async () => {
    const refused = { code: "TG_LEDGER_UNAVAILABLE" };
    const down = createPostgresLedger({ clock }, { url: "postgres://127.0.0.1:1/none" });
    await expect(down).rejects.toMatchObject(refused);
    const absent = createPostgresLedger({ clock }, { url: url.replace("/ledger", "/absent") });
    await expect(absent).rejects.toMatchObject(refused);
    const own = await freshUrl();
    await (await createPostgresLedger({ clock }, { url: own })).close();
    const readOnly = own.replace("options=", "options=-cdefault_transaction_read_only%3Don%20");
    const ledger = await createPostgresLedger({ clock }, { url: readOnly });
    await expect(ledger.claim(SCOPE, [ask("a")], LEASE)).rejects.toMatchObject(refused);
    expect(await ledger.stats()).toEqual([]);
    await ledger.close();
    await expect(ledger.stats()).rejects.toMatchObject({ code: "TG_CLOSED" });
  });

  test("a ledger that is opened for reading writes nothing, not even a scope", async () => {
    const own = await freshUrl();
    const writer = await createPostgresLedger({ clock }, { url: own });
    await writer.claim(SCOPE, [ask("a")], LEASE);
    const reader = await createPostgresLedger({ clock }, { url: own, readOnly: true });
    const refused = { code: "TG_LEDGER_UNAVAILABLE" };
    expect(await reader.show(SCOPE, asRecordKey("a"))).toMatchObject({ record: { attempts: 1 } });
    expect(await reader.hasRecords(SCOPE, [asRecordKey("a")])).toEqual([true]);
    const other = { pipeline: "other", generation: 3 };
    expect(await reader.show(other, asRecordKey("a"))).toBeUndefined();
    await expect(reader.claim(SCOPE, [ask("b")], LEASE)).rejects.toMatchObject(refused);
    await expect(reader.removeNotes(SCOPE, "dossier", ["a"])).rejects.toMatchObject(refused);
    const missing = createPostgresLedger({ clock }, { url: await freshUrl(), readOnly: true });
    await expect(missing).rejects.toMatchObject({ code: "TG_CONFIG_INVALID" });
    await reader.close();
    await writer.close();
  });

  test("a server that does not sync to disk is reported", async () => {
    const ledger = await createPostgresLedger({ clock }, { url: await freshUrl() });
    expect(await ledger.check()).toEqual(["fsync is off; a crash may lose acknowledged writes."]);
    await ledger.close();
  });

  test("a missing ledger is distinguished from an unavailable one", async () => {
    const opening = createPostgresLedger({ clock }, { url: await freshUrl(), create: false });
    await expect(opening).rejects.toMatchObject({ code: "TG_CONFIG_INVALID" });
  });

  test("sink writes are applied with their commit, once, and never without it", async () => {
    const own = await freshUrl();
    const ledger = await createPostgresLedger({ clock }, { url: own });
    await queryPostgres(own, "CREATE TABLE orders (id text PRIMARY KEY)");
    const claims = await ledger.claim(SCOPE, [ask("a"), ask("b")], LEASE);
    const [a, b] = claims.map((result) => (result.kind === "claimed" ? result.fence : fenceOf(0)));
    const commit = (key: string, fence = fenceOf(0), id = "1") => ({
      key: asRecordKey(key),
      fence,
      digest: "d",
      writes: [{ statement: "INSERT INTO orders VALUES ($1)", params: [id] }],
    });
    expect(await ledger.commit(SCOPE, [commit("a", a)])).toEqual([{ kind: "committed" }]);
    expect(await ledger.commit(SCOPE, [commit("a", a)])).toEqual([{ kind: "committed" }]);
    expect(await ledger.commit(SCOPE, [commit("b")])).toEqual([{ kind: "fenced" }]);
    const broken = ledger.commit(SCOPE, [commit("b", b, "1")]);
    await expect(broken).rejects.toMatchObject({ code: "TG_SINK_REFUSED" });
    expect(await queryPostgres(own, "SELECT id FROM orders")).toEqual([{ id: "1" }]);
    expect(await ledger.show(SCOPE, asRecordKey("b"))).toMatchObject({
      record: { kind: "claimed" },
    });
    await ledger.close();
  });
});
