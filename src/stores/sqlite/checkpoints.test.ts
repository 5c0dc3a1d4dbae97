import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { useTemporaryFolder } from "../../../test/support/temporary-folder.ts";
import { openGuard } from "./checkpoints.ts";

const folder = useTemporaryFolder("checkpoints");

test("a guard waits for a process that has the file locked while it starts (K3)", () => {
  const path = join(folder, "guarded.db");
  const database = new DatabaseSync(path);
  database.exec("PRAGMA journal_mode = WAL; CREATE TABLE one (id INTEGER)");
  const guard = openGuard(path);
  expect(guard.prepare("PRAGMA busy_timeout").get()).toEqual({ timeout: 5_000 });
  guard.close();
  database.close();
});
