// Foreign story: `tidegate run` as real processes, from the first object to the redriven dead
// letter, with two kills in between. It is the same for every environment.

import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { expect } from "vitest";
import { systemPorts } from "../../../src/platform/index.ts";
import { openLedger } from "../../../src/run/open/open-ledger.ts";
import { type CommandRun, type Commands, endOf, untilHolds } from "../command-process.ts";
import type { ForeignWorld } from "./foreign-worlds.ts";

export interface StoryEnvironment {
  readonly commands: Commands;
  readonly world: ForeignWorld;
  readonly ledger: string;
  /** The SQLite file with the tables. */
  readonly tables: string;
  /** Whether events have a sequencer, which orders the versions of an object. */
  readonly ordered: boolean;
}

interface Consumer extends CommandRun {
  counter(name: string): Promise<number>;
}

const EXAMPLE = join(import.meta.dirname, "../../../examples/stations/pipeline.ts");
/**
 * The stations example with a short lease. The file "hold" stops its handlers, "started" lists the
 * handled objects, and from the file "fixed" on it understands "n/a".
 */
const PIPELINE = `
import { appendFileSync, existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import example from ${JSON.stringify(pathToFileURL(EXAMPLE).href)};
const standard = example.schema["~standard"];
const validate = (row) => {
  const fixed = row.temperature === "n/a" && existsSync("fixed");
  return standard.validate(fixed ? { ...row, temperature: "" } : row);
};
export default {
  ...example,
  visibilityMs: 3_000,
  schema: { "~standard": { ...standard, validate } },
  async handler(file, context) {
    appendFileSync("started", file.object.key + "\\n");
    while (existsSync("hold") && !context.signal.aborted) await sleep(20);
    await example.handler(file, context);
  },
};
`;

const HEAD = "station,time,temperature,humidity,wind\n";
const row = (station: string, hour: string, temperature: string) =>
  `${station},2026-03-01T${hour}:00:00Z,${temperature},50,3\n`;
const hamburg = (temperature: number) =>
  `{"station":"HAM03","time":"2026-03-01T00:00:00Z","temperature":${temperature}}\n`;
const FILES = {
  "observations/a.csv": HEAD + row("BER01", "00", "3.5") + row("BER01", "01", "-1"),
  "observations/b.jsonl": hamburg(8),
  "observations/c d+é.csv": HEAD + row("SYL05", "00", "6"),
};
const POISON = HEAD + row("BRE02", "00", "3") + row("BRE02", "01", "n/a");
const GOOD = Object.keys(FILES).length;

/** Everything that `run` promises, from the first object to the redriven dead letter. */
export async function tellStory(environment: StoryEnvironment): Promise<void> {
  const { commands, world, ordered } = environment;
  writeFileSync(join(commands.folder, "pipeline.ts"), PIPELINE);
  for (const [key, body] of Object.entries(FILES)) await world.put(key, body);

  await killInHandler(environment);
  await killBeforeDelete(environment);

  const consumer = await startConsumer(environment);
  const settled = async () => (await world.depthOf("events")) === 0;
  const duplicates = () => consumer.counter("messages_duplicate_total");
  await untilHolds(consumer, async () => (await duplicates()) >= GOOD);
  await untilHolds(consumer, settled);
  const copies = await world.redeliver();
  expect(copies).toBe(GOOD);
  await untilHolds(consumer, async () => (await duplicates()) >= GOOD + copies);

  await world.put("observations/broken.csv", POISON);
  await untilHolds(consumer, async () => (await world.depthOf("dead")) === 1);
  await untilHolds(consumer, settled);
  expect(await consumer.counter("tidegate_messages_committed_total")).toBe(0); // Nothing twice.
  expect(await recordsOf(environment)).toEqual({ committed: GOOD, parked: 1 });
  expect(await observations(environment)).toEqual(["BER01 3.5", "BER01 -1", "HAM03 8", "SYL05 6"]);

  await redriveFixed(environment, consumer);
  if (ordered) {
    // The newer event comes first: the older one must not win.
    await world.put("observations/b.jsonl", hamburg(9), hamburg(10));
    await untilHolds(consumer, settled);
    expect(await observations(environment)).toContain("HAM03 10");
  }
  await stop(consumer);
}

/** Kills a consumer while its handlers run; nothing is committed. */
async function killInHandler(environment: StoryEnvironment): Promise<void> {
  const { commands } = environment;
  const [hold, started] = [join(commands.folder, "hold"), join(commands.folder, "started")];
  writeFileSync(hold, "");
  const consumer = await startConsumer(environment);
  await untilHolds(consumer, () => existsSync(started));
  await kill(consumer);
  rmSync(hold);
  expect(await recordsOf(environment)).toMatchObject({ committed: 0, parked: 0 });
}

/** Kills a consumer that has committed everything, but deleted no message. */
async function killBeforeDelete(environment: StoryEnvironment): Promise<void> {
  const { proxy } = environment.world;
  proxy.hold("DeleteMessageBatch");
  const consumer = await startConsumer(environment);
  await untilHolds(consumer, async () => (await recordsOf(environment)).committed === GOOD);
  await kill(consumer);
  proxy.release();
}

/** The fixed pipeline handles the dead letter, which `dlq redrive` sends back. */
async function redriveFixed(environment: StoryEnvironment, consumer: Consumer): Promise<void> {
  const { commands, world, ledger } = environment;
  writeFileSync(join(commands.folder, "fixed"), "");
  const location = ["--ledger", ledger, "--pipeline", "stations", "--queue", "stations-events"];
  const redriven = await endOf(commands.start(["dlq", "redrive", ...location], world.env));
  expect(redriven).toMatchObject({ code: 0, err: "" });
  expect(redriven.out).toContain("1 redriven: 1 committed, 0 failed again, 0 still waiting.");
  await untilHolds(consumer, async () => (await world.depthOf("events")) === 0);
  expect(await world.depthOf("dead")).toBe(0);
  expect(await recordsOf(environment)).toEqual({ committed: GOOD + 1, parked: 0 });
  expect(await observations(environment)).toContain("BRE02 3");
}

async function startConsumer(environment: StoryEnvironment): Promise<Consumer> {
  const { commands, world, ledger, tables } = environment;
  const location = ["--queue", "stations-events", "--ledger", ledger, "--metrics-port", "0"];
  const words = ["run", "pipeline.ts", "--json", "--data", "d", ...location];
  if (ledger.startsWith("dynamodb:")) words.push("--tables-database", tables);
  const run = commands.start(words, world.env);
  await untilHolds(run, () => run.printed.out.includes("\n"));
  const ready = JSON.parse(run.printed.out.slice(0, run.printed.out.indexOf("\n")));
  expect(ready).toMatchObject({ event: "ready", pipeline: "stations", queue: "stations-events" });
  return {
    ...run,
    async counter(name) {
      const text = await (await fetch(`${ready.metrics}/metrics`)).text();
      return Number(new RegExp(`^${name}\\{[^}]*\\} (\\d+)$`, "m").exec(text)?.[1] ?? 0);
    },
  };
}

async function kill({ child, ended }: CommandRun): Promise<void> {
  child.kill("SIGKILL");
  expect(await ended).toMatchObject({ signal: "SIGKILL" });
}

async function stop({ child, ended, printed }: CommandRun): Promise<void> {
  child.kill("SIGTERM");
  expect({ ...(await ended), trouble: printed.out.includes('"trouble"') }).toEqual({
    code: 0,
    signal: null,
    trouble: false,
  });
}

/** The ledger's records, by state. */
async function recordsOf({ ledger }: StoryEnvironment) {
  const opened = await openLedger(ledger, systemPorts, { create: false });
  try {
    const [scope] = await opened.stats();
    return { committed: scope?.committed ?? 0, parked: scope?.parked ?? 0 };
  } finally {
    await opened.close();
  }
}

async function observations({ tables }: StoryEnvironment): Promise<string[]> {
  const database = new DatabaseSync(tables, { readOnly: true });
  const rows = database
    .prepare("SELECT station, temperature FROM observation ORDER BY station, time")
    .all();
  database.close();
  return rows.map(({ station, temperature }) => `${station} ${temperature}`);
}
