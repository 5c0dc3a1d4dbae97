// Open tasks: a pipeline whose records are processed by tasks, with the launcher of those tasks.

import { systemClock } from "../../platform/system-clock.ts";
import type { TaskLauncher } from "../../ports/task-launcher.ts";
import type { Server } from "../../run/open/find-server.ts";
import type { Pipeline } from "../../run/open/load-pipeline.ts";
import { type AttachedOptions, createAttachedLauncher } from "./attached-launcher.ts";
import type { EcsSettings } from "./ecs-launcher.ts";
import { createProcessLauncher, type ProcessLauncherOptions } from "./process-launcher.ts";
import { checkProgram } from "./run-command.ts";
import { createTaskPipeline, type TaskPipeline } from "./task-handler.ts";

/** What runs a task: a process here, or Amazon ECS. */
export type TaskHost =
  | ({ readonly kind: "process" } & ProcessLauncherOptions)
  | { readonly kind: "ecs"; readonly server: Server; readonly settings: EcsSettings };

export { checkProgram };

/** One task at a time, a child of this process that stops with it. */
export function openAttachedTask(pipeline: Pipeline, options: AttachedOptions): TaskPipeline {
  const launcher = createAttachedLauncher(systemClock, options);
  const ports = { clock: systemClock, launcher };
  return createTaskPipeline(ports, withTotal(pipeline, 1), { whenStopping: "stop" });
}

/** Up to `total` tasks at a time, which outlive this process (H3 and H5 of task-handler.ts). */
export async function openTasks(
  pipeline: Pipeline,
  host: TaskHost,
  total: number,
): Promise<TaskPipeline> {
  const ports = { clock: systemClock, launcher: await openLauncher(host) };
  return createTaskPipeline(ports, withTotal(pipeline, total), { whenStopping: "leave" });
}

async function openLauncher(host: TaskHost): Promise<TaskLauncher> {
  if (host.kind === "process") return createProcessLauncher(systemClock, host);
  const { openEcsLauncher } = await import("./open-ecs.ts");
  return openEcsLauncher(host.server, host.settings);
}

function withTotal(pipeline: Pipeline, total: number): Pipeline {
  return { ...pipeline, concurrency: { ...pipeline.concurrency, total } };
}
