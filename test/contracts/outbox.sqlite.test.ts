import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { durationMs, epochMs } from "../../src/core/units.ts";
import { createSqliteLedger } from "../../src/stores/sqlite/ledger/ledger.ts";
import { createSqliteOutbox } from "../../src/stores/sqlite/ledger/outbox.ts";
import { createManualClock } from "../support/manual-clock.ts";
import { turn } from "../support/stores/real-ports.ts";
import { useTemporaryFolder } from "../support/temporary-folder.ts";
import { describeOutbox } from "./outbox.ts";

const folder = useTemporaryFolder("outbox");
let files = 0;
const freshPath = () => {
  files += 1;
  return join(folder, `${files}.db`);
};
const clock = createManualClock(epochMs(1_700_000_000_000));

describeOutbox({
  name: "SQLite",
  async open(on) {
    const path = freshPath();
    const again = async () => createSqliteOutbox({ clock: on }, { path });
    return { store: await again(), again };
  },
});

test("ledger and outbox may share a file", async () => {
  const path = freshPath();
  const outbox = createSqliteOutbox({ clock }, { path });
  const ledger = createSqliteLedger({ clock, turn }, { path });
  expect(await outbox.stats("q")).toMatchObject({ pending: 0 });
  expect(await ledger.check()).toEqual([]);
  await ledger.close();
  await outbox.close();
});

test("a file with a newer schema is rejected and left unchanged", () => {
  const path = freshPath();
  const db = new DatabaseSync(path);
  db.exec("CREATE TABLE tidegate_schema (part TEXT PRIMARY KEY, version INTEGER NOT NULL)");
  db.exec("INSERT INTO tidegate_schema VALUES ('outbox', 99)");
  const opening = () => createSqliteOutbox({ clock }, { path });
  expect(opening).toThrow(expect.objectContaining({ code: "TG_STORE_NEWER" }));
  expect(db.prepare("SELECT count(*) AS n FROM sqlite_schema").get()?.n).toBe(2);
  db.close();
});

test("a store that is missing, damaged or locked gives one clear error", async () => {
  const absent = () => createSqliteOutbox({ clock }, { path: join(folder, "none", "x.db") });
  expect(absent).toThrow(expect.objectContaining({ code: "TG_OUTBOX_UNAVAILABLE" }));
  const text = freshPath();
  writeFileSync(text, "this is not a database, but long enough to be looked at as one");
  const damaged = () => createSqliteOutbox({ clock }, { path: text });
  expect(damaged).toThrow(expect.objectContaining({ code: "TG_STORE_CORRUPT" }));
  const path = freshPath();
  const outbox = createSqliteOutbox({ clock }, { path, busyMs: durationMs(1) });
  const other = new DatabaseSync(path);
  other.exec("BEGIN IMMEDIATE");
  await expect(outbox.take("q", 1, { owner: "o", leaseMs: durationMs(1) })).rejects.toMatchObject({
    code: "TG_OUTBOX_UNAVAILABLE",
  });
  other.exec("ROLLBACK");
  expect(await outbox.take("q", 1, { owner: "o", leaseMs: durationMs(1) })).toEqual([]);
  other.close();
  await outbox.close();
});
