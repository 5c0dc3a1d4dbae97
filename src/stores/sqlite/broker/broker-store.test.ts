import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  describeBrokerStore,
  describeHistories,
  loadAll,
  message,
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

/** Fits the schema, and not much more. */
const PAGES_MAX = 40;

test("a store that failed does not take a folder back that another one has since locked (Q4)", async () => {
  const folder = mkdtempSync(join(tmpdir(), "tidegate-store-"));
  const first = createSqliteBrokerStore({ folder, pageCountMax: PAGES_MAX });
  loadAll(first);
  await first.commit([message(1)]);
  const large = message(2, { body: "x".repeat(PAGES_MAX * 4_096) });
  await expect(first.commit([large])).rejects.toMatchObject({ code: "TG_STORE_FULL" });
  rmSync(join(folder, "broker.lock"));
  const second = createSqliteBrokerStore({ folder });
  expect(loadAll(second).messages).toHaveLength(1);
  expect(() => first.load()).toThrow(expect.objectContaining({ code: "TG_STORE_LOCKED" }));
  await second.commit([message(3)]);
  await second.close();
  expect(loadAll(first).messages).toHaveLength(2);
  expect(() => createSqliteBrokerStore({ folder })).toThrow(
    expect.objectContaining({ code: "TG_STORE_LOCKED" }),
  );
  await first.close();
  rmSync(folder, { recursive: true, force: true });
});
