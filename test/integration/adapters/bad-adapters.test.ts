// Bad input of the adapters: commands, results, clusters and events. Every title is a row of
// docs/reference/bad-input.md.

import { openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { lambdaHandler } from "../../../src/adapters/lambda/open-lambda.ts";
import { isRunning } from "../../../src/adapters/task/process-id.ts";
import { pipeline } from "../../../src/ingest/spec/define-pipeline.ts";
import { endOf, untilHolds, useCommands } from "../../support/command-process.ts";
import { startFakeEcs } from "../../support/fake-ecs.ts";
import { patienceMs } from "../../support/patience.ts";
import { openTaskWorld, WRITE_ROW } from "../../support/task-world.ts";

const commands = useCommands("bad-adapters");
const isAlive = (pid: number) => isRunning({ pid, startedAt: null });

test("a command that does not exist: one sentence at the start, and no message is received", async () => {
  await using world = await openTaskWorld(commands);
  await world.send(1);
  const { code, err } = await endOf(world.run(["no-such-command"]));
  expect(code).toBe(2);
  expect(err).toMatch(/^the command "no-such-command" does not exist or is not executable$/m);
  const [delivery] = await world.queue.receive(
    { max: 1, waitMs: 0 as never, visibilityMs: 0 as never },
    new AbortController().signal,
  );
  expect(delivery?.receiveCount).toBe(1);
});

test("a command that forks and exits: its exit code counts, and what it left is killed", async () => {
  await using world = await openTaskWorld(commands);
  await world.send(1);
  const forks = `
    import { spawn } from "node:child_process";
    const child = spawn("sleep", ["600"], { stdio: "inherit" });
    child.unref();
    console.log("left", child.pid);
    process.exit(0);
  `;
  const { code, out, err } = await endOf(world.run(world.script("forks", forks)));
  expect([code, world.records()]).toEqual([0, [{ state: "committed", error_class: null }]]);
  expect(err).toContain("the command left processes behind; they were killed");
  const pid = Number(/left (\d+)/.exec(out)?.[1]);
  await expect.poll(() => isAlive(pid)).toBe(false);
});

const STUBBORN = `
  process.on("SIGTERM", () => console.log("ignored"));
  setInterval(() => {}, 1_000);
  console.log("running", process.pid);
`;

test("a command that ignores SIGTERM: killed after a grace period, and returned uncounted", async () => {
  await using world = await openTaskWorld(commands);
  await world.send(1);
  const run = world.run(world.script("stubborn", STUBBORN), {
    flags: ["--kill-ms", String(patienceMs(3_000))], // For the answer to SIGTERM.
  });
  await untilHolds(run, () => /running \d+/.test(run.printed.out));
  run.child.kill("SIGTERM");
  const { code, out } = await endOf(run);
  expect(out).toContain("ignored");
  expect(code).toBe(1);
  expect(world.records()).toEqual([{ state: "released", error_class: null }]);
  expect(isAlive(Number(/running (\d+)/.exec(out)?.[1]))).toBe(false);
  expect((await world.queue.facts()).visible).toBe(1);
});

test("a result with a line that is not an effect: dead-lettered immediately, and nothing is applied", async () => {
  await using world = await openTaskWorld(commands);
  await world.send(1);
  const lines = `${WRITE_ROW}
    appendFileSync(process.env.TIDEGATE_RESULT_FILE, '{"op":"insert"}\\n');
  `;
  await endOf(world.run(world.script("wrong", lines)));
  expect(world.records()).toEqual([{ state: "parked", error_class: "task-result" }]);
  expect(world.rows()).toEqual([]);
});

/** 64 MiB; TIDEGATE_TASK_LOG_MIB=1024 writes a gibibyte. */
const LOG_MIB = Number(process.env.TIDEGATE_TASK_LOG_MIB ?? 64);

test("a command that writes a gigabyte of logs: passed on, and memory stays bounded", async () => {
  await using world = await openTaskWorld(commands);
  await world.send(1);
  const measure = join(commands.folder, "measure.mjs");
  writeFileSync(
    measure,
    `process.on("exit", () => console.error("peak", process.resourceUsage().maxRSS));`,
  );
  const code = `
    const chunk = Buffer.alloc(2 ** 20, "0123456789abcde\\n");
    chunk.fill("x", 0, 2 ** 19); // Half of it is one long line.
    for (let at = 0; at < ${LOG_MIB}; at += 1) {
      if (!process.stdout.write(chunk)) await new Promise((go) => process.stdout.once("drain", go));
    }
  `;
  const words = world.script("logs", code);
  const run = commands.start(
    [
      "task",
      join(commands.folder, "pipeline.ts"),
      "--endpoint",
      world.cloud.endpoint,
      "--",
      ...words,
    ],
    { NODE_OPTIONS: `--import ${measure}` },
    { outTo: openSync("/dev/null", "w") },
  );
  const { code: exit, err } = await endOf(run);
  expect(exit).toBe(0);
  const peaks = [...err.matchAll(/peak (\d+)/g)].map(([, kib]) => Number(kib) / 1_024);
  expect(Math.max(...peaks)).toBeLessThan(350);
});

test("a RunTask that places no task: retried as a counted failure, unless capacity is missing", async () => {
  await using ecs = await startFakeEcs();
  await using world = await openTaskWorld(commands);
  ecs.failures.push({ reason: "MISSING" }, { reason: "MISSING" });
  await world.send(1);
  const at = ["--cluster", "jobs", "--task-definition", "download", "--container", "main"];
  const flags = ["--launcher", "ecs", ...at];
  const env = { AWS_ENDPOINT_URL_ECS: ecs.endpoint };
  const run = world.run([], { command: "dispatch", flags, env });
  await untilHolds(run, async () => (await world.deadLetters.facts()).visible === 1);
  run.child.kill("SIGTERM");
  await run.ended;
  expect(world.records()).toEqual([{ state: "parked", error_class: "task-not-started" }]);
  expect(run.printed.err).toContain("RunTask started no task: MISSING");
});

test("a Lambda event of an unknown source: one sentence, and the invocation fails", async () => {
  const spec = pipeline({ name: "any", source: { queue: "any" }, handler: () => {} });
  const handler = lambdaHandler(spec, { ledger: "memory:" });
  const context = { getRemainingTimeInMillis: () => 1_000 };
  await expect(handler({ Records: [{ eventSource: "aws:kinesis" }] }, context)).rejects.toThrow(
    'the event has records of the unknown source "aws:kinesis"; connect the function to an SQS ' +
      "queue, an S3 bucket or an SNS topic",
  );
});
