// Draining as process 1: every documented way to start a consumer in a container, with SIGTERM in
// the middle of a record. The commands are read from the pages and files that users copy.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Cloud, createCloudQueue, startCloud } from "../../../src/api/cloud.ts";
import { sendTestMessage } from "../../../src/testkit/test-message.ts";
import { bundled } from "../../support/bundle/bundled.ts";
import { type CommandRun, untilHolds } from "../../support/command-process.ts";
import { containerCommands } from "../../support/container-commands.ts";
import { installCommand, signalProcessOne, zombiesBelow } from "../../support/process-one.ts";
import { PID_NAMESPACE, requirePart } from "../../support/requires.ts";

/** Writes at-work and waits for go; with STUCK, it ignores its signal. */
const PIPELINE = `
import { existsSync, writeFileSync } from "node:fs";
import { pipeline, tables } from "tidegate";
const until = async (holds) => {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 20));
};
export default pipeline({
  name: "files",
  source: { queue: "files" },
  visibilityMs: 600_000,
  sink: tables({ line: { columns: { id: "text" }, key: ["id"] } }),
  async handler(message, { upsert, signal }) {
    writeFileSync("at-work", "");
    await until(() => existsSync("go") || (signal.aborted && !process.env.STUCK));
    upsert("line", { id: "1" });
  },
});
`;
/** The command of a task: waits as the handler does, and finishes its work after SIGTERM. */
const SCRIPT = `#!/bin/sh
trap : TERM
: > at-work
until [ -e go ]; do sleep 0.02; done
`;

const TEST_MESSAGE = { payload: { n: 1 }, dedupeKey: "one" };

const { "pid-namespace": unshare } = requirePart("pid-namespace");
const main = await bundled("src/cli/main.ts");
let folder = "";
let cloud: Cloud;
const children: ChildProcess[] = [];
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "tidegate-process-one-"));
  installCommand(folder, main);
  writeFileSync(join(folder, "pipeline.ts"), PIPELINE);
  writeFileSync(join(folder, "download.sh"), SCRIPT, { mode: 0o755 });
  cloud = await startCloud({ memory: true, setup: { queues: [{ name: "files" }] } });
});
afterEach(async () => {
  for (const child of children.splice(0)) child.kill("SIGKILL"); // The namespace ends with it.
  await cloud.close();
  rmSync(folder, { recursive: true, force: true });
});

function start(words: readonly string[], env: Record<string, string> = {}): CommandRun {
  const child = spawn(unshare, [...PID_NAMESPACE, ...words], {
    cwd: folder,
    env: {
      ...process.env,
      AWS_ENDPOINT_URL: cloud.endpoint,
      TIDEGATE_QUEUE: "files",
      TIDEGATE_METRICS_PORT: "0",
      ...env,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  children.push(child);
  const printed = { out: "", err: "" };
  child.stdout.on("data", (chunk) => {
    printed.out += chunk;
  });
  child.stderr.on("data", (chunk) => {
    printed.err += chunk;
  });
  const ended = once(child, "exit").then(([code, signal]) => ({ code, signal }));
  return { child, printed, ended };
}

function sendOne() {
  const queue = createCloudQueue(cloud, { queue: "files" });
  return sendTestMessage(queue, TEST_MESSAGE, cloud.clock.now());
}

/** Starts a consumer, and waits until it is in the middle of a record. */
async function startMidway(words: readonly string[], env: Record<string, string> = {}) {
  await sendOne();
  const run = start(words, env);
  await untilHolds(run, () => existsSync(join(folder, "at-work")));
  const signal = (name: NodeJS.Signals) => signalProcessOne(run.child.pid ?? 0, name);
  return { ...run, signal };
}

const go = () => writeFileSync(join(folder, "go"), "");
const facts = () => createCloudQueue(cloud, { queue: "files" }).facts();
/** The states of the ledger's records. */
function states(): unknown[] {
  using ledger = new DatabaseSync(join(folder, ".tidegate", "ledger.db"), { readOnly: true });
  const rows = ledger.prepare("SELECT state FROM ledger_record").all();
  return rows.map(({ state }) => state);
}

/** Ends a command in the middle of its record, which it commits. */
async function drainMidway(run: CommandRun): Promise<void> {
  await untilHolds(run, () => existsSync(join(folder, "at-work")));
  signalProcessOne(run.child.pid ?? 0, "SIGTERM");
  await untilHolds(run, () => /SIGTERM: waiting/.test(run.printed.out + run.printed.err));
  go();
  expect(await run.ended, run.printed.err).toEqual({ code: 0, signal: null });
  expect(states()).toEqual(["committed"]);
  expect(await facts()).toMatchObject({ visible: 0, hidden: 0, delayed: 0 });
}

const COMMAND = "node_modules/.bin/tidegate";
const RUN = [COMMAND, "run", "pipeline.ts"];

test.each(containerCommands().map(({ where, words }) => [words.join(" "), where, words] as const))(
  "%s (%s) commits the record in progress on SIGTERM as process 1, and exits with 0",
  async (_, __, words) => {
    await sendOne();
    await drainMidway(start(words));
  },
);

test.each(["SIGTERM", "SIGINT"] as const)(
  "%s a second time ends process 1 at once",
  async (last) => {
    const run = await startMidway(RUN, { STUCK: "1" });
    run.signal("SIGTERM");
    await untilHolds(run, () => run.printed.err.includes("SIGTERM: waiting"));
    run.signal(last);
    expect((await run.ended).code).toBe(last === "SIGTERM" ? 143 : 130);
  },
);

test.each([
  ["infra", "pipeline.ts", "--out", "out"],
  ["contract", "show", "pipeline.ts"],
])("%s, which does not listen to signals, ends by them as process 1, too", async (...words) => {
  const hangs = 'console.log("loading"); await new Promise((end) => setTimeout(end, 600_000));';
  writeFileSync(join(folder, "pipeline.ts"), hangs);
  const run = start([COMMAND, ...words]);
  await untilHolds(run, () => run.printed.out.includes("loading"));
  signalProcessOne(run.child.pid ?? 0, "SIGTERM");
  expect((await run.ended).code).toBe(143);
  expect(run.printed.err).not.toContain("ended the process");
});

test("up stops on SIGTERM as process 1, and exits with 0", async () => {
  const run = start([COMMAND, "up", "--port", "0"]);
  await untilHolds(run, () => run.printed.out.includes("tidegate is ready"));
  signalProcessOne(run.child.pid ?? 0, "SIGTERM");
  expect(await run.ended, run.printed.err).toEqual({ code: 0, signal: null });
});

test("dev commits the record in progress on SIGTERM as process 1, and exits with 0", async () => {
  const source = PIPELINE.replace('{ queue: "files" }', '{ bucket: "files" }');
  writeFileSync(join(folder, "pipeline.ts"), source);
  mkdirSync(join(folder, "in"));
  writeFileSync(join(folder, "in", "a"), "a");
  const run = start([COMMAND, "dev", "pipeline.ts", "--port", "0", "--watch-folder", "in"]);
  await drainMidway(run);
});

test("dispatch waits for the task in progress on SIGTERM as process 1, and exits with 0", async () => {
  await sendOne();
  await drainMidway(start([COMMAND, "dispatch", "pipeline.ts", "--", "./download.sh"]));
});

test("a handler that ignores its signal is abandoned: its message is visible, the exit code is 3", async () => {
  const run = await startMidway([...RUN, "--drain-ms", "1"], { STUCK: "1" });
  run.signal("SIGTERM");
  expect(await run.ended).toEqual({ code: 3, signal: null });
  expect(run.printed.err).toMatch(
    /^the handler of \S+ ignored its signal and was abandoned after \d+ s; its message is back/m,
  );
  expect(await facts()).toMatchObject({ visible: 1, hidden: 0, delayed: 0 });
});

test("a dispatcher as process 1 leaves no zombie of the processes that it starts", async () => {
  go();
  await sendOne();
  const run = start([COMMAND, "dispatch", "pipeline.ts", "--", "true"]);
  await untilHolds(run, async () => {
    const { visible, hidden } = await facts();
    return visible + hidden === 0;
  });
  await untilHolds(run, () => zombiesBelow(run.child.pid ?? 0) === 0);
  signalProcessOne(run.child.pid ?? 0, "SIGTERM");
  expect((await run.ended).code).toBe(0);
});
