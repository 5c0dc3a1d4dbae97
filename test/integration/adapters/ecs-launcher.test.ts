// The ECS launcher with the real AWS SDK, against a server that plays ECS; and once as the whole
// command `tidegate dispatch --launcher ecs`.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import * as sdk from "@aws-sdk/client-ecs";
import { expect, test } from "vitest";
import { createEcsLauncher } from "../../../src/adapters/task/ecs-launcher.ts";
import { startCloud } from "../../../src/cloud/start-cloud.ts";
import { durationMs } from "../../../src/core/units.ts";
import { systemClock } from "../../../src/platform/system-clock.ts";
import { writeEndpointFile } from "../../../src/run/open/endpoint-file.ts";
import { lockFolder } from "../../../src/stores/sqlite/broker/folder-lock.ts";
import { untilHolds, useCommands } from "../../support/command-process.ts";
import { type FakeEcs, startFakeEcs } from "../../support/fake-ecs.ts";
import { LAPSE_MS } from "../../support/patience.ts";
import { openTaskWorld } from "../../support/task-world.ts";

const commands = useCommands("ecs");
const NAME = "tg-0123456789abcdef";
const NEVER = new AbortController().signal;

function launcherOf(ecs: FakeEcs) {
  const credentials = { accessKeyId: "any", secretAccessKey: "any" };
  const client = new sdk.ECSClient({ endpoint: ecs.endpoint, region: "us-east-1", credentials });
  return createEcsLauncher(
    sdk,
    { clock: systemClock, client, objects: null },
    {
      cluster: "jobs",
      taskDefinition: "download:7",
      container: "main",
      subnets: ["subnet-1"],
      securityGroups: [],
      assignPublicIp: false,
      words: ["./download.sh"],
      results: null,
      pollMs: durationMs(10),
    },
  );
}

const request = (fence: number, event = "{}") => {
  return { name: NAME, fence, event, variables: { TIDEGATE_KEY: "k" } };
};

test("a task is started once, with the event and the command as overrides", async () => {
  await using ecs = await startFakeEcs();
  const launcher = launcherOf(ecs);
  const task = await launcher.start(request(1));
  await launcher.start(request(1)); // As after a lost answer (E2).
  expect(ecs.tasks).toMatchObject([
    {
      startedBy: NAME,
      environment: { TIDEGATE_KEY: "k", TIDEGATE_EVENT: "{}" },
      command: ["./download.sh"],
    },
  ]);
  const [only] = ecs.tasks;
  if (only !== undefined) ecs.stop(only, 3);
  expect(await task.wait(NEVER)).toEqual({ kind: "exited", code: 3 });
});

test.each([
  [{ reason: "RESOURCE:MEMORY" }, true, "RunTask started no task: RESOURCE:MEMORY"],
  [{ reason: "Capacity is unavailable at this time." }, true, "Capacity is unavailable"],
  [{ reason: "MISSING" }, false, "RunTask started no task: MISSING"],
  [{ error: "ClientException" }, false, "RunTask failed: ClientException: no"],
  [{ error: "ThrottlingException" }, true, "RunTask failed: ThrottlingException"],
])("RunTask without a task, %j: temporary is %s (E1)", async (failure, temporary, message) => {
  await using ecs = await startFakeEcs();
  // The SDK itself repeats throttled requests.
  ecs.failures.push(...Array.from({ length: 5 }, () => failure));
  await expect(launcherOf(ecs).start(request(1))).rejects.toMatchObject({
    name: "TaskNotStarted",
    temporary,
    message: expect.stringContaining(message),
  });
});

test("an event that is too large for ECS is one sentence, and starts nothing (E4)", async () => {
  await using ecs = await startFakeEcs();
  await expect(launcherOf(ecs).start(request(1, "x".repeat(9_000)))).rejects.toThrow(
    /the event needs overrides of 9\d{3} characters, but ECS accepts 8192 characters/,
  );
  expect(ecs.calls).toEqual([]);
});

test("a running task is adopted, and only its newest owner stops it (E3)", async () => {
  await using ecs = await startFakeEcs();
  const first = await launcherOf(ecs).start(request(1));
  const adopted = await launcherOf(ecs).find(NAME, 2);
  await first.stop("the lease is lost");
  expect(ecs.calls).not.toContain("StopTask");
  await adopted?.stop("the lease is lost");
  expect(ecs.tasks).toMatchObject([{ lastStatus: "STOPPED", stoppedReason: "the lease is lost" }]);
});

test("a task that ended is adopted until its end was handled (E5)", async () => {
  await using ecs = await startFakeEcs();
  await launcherOf(ecs).start(request(1));
  const [task] = ecs.tasks;
  if (task !== undefined) ecs.stop(task, 1);
  const ended = await launcherOf(ecs).find(NAME, 2);
  expect(await ended?.wait(NEVER)).toEqual({ kind: "exited", code: 1 });
  await ended?.forget();
  expect(await launcherOf(ecs).find(NAME, 3)).toBeNull();
});

test("a task that never ran has vanished, with the reason of ECS", async () => {
  await using ecs = await startFakeEcs();
  const task = await launcherOf(ecs).start(request(1));
  const [only] = ecs.tasks;
  if (only !== undefined) ecs.stop(only, null, "CannotPullContainerError");
  const reason = "CannotPullContainerError";
  expect(await task.wait(NEVER)).toEqual({ kind: "vanished", reason });
});

test("a dispatcher waits for capacity, survives a kill, and commits the result in S3", async () => {
  await using ecs = await startFakeEcs();
  await using world = await openTaskWorld(commands, { visibilityMs: LAPSE_MS });
  const { endpoint } = world.cloud;
  await fetch(`${endpoint}/results`, { method: "PUT" });
  ecs.failures.push({ reason: "RESOURCE:CPU" });
  await world.send(7);
  const cluster = ["--cluster", "jobs", "--task-definition", "download", "--container", "main"];
  const flags = ["--launcher", "ecs", ...cluster, "--results", "s3://results/downloads"];
  const env = { AWS_ENDPOINT_URL_ECS: ecs.endpoint };
  const first = world.run([], { command: "dispatch", flags, env });
  await untilHolds(first, () => ecs.tasks.length === 1);
  expect(first.printed.err).toContain("task waits for capacity: RunTask started no task");
  first.child.kill("SIGKILL");
  await first.ended;

  const [task] = ecs.tasks;
  const url = task?.environment.TIDEGATE_RESULT_URL ?? "";
  const body = `{"op":"upsert","table":"numbers","row":{"n":7,"by":"ecs"}}\n`;
  await fetch(url.replace("s3://", `${endpoint}/`), { method: "PUT", body });
  const next = world.run([], { command: "dispatch", flags, env });
  await untilHolds(next, () => next.printed.err.includes("task runs"));
  if (task !== undefined) ecs.stop(task, 0);
  await untilHolds(next, () => world.rows().length === 1);
  next.child.kill("SIGTERM");
  await next.ended;
  expect(world.rows()).toEqual([{ n: 7, by: "ecs" }]);
  expect(ecs.tasks).toHaveLength(1);
  expect(ecs.calls).not.toContain("StopTask");
});

test("results are read from AWS, although the queue is in the cloud of the data folder", async () => {
  await using ecs = await startFakeEcs();
  await using world = await openTaskWorld(commands);
  await using aws = await startCloud({ memory: true });
  const lock = lockFolder(join(commands.folder, ".tidegate"));
  writeEndpointFile(join(commands.folder, ".tidegate"), world.cloud.endpoint);
  const config = join(commands.folder, "aws.ini");
  writeFileSync(config, `[default]\nendpoint_url = ${aws.endpoint}\nregion = us-east-1\n`);
  const keys = { AWS_ACCESS_KEY_ID: "any", AWS_SECRET_ACCESS_KEY: "any" };
  const env = { AWS_ENDPOINT_URL_ECS: ecs.endpoint, AWS_CONFIG_FILE: config, ...keys };
  await world.send(7);
  const cluster = ["--cluster", "jobs", "--task-definition", "download", "--container", "main"];
  const flags = ["--launcher", "ecs", ...cluster, "--results", "s3://results/downloads"];
  const run = commands.start(["dispatch", join(commands.folder, "pipeline.ts"), ...flags], env);
  await untilHolds(run, () => ecs.tasks.length === 1);
  const [task] = ecs.tasks;
  const path = (task?.environment.TIDEGATE_RESULT_URL ?? "").replace("s3://", "/");
  for (const [by, { endpoint }] of Object.entries({ aws, folder: world.cloud })) {
    await fetch(`${endpoint}/results`, { method: "PUT" });
    const body = `{"op":"upsert","table":"numbers","row":{"n":7,"by":"${by}"}}\n`;
    await fetch(`${endpoint}${path}`, { method: "PUT", body });
  }
  if (task !== undefined) ecs.stop(task, 0);
  await untilHolds(run, () => world.rows().length === 1);
  run.child.kill("SIGTERM");
  await run.ended;
  lock.release();
  expect(world.rows()).toEqual([{ n: 7, by: "aws" }]);
});

test("a dispatcher that was frozen past its lease stops its task", async () => {
  await using ecs = await startFakeEcs();
  await using world = await openTaskWorld(commands, { visibilityMs: LAPSE_MS });
  await world.send(1);
  const cluster = ["--cluster", "jobs", "--task-definition", "download", "--container", "main"];
  const env = { AWS_ENDPOINT_URL_ECS: ecs.endpoint };
  const flags = ["--launcher", "ecs", ...cluster, "--drain-ms", "0"];
  const run = world.run([], { command: "dispatch", flags, env });
  await untilHolds(run, () => run.printed.err.includes("task runs"));
  run.child.kill("SIGSTOP");
  await untilHolds(run, async () => (await world.queue.facts()).visible === 1);
  run.child.kill("SIGCONT");
  await untilHolds(run, () => ecs.calls.includes("StopTask"));
  expect(ecs.tasks[0]).toMatchObject({ lastStatus: "STOPPED", stoppedReason: "the lease is lost" });
  run.child.kill("SIGTERM");
  await run.ended;
});
