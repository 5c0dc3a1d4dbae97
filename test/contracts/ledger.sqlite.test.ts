import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { durationMs, epochMs, seconds } from "../../src/core/units.ts";
import { asRecordKey, fenceOf } from "../../src/ledger/record-state.ts";
import { createSqliteLedger } from "../../src/stores/sqlite/ledger/ledger.ts";
import {
  migrateSqlite,
  missingSqliteMigrations,
  SQLITE_LEDGER_MIGRATIONS,
} from "../../src/stores/sqlite/ledger/schema.ts";
import { createManualClock } from "../support/manual-clock.ts";
import { turn } from "../support/stores/real-ports.ts";
import { useTemporaryFolder } from "../support/temporary-folder.ts";
import { describeLedger } from "./ledger.ts";

const folder = useTemporaryFolder("ledger");

let files = 0;
const freshPath = () => {
  files += 1;
  return join(folder, `${files}.db`);
};
const clock = createManualClock(epochMs(1_700_000_000_000));
const open = (path: string, more: { readOnly?: boolean; busyMs?: number } = {}) => {
  const busyMs = durationMs(more.busyMs ?? 1_000);
  return createSqliteLedger({ clock, turn }, { path, readOnly: more.readOnly ?? false, busyMs });
};
const SCOPE = { pipeline: "orders", generation: 1 };
const LEASE = { owner: "w", leaseMs: seconds(30) };
const ask = (name: string) => ({ key: asRecordKey(name), receivedAt: clock.now() });

describeLedger({
  name: "SQLite",
  async open(on) {
    const path = freshPath();
    const again = async () => createSqliteLedger({ clock: on, turn }, { path });
    return { store: await again(), again };
  },
});

test("a file with a newer schema is rejected and left unchanged", () => {
  const path = freshPath();
  const db = new DatabaseSync(path);
  db.exec("CREATE TABLE tidegate_schema (part TEXT PRIMARY KEY, version INTEGER NOT NULL)");
  db.exec("INSERT INTO tidegate_schema VALUES ('ledger', 99)");
  expect(() => open(path)).toThrow(expect.objectContaining({ code: "TG_STORE_NEWER" }));
  expect(db.prepare("SELECT count(*) AS n FROM sqlite_schema").get()?.n).toBe(2);
  expect(db.prepare("PRAGMA journal_mode").get()?.journal_mode).toBe("delete");
  db.close();
});

test("a file of the first schema keeps its records, gets notes, and then is too new for it", async () => {
  const path = freshPath();
  const ledger = open(path);
  const [claim] = await ledger.claim(SCOPE, [ask("a")], LEASE);
  const before = await ledger.show(SCOPE, asRecordKey("a"));
  await ledger.close();
  const tables = (db: DatabaseSync) =>
    db.prepare("SELECT type, name, sql FROM sqlite_schema ORDER BY type, name").all();
  const db = new DatabaseSync(path);
  db.exec("DROP TABLE ledger_note; UPDATE tidegate_schema SET version = 1");
  const first = new DatabaseSync(":memory:");
  migrateSqlite(first, "ledger", SQLITE_LEDGER_MIGRATIONS.slice(0, 1));
  expect(tables(db)).toEqual(tables(first)); // So it is what the first version created.
  first.close();

  expect(() => open(path, { readOnly: true })).toThrow(
    expect.objectContaining({ code: "TG_CONFIG_INVALID" }),
  );
  const grown = open(path);
  expect(await grown.show(SCOPE, asRecordKey("a"))).toEqual(before);
  const note = { kind: "dossier", name: "a", at: clock.now(), count: 1, body: "why" } as const;
  await grown.addNotes(SCOPE, [note]);
  if (claim?.kind !== "claimed") throw new Error("not claimed");
  const commit = { key: asRecordKey("a"), fence: claim.fence, digest: "d" };
  expect(await grown.commit(SCOPE, [commit])).toEqual([{ kind: "committed" }]);
  await grown.close();
  const reader = open(path, { readOnly: true });
  expect(await reader.findNote(SCOPE, "dossier", "a")).toEqual(note);
  await reader.close();
  const asFirst = () => missingSqliteMigrations(db, "ledger", SQLITE_LEDGER_MIGRATIONS.slice(0, 1));
  expect(asFirst).toThrow(expect.objectContaining({ code: "TG_STORE_NEWER" }));
  db.close();
});

test("a note and its failure are undone together", async () => {
  const path = freshPath();
  const ledger = open(path);
  const [claim] = await ledger.claim(SCOPE, [ask("a")], LEASE);
  if (claim?.kind !== "claimed") throw new Error("not claimed");
  const db = new DatabaseSync(path);
  db.exec(`CREATE TRIGGER no_notes BEFORE INSERT ON ledger_note
    BEGIN SELECT RAISE(ABORT, 'notes are full'); END`);
  const { fence } = claim;
  const failure = { errorClass: "schema", fingerprint: "f", message: "m" };
  const note = { kind: "dossier", name: "a", at: clock.now(), count: 1, body: "why" } as const;
  const attempt = { ...ask("a"), fence, owner: "w", permanent: true, failure, note };
  await expect(ledger.fail(SCOPE, [attempt])).rejects.toThrow();
  expect((await ledger.show(SCOPE, asRecordKey("a")))?.record.kind).toBe("claimed");
  db.exec("DROP TRIGGER no_notes");
  db.close();
  expect(await ledger.fail(SCOPE, [attempt])).toMatchObject([{ kind: "parked" }]);
  expect(await ledger.findNote(SCOPE, "dossier", "a")).toEqual(note);
  await ledger.close();
});

test("a file that is not a database, and one that cannot be created, give one clear error each", () => {
  const path = freshPath();
  writeFileSync(path, "these are not the pages of a database, however long one looks at them");
  expect(() => open(path)).toThrow(expect.objectContaining({ code: "TG_STORE_CORRUPT" }));
  const nowhere = join(folder, "missing", "ledger.db");
  expect(() => open(nowhere)).toThrow(expect.objectContaining({ code: "TG_LEDGER_UNAVAILABLE" }));
});

test("a locked or read-only file fails the call, and nothing is written", async () => {
  const path = freshPath();
  const ledger = open(path, { busyMs: 1 });
  const other = new DatabaseSync(path);
  other.exec("BEGIN IMMEDIATE");
  const refused = { code: "TG_LEDGER_UNAVAILABLE" };
  await expect(ledger.claim(SCOPE, [ask("a")], LEASE)).rejects.toMatchObject(refused);
  other.exec("ROLLBACK");
  other.close();
  const reader = open(path, { readOnly: true });
  await expect(reader.claim(SCOPE, [ask("a")], LEASE)).rejects.toMatchObject(refused);
  expect(await reader.stats()).toEqual([]);
  expect(await ledger.claim(SCOPE, [ask("a")], LEASE)).toMatchObject([{ kind: "claimed" }]);
  expect(await reader.show(SCOPE, asRecordKey("a"))).toMatchObject({ record: { kind: "claimed" } });
  await reader.close();
  await ledger.close();
  await expect(ledger.claim(SCOPE, [ask("a")], LEASE)).rejects.toMatchObject({ code: "TG_CLOSED" });
});

test("sink writes are applied with their commit, once, and never without it", async () => {
  const path = freshPath();
  const ledger = open(path);
  const sink = new DatabaseSync(path);
  sink.exec("CREATE TABLE orders (id TEXT PRIMARY KEY, total INTEGER)");
  const rows = () => sink.prepare("SELECT id, total FROM orders ORDER BY id").all();
  const write = (id: string, total: number) => ({
    statement: "INSERT INTO orders VALUES (?, ?)",
    params: [id, total],
  });
  const claims = await ledger.claim(SCOPE, [ask("a"), ask("b")], LEASE);
  const [a, b] = claims.map((result) => (result.kind === "claimed" ? result.fence : fenceOf(0)));
  const commit = (key: string, fence: typeof a, id: string) => ({
    key: asRecordKey(key),
    fence: fence ?? fenceOf(0),
    digest: "d",
    writes: [write(id, 1)],
  });
  expect(await ledger.commit(SCOPE, [commit("a", a, "1")])).toEqual([{ kind: "committed" }]);
  expect(await ledger.commit(SCOPE, [commit("a", a, "1")])).toEqual([{ kind: "committed" }]);
  const fenced = await ledger.commit(SCOPE, [commit("b", fenceOf(1), "2")]);
  expect(fenced).toEqual([{ kind: "fenced" }]);
  expect(rows()).toMatchObject([{ id: "1", total: 1 }]);
  // The second fails on the sink's primary key; the third shares its transaction and must not.
  const [broken, fine] = await Promise.allSettled([
    ledger.commit(SCOPE, [commit("b", b, "1")]),
    ledger.claim(SCOPE, [ask("c")], LEASE),
  ]);
  expect(broken).toMatchObject({ status: "rejected", reason: { code: "TG_SINK_REFUSED" } });
  expect(fine).toMatchObject({ status: "fulfilled", value: [{ kind: "claimed" }] });
  expect(await ledger.show(SCOPE, asRecordKey("b"))).toMatchObject({ record: { kind: "claimed" } });
  sink.close();
  await ledger.close();
});

test("a record rejected by its sink does not hide another process's record", async () => {
  const path = freshPath();
  const ledger = open(path);
  const other = open(path);
  const times = { receivedAt: clock.now(), startedAt: clock.now() };
  const writes = [{ statement: "INSERT INTO missing VALUES (1)", params: [] }];
  const broken = { key: asRecordKey("a"), owner: "w", ...times, digest: "d", writes };
  const refused = { code: "TG_SINK_REFUSED" };
  await expect(ledger.commitDirect(SCOPE, [broken])).rejects.toMatchObject(refused);
  expect(await ledger.show(SCOPE, asRecordKey("a"))).toBeUndefined();
  expect(await other.claim(SCOPE, [ask("b")], LEASE)).toMatchObject([{ kind: "claimed" }]);
  expect(await ledger.claim(SCOPE, [ask("b")], LEASE)).toMatchObject([{ kind: "busy" }]);
  await other.close();
  await ledger.close();
});
