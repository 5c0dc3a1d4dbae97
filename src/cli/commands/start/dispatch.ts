// tidegate dispatch: receives messages and starts one task per message.
//   D1. A message is received only if a task may start for it: the number of tasks is the limit.
//   D2. When the dispatcher stops, its tasks run on. The next dispatcher adopts them.
//   D3. Tasks on ECS write their results to AWS, or to the server that the endpoint names: they
//       cannot reach the embedded cloud of a folder on this machine (F3 of find-server.ts).

import { join } from "node:path";
import type { TaskHost } from "../../../adapters/task/open-tasks.ts";
import { refuseConfig } from "../../../core/errors.ts";
import { durationMs } from "../../../core/units.ts";
import { openExport } from "../../../run/open/open-export.ts";
import {
  command,
  EXIT_OK,
  type Flags,
  type FlagValues,
  oneOf,
  text,
  toggle,
  wholeNumber,
} from "../../command.ts";
import { settingsFrom } from "../../flags/setting-flags.ts";
import { runUntilStopped } from "../../run-until-stopped.ts";
import { describeFailure } from "../../screen/output.ts";
import { createReporter } from "../../screen/pipeline-reporter.ts";
import { stopSignal } from "../../stop-signals.ts";
import { PIPELINE_FILE } from "./run.ts";
import { TASK_REST, taskFlags } from "./task.ts";

const TASKS_MAX = 1_000;

const flags: Flags = {
  ...taskFlags,
  launcher: oneOf(
    ["process", "ecs"],
    "process",
    "What runs a task: a process here, or Amazon ECS.",
  ),
  concurrency: wholeNumber(
    "NUMBER",
    { min: 1, max: TASKS_MAX },
    null,
    "Tasks at the same time (default: from the pipeline file).",
  ),
  cluster: text("NAME", null, "ECS: name or ARN of the cluster."),
  "task-definition": text("NAME", null, "ECS: family, family:revision or ARN."),
  container: text("NAME", null, "ECS: container that gets the event; its exit code counts."),
  "launch-type": oneOf(["FARGATE", "EC2", "EXTERNAL"], null, "ECS: launch type."),
  subnets: text("ID[,ID]", null, "ECS: subnets of the task."),
  "security-groups": text("ID[,ID]", null, "ECS: security groups of the task."),
  "assign-public-ip": toggle("ECS: give the task a public address."),
  results: text("URL", null, "ECS: s3://bucket/prefix below which tasks write their results."),
};

export const dispatch = command({
  name: "dispatch",
  summary: "Receive messages and start one task per message.",
  argument: PIPELINE_FILE,
  rest: { ...TASK_REST, optional: true },
  flags,
  async run({ argument: file = "", flags: values, rest, out }) {
    const stopped = stopSignal();
    const { loadPipeline } = await import("../../../run/open/load-pipeline.ts");
    const pipeline = await loadPipeline(file);
    const { openTasks } = await import("../../../adapters/task/open-tasks.ts");
    const { startOnAws } = await import("../../../run/start-pipeline.ts");
    const reporter = createReporter(out, "plain");
    const onError = (error: unknown) => reporter.event("trouble", describeFailure(error));
    const total = Number(values.concurrency ?? pipeline.concurrency.total);
    const tasks = await openTasks(pipeline, await hostOf(values, rest), total); // D2
    const settings = settingsFrom("run", values);
    const host = { prefetch: "none" } as const; // D1
    const otlp = await openExport((text) => reporter.event("finding", text));
    const running = await startOnAws(tasks.pipeline, settings, { onError, otlp }, host);
    try {
      const { name, queueName: queue, metricsOrigin: metrics, findings } = running;
      const text = `tidegate starts tasks of ${name} for the queue ${queue} (metrics at ${metrics}/metrics)`;
      reporter.ready(text, { pipeline: name, queue, metrics, pid: process.pid });
      for (const finding of findings) reporter.event("finding", finding);
      reporter.watch(running, queue);
      await runUntilStopped(running, reporter, stopped, running.settings.drainMs);
    } finally {
      await running.stop();
      await otlp?.close();
      await tasks.idle();
      reporter.close();
    }
    return EXIT_OK;
  },
});

async function hostOf(values: FlagValues<Flags>, words: readonly string[]): Promise<TaskHost> {
  const killMs = durationMs(Number(values["kill-ms"]));
  if (values.launcher === "ecs") return ecsOf(values, words);
  const { checkProgram } = await import("../../../adapters/task/open-tasks.ts");
  if (words[0] === undefined) refuseConfig("--launcher process needs -- and CMD after the flags");
  checkProgram(words[0]);
  return { kind: "process", folder: join(String(values.data), "tasks"), words, killMs };
}

async function ecsOf(values: FlagValues<Flags>, words: readonly string[]): Promise<TaskHost> {
  const needed = (flag: string) => values[flag] ?? refuseConfig(`--launcher ecs needs --${flag}`);
  const settings = {
    cluster: needed("cluster"),
    taskDefinition: needed("task-definition"),
    container: needed("container"),
    launchType: values["launch-type"],
    subnets: listOf(values.subnets),
    securityGroups: listOf(values["security-groups"]),
    assignPublicIp: values["assign-public-ip"] === true,
    results: values.results ?? null,
    words,
  };
  if (settings.results !== null && !/^s3:\/\/[^/]+\/./.test(settings.results)) {
    refuseConfig(`--results is "${settings.results}"; use s3://bucket/prefix`);
  }
  const { findServer } = await import("../../../run/open/find-server.ts");
  const server = await findServer({ ...settingsFrom("run", values), data: null }); // D3
  return { kind: "ecs", server, settings };
}

function listOf(text: string | undefined): string[] {
  return text === undefined ? [] : text.split(",").filter((item) => item !== "");
}
