// What a command prints, when its reader is slow or leaves, and when the command cannot end.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startCommand, useCommands } from "../../support/command-process.ts";

const commands = useCommands("output");
const PATHS = 1_000;

/** A pipeline whose contract is longer than any pipe holds. */
function writeLongPipeline(): string {
  const mask = Array.from({ length: PATHS }, (_, at) => `m${at}.${"x".repeat(2_000)}`);
  const source = { queue: "q" };
  const file = join(commands.folder, "long.mjs");
  const spec = JSON.stringify({ name: "long", source, mask });
  writeFileSync(
    file,
    `import { pipeline } from "tidegate";\nexport default pipeline({ ...${spec}, handler() {} });\n`,
  );
  return file;
}

test("a reader that is slower than the command gets the whole output", async () => {
  const { child, ended } = startCommand(["contract", "show", writeLongPipeline()], {
    cwd: commands.folder,
  });
  const { stdout } = child;
  if (stdout === null) throw new Error("stdout is not a pipe");
  stdout.removeAllListeners("data").pause();
  let text = "";
  for await (const chunk of stdout) {
    text += chunk;
    await new Promise(setImmediate);
  }
  expect(await ended).toMatchObject({ code: 0 });
  expect(JSON.parse(text).mask).toHaveLength(PATHS);
});

test("a reader that leaves early, as in `| head`, ends the command quietly", async () => {
  const { child, printed, ended } = startCommand(["contract", "show", writeLongPipeline()], {
    cwd: commands.folder,
  });
  child.stdout?.once("data", () => child.stdout?.destroy());
  expect(await ended).toEqual({ code: 0, signal: null });
  expect(printed.err).toBe("");
});

test("a command that can never end says so, and fails", async () => {
  const patch = "data:text/javascript,globalThis.fetch=()=>new%20Promise(()=>{})";
  const location = { endpoint: "http://127.0.0.1:9", pid: process.pid };
  writeFileSync(join(commands.folder, "endpoint.json"), JSON.stringify(location));
  const ledger = commands.start(["ledger", "init", "--ledger", "sqlite:ledger.db"]);
  expect(await ledger.ended).toMatchObject({ code: 0 });
  const words = ["watermark", writeLongPipeline(), "--json", "--data", "."];
  const { printed, ended } = commands.start(words, { NODE_OPTIONS: `--import ${patch}` });
  expect(await ended).toMatchObject({ code: 1 });
  expect(printed.out).toBe("");
  expect(printed.err).toContain("ended before the command was done");
});
