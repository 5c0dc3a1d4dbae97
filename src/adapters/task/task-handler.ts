// Task handler: processes a record by a task, and turns the end of the task into an outcome.
//   H1. Exit code 0 commits, with the effects of the result. 75 (EX_TEMPFAIL) is a failure of class
//       "temporary", any other code N one of class "exit-N". Failures are counted and retried.
//   H2. A lost lease or a deadline stops the task, and nothing of it is committed.
//   H3. A task that runs already, or has ended, is adopted: a record never has two tasks at a time.
//   H4. A task that cannot be placed now is not a failure: the record waits for capacity, within
//       the pipeline's timeout.
//   H5. When the process stops, tasks are stopped or left running, as `whenStopping` says. Either
//       way the attempt does not count.

import { sha256Hex } from "../../core/encoding/hash.ts";
import { type DurationMs, durationMs, minutes, seconds } from "../../core/units.ts";
import { LeaseLost, Stopping } from "../../ingest/running/in-flight-delivery.ts";
import type { HandlerEvent, Pipeline } from "../../ingest/spec/define-pipeline.ts";
import type { HandlerContext } from "../../ingest/spec/pipeline-spec.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Task, TaskEnd, TaskLauncher, TaskRequest } from "../../ports/task-launcher.ts";
import { describeEvent, variablesOf } from "./task-event.ts";
import { TaskNotStarted } from "./task-not-started.ts";
import { applyResult } from "./task-result.ts";

/** The task ended without having done its work. */
export class TaskFailed extends Error {
  override readonly name = "TaskFailed";
  readonly errorClass: string;

  constructor(message: string, errorClass: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.errorClass = errorClass;
  }
}

export interface TaskPorts {
  readonly clock: Clock;
  readonly launcher: TaskLauncher;
}

export interface TaskOptions {
  /** What happens to running tasks when this process stops (H5). */
  readonly whenStopping: "stop" | "leave";
}

export interface TaskPipeline {
  readonly pipeline: Pipeline;
  /** Stops all tasks of this process and lets their attempts end uncounted. */
  stopAll(): void;
  /** Resolves when no task is being started, awaited or stopped. */
  idle(): Promise<void>;
}

const EXIT_TEMPORARY = 75;
const WAIT_MS_MIN: DurationMs = seconds(1);
const WAIT_MS_MAX: DurationMs = minutes(1);
const NAME_PREFIX = "tg-";
const NAME_CHARS_MAX = 36;

/** The same pipeline, whose records are processed by tasks. */
export function createTaskPipeline(
  ports: TaskPorts,
  pipeline: Pipeline,
  options: TaskOptions,
): TaskPipeline {
  const { launcher } = ports;
  const stopping = new AbortController();
  const active = new Set<Promise<void>>();

  async function handle(event: HandlerEvent, context: HandlerContext): Promise<void> {
    const request = requestOf(pipeline, event, context);
    const { signal } = context;
    const task =
      (await launcher.find(request.name, request.fence)) ?? // H3
      (await startWhenPossible(ports, request, context));
    context.log("info", "task runs", { task: task.id });
    const stop = () => void track(task.stop("the process stops"));
    stopping.signal.addEventListener("abort", stop, { once: true });
    try {
      const end = await waitFor(task, signal, options);
      const failure = failureOf(end);
      if (failure === null) await applyResult(task.result(), context, pipeline.sink !== null);
      await task.forget();
      if (failure !== null) throw stopping.signal.aborted ? new Stopping("stopped") : failure; // H5
    } finally {
      stopping.signal.removeEventListener("abort", stop);
    }
  }

  function track(work: Promise<void>): Promise<void> {
    const ended = work.then(
      () => void active.delete(ended),
      () => void active.delete(ended),
    );
    active.add(ended);
    return work;
  }

  return {
    pipeline: {
      ...pipeline,
      lease: "ledger", // A task needs the fence of a claim (K3).
      handler: (event, context) => track(handle(event, context)),
      retry: {
        ...pipeline.retry,
        classify(error) {
          const own = pipeline.retry.classify?.(error);
          if (own !== undefined) return own;
          if (!(error instanceof TaskFailed)) return undefined;
          return { errorClass: error.errorClass, retry: "backoff" };
        },
      },
    },
    stopAll: () => stopping.abort(),
    async idle() {
      while (active.size > 0) await Promise.all(active);
    },
  };
}

async function startWhenPossible(
  { clock, launcher }: TaskPorts,
  request: TaskRequest,
  { signal, log }: HandlerContext,
): Promise<Task> {
  for (let waitMs: number = WAIT_MS_MIN; ; waitMs = Math.min(2 * waitMs, WAIT_MS_MAX)) {
    signal.throwIfAborted();
    try {
      return await launcher.start(request);
    } catch (error) {
      if (!(error instanceof TaskNotStarted)) throw error;
      if (!error.temporary) throw new TaskFailed(error.message, "task-not-started", error);
      log("warn", `task waits for capacity: ${error.message}`, { wait_ms: waitMs }); // H4
    }
    await clock.sleep(durationMs(waitMs), signal);
  }
}

/** Waits for the end of a task; stops it if the attempt is over (H2, H5). */
async function waitFor(
  task: Task,
  signal: AbortSignal,
  { whenStopping }: TaskOptions,
): Promise<TaskEnd> {
  try {
    return await task.wait(signal);
  } catch (error) {
    const reason: unknown = signal.aborted ? signal.reason : error;
    if (reason instanceof Stopping && whenStopping === "leave") throw reason;
    await task.stop(reason instanceof LeaseLost ? "the lease is lost" : textOf(reason));
    await task.forget();
    throw reason;
  }
}

function textOf(reason: unknown): string {
  return reason instanceof Error ? reason.message : String(reason);
}

/** H1 */
function failureOf(end: TaskEnd): TaskFailed | null {
  switch (end.kind) {
    case "exited":
      if (end.code === 0) return null;
      if (end.code === EXIT_TEMPORARY) {
        return new TaskFailed("the task asked for a retry with exit code 75", "temporary");
      }
      return new TaskFailed(`the task ended with exit code ${end.code}`, `exit-${end.code}`);
    case "killed":
      return new TaskFailed(`the task was killed by ${end.signal}`, end.signal.toLowerCase());
    case "vanished":
      return new TaskFailed(`the task is gone: ${end.reason}`, "task-vanished");
  }
}

function requestOf(
  { name, generation }: Pipeline,
  event: HandlerEvent,
  context: HandlerContext,
): TaskRequest {
  const { key, attempt, lane, watermark } = context;
  const fence = context.fence ?? 0;
  const digest = sha256Hex(JSON.stringify([name, generation, key]));
  const about = { pipeline: name, key, attempt, fence, lane, watermark };
  return {
    name: `${NAME_PREFIX}${digest}`.slice(0, NAME_CHARS_MAX),
    fence,
    event: JSON.stringify({ ...about, ...describeEvent(event) }),
    variables: variablesOf(event, about),
  };
}
