// tidegate task: one message, one command. Each test runs the real command line with a real process
// as its command, on an embedded cloud.

import { expect, test } from "vitest";
import { isRunning } from "../../../src/adapters/task/process-id.ts";
import type { Queue } from "../../../src/ports/queue-receiver.ts";
import { endOf, untilHolds, useCommands } from "../../support/command-process.ts";
import { eventually } from "../../support/eventually.ts";
import { needsFullSize } from "../../support/full-size.ts";
import { LAPSE_MS } from "../../support/patience.ts";
import { openTaskWorld, type TaskWorld, WRITE_ROW } from "../../support/task-world.ts";

const commands = useCommands("task");

const isAlive = (pid: number) => isRunning({ pid, startedAt: null });

async function depthOf(queue: Queue): Promise<number> {
  const { visible, hidden, delayed } = await queue.facts();
  return visible + hidden + delayed;
}

test("exit code 0 commits the effects of the result and deletes the message", async () => {
  await using world = await openTaskWorld(commands);
  await world.send(7);
  const { code, out } = await endOf(world.run(world.script("write", WRITE_ROW)));
  expect([code, world.rows()]).toEqual([0, [{ n: 7, by: "1" }]]);
  expect(out).toMatch(/^\[tg-\w{8}\] wrote 7$/m);
  expect(await depthOf(world.queue)).toBe(0);
});

test("a sink function gets what the result emits, once, with the fence of the command", async () => {
  const sink = '(values, { fence }) => console.log("sink", JSON.stringify({ values, fence }))';
  await using world = await openTaskWorld(commands, { sink });
  await world.send(7);
  const emit = `
import { appendFileSync } from "node:fs";
const { TIDEGATE_RESULT_FILE: file, TIDEGATE_FENCE: fence } = process.env;
for (const value of [fence, { n: 7 }]) {
  appendFileSync(file, JSON.stringify({ op: "emit", value }) + "\\n");
}
`;
  const { code, out } = await endOf(world.run(world.script("emit", emit)));
  const calls = [...out.matchAll(/^sink (.*)$/gm)].map(([, call = ""]) => JSON.parse(call));
  const fence = calls[0]?.fence;
  expect([code, calls]).toEqual([0, [{ values: [String(fence), { n: 7 }], fence }]]);
  expect(world.records()).toMatchObject([{ state: "committed" }]);
  expect(await depthOf(world.queue)).toBe(0);
});

test("a second message with the same key does not run the command again", async () => {
  await using world = await openTaskWorld(commands);
  const write = world.script("write", WRITE_ROW);
  await world.send(7);
  await endOf(world.run(write));
  await world.send(7);
  const { code, out } = await endOf(world.run(write));
  expect(code).toBe(0);
  expect(out).not.toContain("wrote");
  expect(await depthOf(world.queue)).toBe(0);
});

test("exit code 75 is a counted failure of class temporary, and is retried", async () => {
  await using world = await openTaskWorld(commands);
  await world.send(1);
  const { code } = await endOf(world.run(["sh", "-c", "exit 75"]));
  expect([code, world.records()]).toEqual([1, [{ state: "failed", error_class: "temporary" }]]);
  const { code: next } = await endOf(world.run(world.script("write", WRITE_ROW)));
  expect([next, world.rows()]).toEqual([0, [{ n: 1, by: "2" }]]);
});

test("any other exit code is a counted failure of its class, dead-lettered in the end", async (context) => {
  needsFullSize(context);
  await using world = await openTaskWorld(commands);
  await world.send(1);
  for (const state of ["failed", "parked"]) {
    const { code } = await endOf(world.run(["sh", "-c", "exit 3"]));
    expect([code, world.records()]).toEqual([1, [{ state, error_class: "exit-3" }]]);
  }
  expect([await depthOf(world.queue), await depthOf(world.deadLetters)]).toEqual([0, 1]);
});

test("without a command, the usage is one sentence", async () => {
  await using world = await openTaskWorld(commands);
  const { code, err } = await endOf(world.run([]));
  expect([code, err]).toEqual([2, '"task" needs -- and CMD [ARGS] after its flags\n']);
});

test("the message stays hidden while the command runs longer than the visibility timeout", async (context) => {
  needsFullSize(context);
  await using world = await openTaskWorld(commands, { visibilityMs: LAPSE_MS });
  await world.send(1);
  const slow = `await new Promise((resolve) => setTimeout(resolve, ${2 * LAPSE_MS}));${WRITE_ROW}`;
  const { code } = await endOf(world.run(world.script("slow", slow)));
  expect([code, world.rows()]).toEqual([0, [{ n: 1, by: "1" }]]);
});

/**
 * Runs tasks until one has done the message. A task that is early returns it, because the ledger's
 * lease of the dead attempt may end a little after the message became visible.
 */
async function nextTask(world: TaskWorld): Promise<void> {
  for (;;) {
    await eventually(async () => expect((await world.queue.facts()).visible).toBe(1));
    const { code, err } = await endOf(world.run(world.script("write", WRITE_ROW)));
    if (code === 0) return;
    expect([code, world.records()]).toEqual([1, [{ state: "claimed", error_class: null }]]);
    expect(err).not.toContain("task runs");
  }
}

const HELD = `
  import { existsSync } from "node:fs";
  console.log("running", process.pid);
  const tick = () => new Promise((resolve) => setTimeout(resolve, 20));
  while (existsSync(process.env.TIDEGATE_EVENT_FILE)) await tick();
`;

test("a task that is killed leaves its message, and the next one commits it once", async () => {
  await using world = await openTaskWorld(commands, { visibilityMs: LAPSE_MS });
  await world.send(1);
  const first = world.run(world.script("held", HELD));
  await untilHolds(first, () => /running \d+/.test(first.printed.out));
  first.child.kill("SIGKILL");
  await first.ended;
  process.kill(Number(/running (\d+)/.exec(first.printed.out)?.[1]), "SIGKILL");
  await nextTask(world);
  expect(world.rows()).toEqual([{ n: 1, by: "2" }]);
  expect(await depthOf(world.queue)).toBe(0);
});

test("a task that is frozen past its lease kills its command and commits nothing", async () => {
  await using world = await openTaskWorld(commands, { visibilityMs: LAPSE_MS });
  await world.send(1);
  const zombie = world.run(world.script("held", HELD + WRITE_ROW), {
    flags: ["--kill-ms", "200"],
  });
  await untilHolds(zombie, () => /running \d+/.test(zombie.printed.out));
  await world.freeze(zombie);
  await nextTask(world);
  expect(world.rows()).toEqual([{ n: 1, by: "2" }]);
  zombie.child.kill("SIGCONT");
  const { code, out } = await endOf(zombie);
  expect(code).toBe(1);
  expect(out).not.toContain("wrote");
  expect(isAlive(Number(/running (\d+)/.exec(out)?.[1]))).toBe(false);
  expect(world.rows()).toEqual([{ n: 1, by: "2" }]);
});

test("messages of a FIFO group are processed in order, one task at a time", async (context) => {
  needsFullSize(context);
  await using world = await openTaskWorld(commands, { fifo: true });
  for (const n of [1, 2]) await world.send(n);
  const write = world.script("write", WRITE_ROW);
  const order: string[] = [];
  for (const _ of [1, 2])
    order.push((await endOf(world.run(write))).out.match(/wrote \d/)?.[0] ?? "");
  expect(order).toEqual(["wrote 1", "wrote 2"]);
});
