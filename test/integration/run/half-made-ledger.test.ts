// A ledger file that the first start did not finish must not stop or stall the next one.

import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { systemPorts } from "../../../src/platform/index.ts";
import { openLedger } from "../../../src/run/open/open-ledger.ts";
import { listSqliteScopes } from "../../../src/stores/sqlite/ledger/list-scopes.ts";
import { untilHolds, useCommands } from "../../support/command-process.ts";
import { useTemporaryFolder } from "../../support/temporary-folder.ts";

const folder = useTemporaryFolder("half-made-ledger");
const WORKER = join(import.meta.dirname, "half-made-ledger-worker.ts");
const STEPS_MAX = 200;
const commands = useCommands("half-made-ledger");

const HALF_MADE: Readonly<Record<string, (path: string) => void>> = {
  "an empty file": (path) => writeFileSync(path, ""),
  "a header without tables": (path) => {
    const db = new DatabaseSync(path);
    db.exec("PRAGMA journal_mode = WAL; CREATE TABLE t (a); DROP TABLE t");
    db.close();
  },
};

test.each(Object.keys(HALF_MADE))(
  "tidegate up starts on a folder whose ledger is %s",
  async (kind) => {
    const data = join(folder, kind);
    mkdirSync(data);
    HALF_MADE[kind]?.(join(data, "ledger.db"));
    const run = commands.start(["up", "--data", data, "--port", "0"]);
    await untilHolds(run, () => run.printed.out.includes("tidegate is ready at"));
  },
);

test("a start that is killed at any step leaves a file that the next one makes whole", async () => {
  let killed = 0;
  for (let step = 1; step <= STEPS_MAX; step += 1) {
    const path = join(folder, `step-${step}.db`);
    const { signal, status, stderr } = spawnSync(process.execPath, [WORKER, path, String(step)]);
    expect(signal === "SIGKILL" || status === 0, String(stderr)).toBe(true);
    if (signal === null) break;
    killed += 1;
    if (existsSync(path)) expect(listSqliteScopes(path)).toEqual([]);
    const ledger = await openLedger(`sqlite:${path}`, systemPorts);
    expect(await ledger.stats()).toEqual([]);
    await ledger.close();
    expect(listSqliteScopes(path)).toEqual([]);
    const drafts = readdirSync(folder).filter((name) => name.includes(".new"));
    expect(drafts).toEqual([]);
  }
  expect(killed).toBeGreaterThan(10);
  expect(killed).toBeLessThan(STEPS_MAX);
});
