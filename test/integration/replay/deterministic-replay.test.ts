// The same replay gives the same rows: twice, with other concurrency, after a kill, on another day,
// and on PostgreSQL.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tables } from "../../../src/ingest/spec/define-pipeline.ts";
import { endOf, startCommand, untilHolds } from "../../support/command-process.ts";
import { ordersPipeline, type ReplayWorld, startReplayWorld } from "../../support/replay-world.ts";
import { usePostgres } from "../../support/stores/database-servers.ts";
import { useTemporaryFolder } from "../../support/temporary-folder.ts";

const folder = useTemporaryFolder("deterministic-replay");
const postgres = await usePostgres();
const HOUR_MS = 3_600_000;

/** The pipeline of the world, in a file, whose n-th record takes forever if asked to. */
const SOURCE = `import { pipeline, tables } from "tidegate";
let handled = 0;
export default pipeline({
  name: "orders",
  source: { bucket: "orders", prefix: "in/", queue: "orders-events" },
  format: "csv",
  concurrency: { total: 1 },
  sink: tables({
    orders: { columns: { id: "text", amount: "integer", draw: "text" }, key: ["id"] },
  }),
  async handler(file, { upsert, random, uuid }) {
    for await (const { id, amount } of file.rows()) {
      const draw = String(random()) + " " + uuid().slice("00000000-0000-".length);
      upsert("orders", { id, amount: Number(amount), draw });
    }
    handled += 1;
    if (process.env.HANG === String(handled)) {
      process.stdout.write("hanging\\n");
      await new Promise((resolve) => setTimeout(resolve, 600_000));
    }
  },
});
`;

/** A process with this module lives three days later. */
const LATER = `const now = Date.now;
const AHEAD_MS = 3 * 86_400_000;
Date.now = () => now() + AHEAD_MS;
globalThis.Date = new Proxy(Date, {
  construct: (Plain, values) => new Plain(...(values.length === 0 ? [Date.now()] : values)),
});
`;

const drawing = (more: object = {}) =>
  ordersPipeline(1, {
    sink: tables({
      orders: { columns: { id: "text", amount: "integer", draw: "text" }, key: ["id"] },
    }),
    async handler(file: OrdersFile, { upsert, random, uuid }: Drawing) {
      for await (const { id = "", amount } of file.rows()) {
        const draw = `${random()} ${uuid().slice("00000000-0000-".length)}`;
        upsert("orders", { id, amount: Number(amount), draw });
      }
    },
    ...more,
  });

interface Drawing {
  upsert(table: string, row: object): void;
  random(): number;
  uuid(): string;
}

interface OrdersFile {
  rows(): AsyncIterable<Readonly<Record<string, string>>>;
}

/** Kills a replay at its ninth record, and lets it end three days later; returns the run. */
async function replayInTwoLives(world: ReplayWorld, ledger: string, to: number): Promise<string> {
  const file = join(folder, "pipeline.ts");
  const later = join(folder, "later.mjs");
  writeFileSync(later, LATER);
  const location = ["--ledger", ledger, "--endpoint", world.dev.endpoint, "--json"];
  const window = ["--from", "2020-01-01", "--to", new Date(to).toISOString()];
  const words = ["replay", file, ...window, ...location];
  const killed = startCommand(words, { env: { HANG: "9" } });
  await untilHolds(killed, () => killed.printed.out.includes("hanging"));
  killed.child.kill("SIGKILL");
  await killed.ended;
  const listed = await endOf(startCommand(["replay", "list", ...location]));
  const { run, state } = JSON.parse(listed.out.split("\n")[0] ?? "");
  expect(state).toBe("stopped");
  await refuseOthers(world, { ledger, file, run });
  const resumed = await endOf(startCommand(words, { env: { NODE_OPTIONS: `--import=${later}` } }));
  expect([resumed.code, resumed.err]).toEqual([0, ""]);
  const status = JSON.parse(resumed.out);
  expect([status.run, status.state]).toEqual([run, "ready"]);
  return run;
}

/** A replay that was stopped continues with its own code and settings only. */
async function refuseOthers(
  world: ReplayWorld,
  { ledger, file, run }: { readonly ledger: string; readonly file: string; readonly run: string },
): Promise<void> {
  const mixed = /, and would mix both; drop it with tidegate replay drop .+, and start a new one$/;
  await using code = await world.replays(drawing(), { ledger });
  const otherCode = code.resume(run);
  await expect(otherCode).rejects.toThrow(/began with other code/);
  await expect(otherCode).rejects.toThrow(mixed);
  await using settings = await world.replays(drawing({ timeoutMs: 61_000 }), { ledger, file });
  const otherSettings = settings.resume(run);
  await expect(otherSettings).rejects.toThrow(/began with other settings or frozen values/);
  await expect(otherSettings).rejects.toThrow(mixed);
}

async function startFilledWorld(name: string): Promise<ReplayWorld> {
  const world = await startReplayWorld(folder, name, drawing());
  for (let at = 0; at < 12; at += 1) {
    // The files overlap in keys, so that the order of writers matters.
    await world.put(`in/${at % 9}.csv`, { [`a${at % 4}`]: at, [`b${at}`]: at });
  }
  writeFileSync(join(folder, "pipeline.ts"), SOURCE);
  return world;
}

test("a replay gives the same rows twice, with other concurrency, and after kill -9 on another day", async () => {
  await using world = await startFilledWorld("same");
  const request = world.request();
  const hashes = new Set<string>();
  for (const [index, concurrency] of [10, 10, 1, 3].entries()) {
    const fixed = drawing({ timeoutMs: 60_000 + index }); // Another configuration.
    await using replays = await world.replays(fixed);
    const { state, entry } = await replays.start(request, { concurrency });
    expect(state).toBe("ready");
    hashes.add(JSON.stringify(await replays.contents(entry.run)));
  }
  expect(hashes.size).toBe(1);
  const run = await replayInTwoLives(world, world.ledger, request.to);
  await using replays = await world.replays(drawing());
  hashes.add(JSON.stringify(await replays.contents(run)));
  expect(hashes.size).toBe(1);
});

test.skipIf(!postgres.available)(
  "a replay on PostgreSQL, killed and ended on another day, gives the same rows as on SQLite",
  async () => {
    await using world = await startFilledWorld("stores");
    const ledger = `sqlite:${join(folder, "listed.db")}`;
    const url = await postgres.freshUrl();
    const until = new Date(Date.now() + HOUR_MS).toISOString();
    const words = ["backfill", join(folder, "pipeline.ts"), "--until", until, "--json"];
    // Both from a listing, whose event times differ from those of the notifications.
    for (const to of [ledger, url]) {
      const location = ["--endpoint", world.dev.endpoint, "--ledger", to];
      const ingested = await endOf(startCommand([...words, ...location]));
      expect([ingested.code, ingested.err]).toEqual([0, ""]);
    }
    const request = world.request();
    await using sqlite = await world.replays(drawing(), { ledger });
    const { entry } = await sqlite.start(request);
    const run = await replayInTwoLives(world, url, request.to);
    await using replays = await world.replays(drawing(), { ledger: url });
    expect(await replays.contents(run)).toEqual(await sqlite.contents(entry.run));
  },
  240_000,
);
