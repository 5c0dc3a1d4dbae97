import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { useTemporaryFolder } from "../../../test/support/temporary-folder.ts";
import { openGuard } from "./renew-log.ts";

const folder = useTemporaryFolder("checkpoints");

test("a guard is opened with a time to wait for locks of other processes (K3)", () => {
  const path = join(folder, "guarded.db");
  const database = new DatabaseSync(path);
  database.exec("PRAGMA journal_mode = WAL; CREATE TABLE one (id INTEGER)");
  const guard = openGuard(path);
  expect(guard.prepare("PRAGMA busy_timeout").get()).toEqual({ timeout: 5_000 });
  guard.close();
  database.close();
});
