import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { useTemporaryFolder } from "../../../test/support/temporary-folder.ts";
import { systemClock } from "../../platform/system-clock.ts";
import { createInbox } from "../dev/inbox.ts";
import { writeProject } from "../new-project.ts";
import { ensureLedgerFolder } from "../prepare-run.ts";
import { ensureFolder } from "./ensure-folder.ts";

const folder = useTemporaryFolder("own-folder");
const file = join(folder, "file");
writeFileSync(file, "");

test("a folder is made with those it lies in, and one that is there is left alone", () => {
  const deep = join(folder, "a", "b", "c");
  ensureFolder("the", deep);
  ensureFolder("the", deep);
  expect(existsSync(deep)).toBe(true);
});

const inbox = (at: string) =>
  createInbox(
    { clock: systemClock },
    { folder: at, put: async () => undefined, onTrouble: () => undefined },
  );

test.each([
  ["a project", () => writeProject(file, "^1.2.3")],
  ["a project inside of it", () => writeProject(join(file, "x"), "^1.2.3")],
  ["a watched folder", () => inbox(file)],
  ["a ledger", () => ensureLedgerFolder(`sqlite:${file}/ledger.db`)],
])("%s where a file is in the way is refused in a sentence", (_, make) => {
  const told = { code: "TG_CONFIG_INVALID", message: expect.stringContaining("cannot be made") };
  expect(make).toThrow(expect.objectContaining(told));
});

test.runIf(existsSync("/proc/self"))(
  "a file system that takes no folder is refused at once",
  () => {
    const told = expect.objectContaining({ code: "TG_CONFIG_INVALID" });
    expect(() => ensureFolder("the", "/proc/tidegate")).toThrow(told);
  },
);
