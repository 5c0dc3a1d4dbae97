import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  describeBrokerStore,
  describeHistories,
  type StoreHome,
} from "../../../../test/contracts/broker-store.ts";
import { describeObjectReads } from "../../../../test/contracts/object-reads.ts";
import { createSqliteBrokerStore } from "./broker-store.ts";

async function createHome(): Promise<StoreHome> {
  const folder = mkdtempSync(join(tmpdir(), "tidegate-store-"));
  const open = async () => createSqliteBrokerStore({ folder });
  return {
    open,
    reopen: async (store) => {
      await store.close();
      return open();
    },
    dispose: async () => rmSync(folder, { recursive: true, force: true }),
  };
}

describeBrokerStore("SQLite", createHome);
describeHistories("SQLite", createHome);
describeObjectReads("SQLite", createHome);
