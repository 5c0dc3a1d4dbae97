// The same replay gives the same rows: twice, with other concurrency, after a kill, and on
// PostgreSQL.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { endOf, startCommand, untilHolds } from "../../support/command-process.ts";
import { ordersPipeline, startReplayWorld } from "../../support/replay-world.ts";
import { useTemporaryFolder } from "../../support/temporary-folder.ts";

const folder = useTemporaryFolder("deterministic-replay");

/** The pipeline of the world, in a file, whose third record takes forever if asked to. */
const SOURCE = `import { pipeline, tables } from "tidegate";
let handled = 0;
export default pipeline({
  name: "orders",
  source: { bucket: "orders", prefix: "in/" },
  format: "csv",
  concurrency: { total: 1 },
  sink: tables({ orders: { columns: { id: "text", amount: "integer" }, key: ["id"] } }),
  async handler(file, { upsert }) {
    for await (const { id, amount } of file.rows()) upsert("orders", { id, amount: Number(amount) });
    handled += 1;
    if (process.env.HANG === String(handled)) {
      process.stdout.write("hanging\\n");
      await new Promise((resolve) => setTimeout(resolve, 600_000));
    }
  },
});
`;

test("a replay gives the same rows twice, with other concurrency, and after kill -9", async () => {
  await using world = await startReplayWorld(folder, "same");
  for (let at = 0; at < 12; at += 1) {
    // The files overlap in keys, so that the order of writers matters.
    await world.put(`in/${at % 9}.csv`, { [`a${at % 4}`]: at, [`b${at}`]: at });
  }
  const request = world.request();
  const hashes = new Set<string>();
  for (const [index, concurrency] of [10, 10, 1, 3].entries()) {
    const fixed = ordersPipeline(1, { timeoutMs: 60_000 + index }); // Another configuration.
    await using replays = await world.replays(fixed);
    const { state, entry } = await replays.start(request, { concurrency });
    expect(state).toBe("ready");
    hashes.add(JSON.stringify(await replays.contents(entry.run)));
  }
  expect(hashes.size).toBe(1);

  const file = join(folder, "pipeline.ts");
  writeFileSync(file, SOURCE);
  const { from, to } = request;
  const [since, until] = [new Date(from).toISOString(), new Date(to).toISOString()];
  const location = ["--ledger", world.ledger, "--endpoint", world.dev.endpoint, "--json"];
  const words = ["replay", file, "--from", since, "--to", until, ...location];
  const killed = startCommand(words, { env: { HANG: "9" } });
  await untilHolds(killed, () => killed.printed.out.includes("hanging"));
  killed.child.kill("SIGKILL");
  await killed.ended;

  const listed = await endOf(startCommand(["replay", "list", ...location]));
  const { run, state } = JSON.parse(listed.out.split("\n")[0] ?? "");
  expect(state).toBe("stopped");
  const resumed = await endOf(startCommand(words));
  const status = JSON.parse(resumed.out);
  expect([resumed.code, status.run, status.state]).toEqual([0, run, "ready"]);
  await using replays = await world.replays(ordersPipeline(1));
  hashes.add(JSON.stringify(await replays.contents(run)));
  expect(hashes.size).toBe(1);
});
