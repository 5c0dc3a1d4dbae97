import { join } from "node:path";
import { expect, test } from "vitest";
import { useTemporaryFolder } from "../../../test/support/temporary-folder.ts";
import { epochMs } from "../../core/units.ts";
import { systemPorts } from "../../platform/index.ts";
import { openLedger } from "../../run/open/open-ledger.ts";
import { createPageThread } from "./page-thread.ts";

const folder = useTemporaryFolder("page-thread");
const SCOPE = { pipeline: "p", generation: 0 };
const PAGE = { cursor: null, limit: 10 };

test("the thread sees what was written since, and keeps the code of an error", async () => {
  const url = `sqlite:${join(folder, "seen.db")}`;
  const ledger = await openLedger(url, systemPorts);
  const thread = createPageThread({ url, owner: null });
  expect(await thread.pages.findNote(SCOPE, "paused", "a")).toBeUndefined();
  const note = { kind: "paused", name: "a", at: epochMs(1), count: 1, body: "{}" } as const;
  await ledger.addNotes(SCOPE, [note]);
  expect(await thread.pages.findNote(SCOPE, "paused", "a")).toMatchObject({ name: "a" });
  const wrong = { cursor: "not a cursor", search: null, outcome: null, prefix: null };
  const search = { ...PAGE, ...wrong, since: null, until: null };
  await expect(thread.pages.records(SCOPE, search, null)).rejects.toMatchObject({
    code: "TG_VALUE_INVALID",
  });
  await thread.close();
  await ledger.close();
});

test("a ledger that is missing fails the read, and is found by a later one", async () => {
  const url = `sqlite:${join(folder, "later.db")}`;
  const thread = createPageThread({ url, owner: null });
  await expect(thread.pages.runs(SCOPE, PAGE)).rejects.toMatchObject({ code: "TG_CONFIG_INVALID" });
  await (await openLedger(url, systemPorts)).close();
  expect(await thread.pages.runs(SCOPE, PAGE)).toEqual({ runs: [], next: null });
  await thread.close();
});

test("a read whose arguments cannot be copied fails, and later reads are answered", async () => {
  const url = `sqlite:${join(folder, "copied.db")}`;
  await (await openLedger(url, systemPorts)).close();
  const thread = createPageThread({ url, owner: null });
  const name = (() => "a") as unknown as string;
  await expect(thread.pages.findNote(SCOPE, "paused", name)).rejects.toThrow("could not be cloned");
  expect(await thread.pages.findNote(SCOPE, "paused", "a")).toBeUndefined();
  await thread.close();
});

test("a thread that ends fails what waits for it, and the next read starts another", async () => {
  const entry = new URL("data:text/javascript,process.exit(0)");
  const thread = createPageThread({ url: "memory:", owner: null }, entry);
  const ended = { code: "TG_LEDGER_UNAVAILABLE", message: expect.stringContaining("ended") };
  await expect(thread.pages.runs(SCOPE, PAGE)).rejects.toMatchObject(ended);
  await expect(thread.pages.runs(SCOPE, PAGE)).rejects.toMatchObject(ended);
  await thread.close();
  await expect(thread.pages.runs(SCOPE, PAGE)).rejects.toThrow("closed");
});
