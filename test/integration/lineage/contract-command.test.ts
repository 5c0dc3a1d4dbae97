// tidegate contract, as a real process.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { endOf, useCommands } from "../../support/command-process.ts";

const commands = useCommands("contract");
const inFolder = (name: string) => join(commands.folder, name);
const end = (...words: readonly string[]) => endOf(commands.start(words));

const pipelineOf = (column: string) => `
import { pipeline, tables } from "tidegate";
export default pipeline({
  name: "files",
  source: { bucket: "files" },
  sink: tables({ line: { columns: { id: "text", value: "${column}" }, key: ["id"] } }),
  handler() {},
});
`;

test("a stored contract accepts the same pipeline and fails on an incompatible one", async () => {
  writeFileSync(inFolder("pipeline.ts"), pipelineOf("real"));
  const shown = await end("contract", "show", "pipeline.ts");
  expect(shown.code).toBe(0);
  writeFileSync(inFolder("contract.json"), shown.out);
  const same = await end("contract", "diff", "pipeline.ts", "--against", "contract.json");
  expect(same).toMatchObject({ code: 0, out: "The pipeline is as in contract.json.\n" });

  writeFileSync(inFolder("pipeline.ts"), pipelineOf("integer"));
  const changed = await end("contract", "diff", "pipeline.ts", "--against", "contract.json");
  expect(changed.code).toBe(1);
  expect(changed.out).toContain('INCOMPATIBLE  tables.line.columns.value: changed from "real"');
});

test("a file that is not a contract is refused in one line", async () => {
  writeFileSync(inFolder("pipeline.ts"), pipelineOf("real"));
  const diff = (name: string) => end("contract", "diff", "pipeline.ts", "--against", name);
  writeFileSync(inFolder("other.json"), "{}");
  expect(await diff("other.json")).toMatchObject({
    code: 2,
    err: "--against: other.json is not a contract; write one with contract show\n",
  });
  const shown = await end("contract", "show", "pipeline.ts");
  const newer = { ...(JSON.parse(shown.out) as object), contract: 3 };
  writeFileSync(inFolder("newer.json"), JSON.stringify(newer));
  expect((await diff("newer.json")).err).toContain("has contract version 3; this release reads");
  expect((await diff("missing.json")).err).toContain("cannot read missing.json (ENOENT)");
  expect(readFileSync(inFolder("other.json"), "utf8")).toBe("{}");
});
