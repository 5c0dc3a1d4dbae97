// tidegate dispatch with tasks as processes: the dispatcher is a real process that is killed,
// frozen and restarted, and so are its tasks.

import { appendFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type CommandRun, endOf, untilHolds, useCommands } from "../../support/command-process.ts";
import { needsFullSize, sampleOf } from "../../support/full-size.ts";
import { LAPSE_MS } from "../../support/patience.ts";
import { openTaskWorld, type TaskWorld, WRITE_ROW } from "../../support/task-world.ts";

const commands = useCommands("dispatch");

/** Notes its start, waits for a file with the name of its number, and writes its row. */
const HELD = `
  import { appendFileSync, existsSync, readFileSync } from "node:fs";
  const { payload } = JSON.parse(readFileSync(process.env.TIDEGATE_EVENT_FILE, "utf8"));
  appendFileSync("starts", payload.n + " " + process.pid + "\\n");
  const released = () => existsSync("release-" + payload.n) || existsSync("release-all");
  while (!released()) {
    if (!existsSync(process.env.TIDEGATE_EVENT_FILE)) process.exit(1); // The test is over.
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const row = { n: payload.n, by: process.env.TIDEGATE_ATTEMPT };
  const line = JSON.stringify({ op: "upsert", table: "numbers", row });
  appendFileSync(process.env.TIDEGATE_RESULT_FILE, line + "\\n");
`;

/** The tasks that have started: number and process. */
function starts(): { readonly n: number; readonly pid: number }[] {
  const path = join(commands.folder, "starts");
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, "utf8").trim().split("\n");
  return lines.map((line) => {
    const [n, pid] = line.split(" ");
    return { n: Number(n), pid: Number(pid) };
  });
}

const release = (which: number | "all") =>
  writeFileSync(join(commands.folder, `release-${which}`), "");

function dispatch(world: TaskWorld, flags: readonly string[] = []): CommandRun {
  return world.run(world.script("held", HELD), { command: "dispatch", flags });
}

const untilStarted = (run: CommandRun, count: number) =>
  untilHolds(run, () => starts().length >= count);

async function untilEmpty(world: TaskWorld, run: CommandRun): Promise<void> {
  await untilHolds(run, async () => {
    const { visible, hidden, delayed } = await world.queue.facts();
    return visible + hidden + delayed === 0;
  });
}

const numbersOf = (world: TaskWorld) => world.rows().map(({ n }) => n);

test("each message gets a task, and no message is received beyond the limit of tasks", async () => {
  await using world = await openTaskWorld(commands);
  for (const n of [1, 2, 3]) await world.send(n);
  const run = dispatch(world, ["--concurrency", "2"]);
  await untilStarted(run, 2);
  expect((await world.queue.facts()).visible).toBe(1);
  release("all");
  await untilEmpty(world, run);
  run.child.kill("SIGTERM");
  expect((await endOf(run)).code).toBe(0);
  expect(numbersOf(world)).toEqual([1, 2, 3]);
  expect(
    starts()
      .map(({ n }) => n)
      .toSorted(),
  ).toEqual([1, 2, 3]);
  expect(readdirSync(join(commands.folder, ".tidegate", "tasks"))).toEqual([]);
});

test.each(sampleOf(2, ["SIGKILL", "SIGTERM"] as const))(
  "tasks of a dispatcher that ended by %s are adopted by the next one",
  async (signal) => {
    await using world = await openTaskWorld(commands, { visibilityMs: LAPSE_MS });
    for (const n of [1, 2]) await world.send(n);
    const first = dispatch(world, ["--drain-ms", "0"]);
    await untilStarted(first, 2);
    first.child.kill(signal);
    await first.ended;
    release(1); // It ends while no dispatcher runs.
    const next = dispatch(world);
    await untilHolds(next, () => numbersOf(world).includes(1));
    release(2);
    await untilEmpty(world, next);
    next.child.kill("SIGTERM");
    await next.ended;
    expect(numbersOf(world)).toEqual([1, 2]);
    expect(starts()).toHaveLength(2);
  },
);

test("a task that vanishes is a counted failure, and the record gets another task", async (context) => {
  needsFullSize(context);
  await using world = await openTaskWorld(commands);
  await world.send(1);
  const run = dispatch(world);
  await untilStarted(run, 1);
  const [name = ""] = readdirSync(join(commands.folder, ".tidegate", "tasks"));
  const file = join(commands.folder, ".tidegate", "tasks", name, "process.json");
  const { watcher } = JSON.parse(readFileSync(file, "utf8"));
  process.kill(watcher.pid, "SIGKILL");
  await untilStarted(run, 2);
  release("all");
  await untilEmpty(world, run);
  run.child.kill("SIGTERM");
  await run.ended;
  expect(world.rows()).toEqual([{ n: 1, by: "2" }]);
});

test("a dispatcher that was frozen past its lease does not stop a task that another adopted", async () => {
  await using world = await openTaskWorld(commands, { visibilityMs: LAPSE_MS });
  await world.send(1);
  const zombie = dispatch(world, ["--kill-ms", "100"]);
  await untilStarted(zombie, 1);
  await world.freeze(zombie);
  const next = dispatch(world);
  const adopted = () => next.printed.err.includes("task runs");
  await untilHolds(next, adopted);
  zombie.child.kill("SIGCONT");
  await untilHolds(zombie, () => /lease|lost/i.test(zombie.printed.out + zombie.printed.err));
  zombie.child.kill("SIGTERM");
  await zombie.ended;
  release("all");
  await untilEmpty(world, next);
  next.child.kill("SIGTERM");
  await next.ended;
  expect(starts()).toHaveLength(1);
  expect(numbersOf(world)).toEqual([1]);
});

test("poison messages are dead-lettered, and messages of a FIFO group keep their order", async (context) => {
  needsFullSize(context);
  await using world = await openTaskWorld(commands, { fifo: true });
  for (const n of [1, 2, 3]) await world.send(n);
  const code = `${WRITE_ROW}
    appendFileSync("order", payload.n + "\\n");
    if (payload.n === 2) process.exit(9);
  `;
  const run = world.run(world.script("poison", code), { command: "dispatch" });
  await untilEmpty(world, run);
  run.child.kill("SIGTERM");
  await run.ended;
  expect(numbersOf(world)).toEqual([1, 3]);
  const order = readFileSync(join(commands.folder, "order"), "utf8").trim().split("\n");
  expect(order).toEqual(["1", "2", "2", "3"]);
  expect(
    world
      .records()
      .map(({ state }) => state)
      .toSorted(),
  ).toEqual(["committed", "committed", "parked"]);
  expect((await world.deadLetters.facts()).visible).toBe(1);
});

test("wrong flags are one sentence each", async () => {
  await using world = await openTaskWorld(commands);
  appendFileSync(join(commands.folder, "starts"), "");
  const errorOf = async (words: readonly string[], flags: readonly string[] = []) => {
    const { code, err } = await endOf(world.run(words, { command: "dispatch", flags }));
    expect(code).toBe(2);
    return err.split("\n")[0];
  };
  expect(await errorOf([])).toBe("--launcher process needs -- and CMD after the flags");
  expect(await errorOf(["nowhere"])).toContain('the command "nowhere" does not exist');
  expect(await errorOf([], ["--launcher", "ecs"])).toBe("--launcher ecs needs --cluster");
});
