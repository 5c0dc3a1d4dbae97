import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { useTemporaryFolder } from "../../../test/support/temporary-folder.ts";
import { durationMs } from "../../core/units.ts";
import { systemClock } from "../../platform/system-clock.ts";
import { processIdOf } from "./process-id.ts";
import { createProcessLauncher } from "./process-launcher.ts";
import { claimTaskFolder, readTaskFile, writeTaskFile } from "./task-folder.ts";

const folder = useTemporaryFolder("process-launcher");
const self = processIdOf(process.pid);

const launcher = () => {
  const words = [process.execPath, "--eval", ""];
  return createProcessLauncher(systemClock, { folder, words, killMs: durationMs(100) });
};
const request = (name: string) => ({ name, fence: 2, event: "{}", variables: {} });

test("a task whose watcher started after the look for it is adopted, not started again (F2)", async () => {
  const path = join(folder, "slow");
  mkdirSync(path);
  expect(await launcher().find("slow", 2)).toBeNull();
  claimTaskFolder(path, self);
  writeFileSync(join(path, "by-the-first"), "");
  await launcher().start(request("slow"));
  expect(existsSync(join(path, "by-the-first"))).toBe(true);
  expect(readTaskFile(path, "process.json")).toEqual({ watcher: self, command: null });
  expect(readTaskFile(path, "owner.json")).toEqual({ fence: 2 });
});

test("a folder without a watcher, or whose task could not start, is used for a new task", async () => {
  for (const name of ["empty", "failed"]) mkdirSync(join(folder, name));
  claimTaskFolder(join(folder, "failed"), self);
  writeTaskFile(join(folder, "failed"), "end.json", { kind: "not-started", reason: "no" });
  for (const name of ["empty", "failed"]) {
    const task = await launcher().start(request(name));
    expect(await task.wait(new AbortController().signal)).toEqual({ kind: "exited", code: 0 });
  }
});

test("only the first claim of a folder counts, and every reader sees it whole (F1, F2)", () => {
  const path = join(folder, "claimed");
  mkdirSync(path);
  expect(claimTaskFolder(path, self)).toBe(true);
  expect(claimTaskFolder(path, { pid: 1, startedAt: null })).toBe(false);
  expect(JSON.parse(readFileSync(join(path, "process.json"), "utf8")).watcher).toEqual(self);
});

test("a claim that fails for another reason is an error, not another process (F2)", () => {
  writeFileSync(join(folder, "file"), "");
  expect(() => claimTaskFolder(join(folder, "file"), self)).toThrow("ENOTDIR");
});
