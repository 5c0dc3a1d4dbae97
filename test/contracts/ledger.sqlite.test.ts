import { execFile } from "node:child_process";
import { chmodSync, copyFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { durationMs, epochMs, seconds } from "../../src/core/units.ts";
import { asRecordKey, fenceOf } from "../../src/ledger/record-state.ts";
import type { Ledger } from "../../src/ports/ledger.ts";
import { createSqliteLedger } from "../../src/stores/sqlite/ledger/ledger.ts";
import { SQLITE_LEDGER } from "../../src/stores/sqlite/ledger/schema.ts";
import { createManualClock, FAR_AHEAD } from "../support/manual-clock.ts";
import { ANY_INPUT } from "../support/stores/any-input.ts";
import type { StoreBinding } from "../support/stores/opened-store.ts";
import { turn } from "../support/stores/real-ports.ts";
import { useTemporaryFolder } from "../support/temporary-folder.ts";
import { describeLedger } from "./ledger.ts";
import { describeLedgerLists } from "./ledger-lists.ts";
import { describeRetention } from "./ledger-retention.ts";

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
const ask = (name: string) => ({
  key: asRecordKey(name),
  input: ANY_INPUT,
  receivedAt: clock.now(),
});

const SQLITE: StoreBinding<Ledger> = {
  name: "SQLite",
  async open(on) {
    const path = freshPath();
    const again = async () => createSqliteLedger({ clock: on, turn }, { path });
    return { store: await again(), again };
  },
};

describeLedger(SQLITE);
describeLedgerLists(SQLITE);
describeRetention(SQLITE);

const OTHER_VERSIONS = [
  { version: 1, code: "TG_STORE_OLDER" },
  { version: SQLITE_LEDGER.oldest - 1, code: "TG_STORE_OLDER" },
  { version: SQLITE_LEDGER.version + 1, code: "TG_STORE_NEWER" },
];

test.each(OTHER_VERSIONS)("a file of schema $version is refused and unchanged (M2)", (other) => {
  const { version, code } = other;
  const path = freshPath();
  const db = new DatabaseSync(path);
  db.exec("CREATE TABLE tidegate_schema (part TEXT PRIMARY KEY, version INTEGER NOT NULL)");
  db.exec(`INSERT INTO tidegate_schema VALUES ('ledger', ${version})`);
  db.close();
  const before = readFileSync(path);
  expect(() => open(path)).toThrow(expect.objectContaining({ code }));
  expect(() => open(path, { readOnly: true })).toThrow(expect.objectContaining({ code }));
  expect(readFileSync(path)).toEqual(before);
  expect(existsSync(`${path}-wal`)).toBe(false);
});

test("the log that an older release left behind is not even folded (M2)", () => {
  const path = freshPath();
  const abandoned = join(folder, "abandoned-behind.db");
  const db = new DatabaseSync(path);
  db.exec("PRAGMA journal_mode = WAL");
  db.exec("CREATE TABLE tidegate_schema (part TEXT PRIMARY KEY, version INTEGER NOT NULL)");
  db.exec("INSERT INTO tidegate_schema VALUES ('ledger', 3)");
  copyFileSync(path, abandoned);
  copyFileSync(`${path}-wal`, `${abandoned}-wal`);
  db.close();
  const before = [readFileSync(abandoned), readFileSync(`${abandoned}-wal`)];
  expect(() => open(abandoned)).toThrow(expect.objectContaining({ code: "TG_STORE_OLDER" }));
  expect([readFileSync(abandoned), readFileSync(`${abandoned}-wal`)]).toEqual(before);
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
  const times = { input: ANY_INPUT, receivedAt: clock.now(), startedAt: clock.now() };
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

/** Opens the ledger as a user who may read the folder and not write to it. */
async function readFrom(path: string): Promise<string> {
  const worker = join(import.meta.dirname, "read-only-worker.ts");
  chmodSync(folder, 0o555);
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [worker, path, "p", "a"]);
    return stdout.trim();
  } finally {
    chmodSync(folder, 0o755);
  }
}

test("a reader changes nothing, beside a writer and in a folder that is read-only (O1, O2)", async () => {
  const path = freshPath();
  const options = { path, busyMs: durationMs(1_000) };
  const writer = createSqliteLedger({ clock: createManualClock(FAR_AHEAD), turn }, options);
  const scope = { pipeline: "p", generation: 0 };
  await writer.claim(scope, [ask("a")], LEASE);
  expect(await readFrom(path)).toBe("claimed");
  await writer.close();
  const before = readFileSync(path);
  expect(await readFrom(path)).toBe("claimed");
  expect(readFileSync(path)).toEqual(before);
  expect(existsSync(`${path}-shm`)).toBe(false);
  writeFileSync(`${path}-wal`, "a log that may contain commits");
  expect(await readFrom(path)).toBe("TG_LEDGER_UNAVAILABLE");
});
