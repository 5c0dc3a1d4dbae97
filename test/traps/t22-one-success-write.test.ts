import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { durationMs } from "../../src/core/units.ts";
import { asRecordKey } from "../../src/ledger/record-state.ts";
import { createSqliteLedger } from "../../src/stores/sqlite/ledger/ledger.ts";
import { createManualClock } from "../support/manual-clock.ts";
import { turn } from "../support/stores/real-ports.ts";
import {
  claimOne,
  commitOne,
  fenceIn,
  onEveryLedger,
  SCOPE,
  T0,
} from "../support/traps/ledgers.ts";

onEveryLedger("T22: log and record succeed together", (fresh) => {
  test("a record is committed if and only if its log says succeeded", async () => {
    const world = fresh();
    const succeeded = async () => {
      const view = await world.ledger.show(SCOPE, asRecordKey("a"));
      const inLog = view?.entries.some(({ status }) => status === "succeeded");
      expect(view?.record.kind === "committed").toBe(inLog);
      return inLog;
    };
    const fence = fenceIn(await claimOne(world, "a"));
    expect(await succeeded()).toBe(false);
    expect(await commitOne(world, "a", fence)).toBe("committed");
    expect(await succeeded()).toBe(true);
  });
});

test("T22: a commit that cannot be written changes neither log nor record nor sink", async () => {
  const folder = mkdtempSync(join(tmpdir(), "tidegate-trap-"));
  const path = join(folder, "ledger.db");
  const clock = createManualClock(T0);
  const ledger = createSqliteLedger({ clock, turn }, { path, busyMs: durationMs(1) });
  const other = new DatabaseSync(path);
  other.exec("CREATE TABLE sink (id TEXT)");
  const world = { ledger, clock };
  const fence = fenceIn(await claimOne(world, "a"));
  const before = await ledger.show(SCOPE, asRecordKey("a"));
  other.exec("BEGIN IMMEDIATE");
  const writes = [{ statement: "INSERT INTO sink VALUES (?)", params: ["1"] }];
  const commit = { key: asRecordKey("a"), fence, digest: "d", writes };
  const refused = { code: "TG_LEDGER_UNAVAILABLE" };
  await expect(ledger.commit(SCOPE, [commit])).rejects.toMatchObject(refused);
  other.exec("ROLLBACK");
  expect(await ledger.show(SCOPE, asRecordKey("a"))).toEqual(before);
  expect(other.prepare("SELECT count(*) AS n FROM sink").get()?.n).toBe(0);
  expect(await ledger.commit(SCOPE, [commit])).toEqual([{ kind: "committed" }]);
  expect(other.prepare("SELECT count(*) AS n FROM sink").get()?.n).toBe(1);
  other.close();
  await ledger.close();
  rmSync(folder, { recursive: true, force: true });
});
