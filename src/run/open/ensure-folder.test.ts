import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { useTemporaryFolder } from "../../../test/support/temporary-folder.ts";
import { writeProject } from "../../operate/init/new-project.ts";
import { systemClock } from "../../platform/system-clock.ts";
import { createInbox } from "../dev/inbox.ts";
import { ensureLedgerFolder } from "../prepare-run.ts";
import { ensureFolder } from "./ensure-folder.ts";

const folder = useTemporaryFolder("own-folder");
const file = join(folder, "file");
writeFileSync(file, "");

test("a folder is created with its parents, and an existing one stays unchanged", () => {
  const deep = join(folder, "a", "b", "c");
  ensureFolder("data", deep);
  ensureFolder("data", deep);
  expect(existsSync(deep)).toBe(true);
});

const inbox = (at: string) =>
  createInbox(
    { clock: systemClock },
    { folder: at, put: async () => undefined, onFailure: () => undefined },
  );

test.each([
  ["a project", () => writeProject(file, "^1.2.3")],
  ["a project inside of it", () => writeProject(join(file, "x"), "^1.2.3")],
  ["a watched folder", () => inbox(file)],
  ["a ledger", () => ensureLedgerFolder(`sqlite:${file}/ledger.db`)],
])("%s is rejected if a file is in the way", (_, make) => {
  const error = { code: "TG_CONFIG_INVALID", message: expect.stringMatching(/^cannot create the/) };
  expect(make).toThrow(expect.objectContaining(error));
});

test.runIf(existsSync("/proc/self"))("a file system that accepts no folder is rejected", () => {
  const error = expect.objectContaining({ code: "TG_CONFIG_INVALID" });
  expect(() => ensureFolder("data", "/proc/tidegate")).toThrow(error);
});
