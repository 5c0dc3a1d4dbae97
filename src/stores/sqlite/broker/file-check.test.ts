import { cpSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { BROKER_FILE } from "./broker-schema.ts";
import { createSqliteBrokerStore } from "./broker-store.ts";
import { checkBrokerFiles } from "./file-check.ts";

const DOCUMENTS = 100;
const VALUE = "x".repeat(8_000);

test("a log that was reset and is filled again is sound, whatever older commits lie behind", async () => {
  const folder = mkdtempSync(join(tmpdir(), "tidegate-file-check-"));
  const data = join(folder, "data");
  const store = createSqliteBrokerStore({ folder: data });
  try {
    store.load();
    const log = join(data, `${BROKER_FILE}-wal`);
    let sizeBytes = 0;
    // Once a commit no longer extends the log, it overwrote the oldest ones.
    for (let round = 0; round < 200; round += 1) {
      const changes = Array.from({ length: DOCUMENTS }, (_, key) => ({
        kind: "put-document" as const,
        document: { collection: "filler", key: `${key}`, value: `${round} ${VALUE}` },
      }));
      await store.commit(changes);
      const now = statSync(log).size;
      if (now === sizeBytes) break;
      sizeBytes = now;
    }
    await store.commit([]);
    const crashed = join(folder, "crashed"); // The files a crash at this instant would leave.
    cpSync(data, crashed, { recursive: true });
    expect(statSync(join(crashed, `${BROKER_FILE}-wal`)).size).toBe(sizeBytes);
    expect(() => checkBrokerFiles(join(crashed, BROKER_FILE))).not.toThrow();
  } finally {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
