// A replay as a person runs it: in a terminal, beside a running pipeline, and promoted by hand.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { endOf, startCommand } from "../../support/command-process.ts";
import { startReplayWorld } from "../../support/replay-world.ts";
import { requirePart } from "../../support/requires.ts";
import { useTemporaryFolder } from "../../support/temporary-folder.ts";

const folder = useTemporaryFolder("replay-terminal");
const { script } = requirePart("script");
const MAIN = join(import.meta.dirname, "../../../src/cli/main.ts");

const SOURCE = `import { pipeline, tables } from "tidegate";
export default pipeline({
  name: "orders",
  source: { bucket: "orders", prefix: "in/" },
  format: "csv",
  sink: tables({ orders: { columns: { id: "text", amount: "integer" }, key: ["id"] } }),
  async handler(file, { upsert }) {
    for await (const { id, amount } of file.rows()) upsert("orders", { id, amount: Number(amount) });
  },
});
`;

/** What a terminal gets from a command. */
async function inTerminal(words: readonly string[]): Promise<string> {
  const command = [process.execPath, MAIN, ...words].map((word) => `'${word}'`).join(" ");
  const child = spawn(script, ["-qec", command, "/dev/null"], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  let text = "";
  child.stdout.on("data", (chunk) => {
    text += chunk;
  });
  await once(child, "close");
  return text;
}

test("a terminal shows how far a replay is, JSON has no such lines, and a promotion by hand keeps live writes", async () => {
  await using world = await startReplayWorld(folder, "data");
  for (const id of ["a", "b", "c"]) await world.put(`in/${id}.csv`, { [id]: 1 });
  const file = join(folder, "pipeline.ts");
  writeFileSync(file, SOURCE);
  const location = ["--data", join(folder, "data")];
  const to = new Date().toISOString();
  const words = ["replay", file, "--from", "2020-01-01", "--to", to, ...location];
  const shown = await inTerminal(words);
  expect(shown).toMatch(/3 of 3 records \(100 %\), about 0 s to go/);
  const [run = ""] = /[0-9a-f]{8}-[0-9a-f-]{27}/.exec(shown) ?? [];
  const other = words.map((word) => (word === "2020-01-01" ? "2020-01-02" : word));
  const json = await inTerminal([...other, "--json"]);
  expect(json).not.toContain("records (");
  expect(JSON.parse(json.trim())).toMatchObject({ state: "ready", inputs: 3 });

  await world.put("in/b.csv", { b: 5 }); // Live writes of the old code, which doubles.
  await world.put("in/d.csv", { d: 7 });
  const promoted = await endOf(startCommand(["replay", "promote", run, ...location]));
  expect([promoted.code, promoted.out]).toEqual([
    0,
    `promoted ${run}: 2 objects replaced, 1 kept\n`,
  ]);
  expect(world.rows()).toEqual(["a=1", "b=10", "c=1", "d=14"]);
});
