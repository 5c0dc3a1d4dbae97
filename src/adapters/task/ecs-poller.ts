// ECS poller: waits for tasks to stop.
//   Y1. One request describes up to DESCRIBE_MAX tasks, every `pollMs`. A request that fails is
//       repeated: the tasks run on.
//   Y2. A task that ECS does not know is reported as null: it stopped more than an hour ago.

import type { DescribeTasksCommandOutput, Task as EcsTask } from "@aws-sdk/client-ecs";
import type { DurationMs } from "../../core/units.ts";
import type { Clock } from "../../ports/clock.ts";

export interface EcsPoller {
  /** Rejects with the signal's reason when it aborts. */
  untilStopped(arn: string, signal: AbortSignal): Promise<EcsTask | null>;
  /** The task now; null if ECS does not know it. */
  look(arn: string): Promise<EcsTask | null>;
}

export interface EcsPollerOptions {
  readonly describe: (arns: string[]) => Promise<DescribeTasksCommandOutput>;
  readonly pollMs: DurationMs;
}

const DESCRIBE_MAX = 100;

export function createEcsPoller(clock: Clock, options: EcsPollerOptions): EcsPoller {
  const { describe, pollMs } = options;
  const waiting = new Map<string, Set<(task: EcsTask | null) => void>>();
  let polling = false;

  function settle(arn: string, task: EcsTask | null): void {
    for (const resolve of waiting.get(arn) ?? []) resolve(task);
    waiting.delete(arn);
  }

  async function lookAtAll(): Promise<void> {
    const arns = [...waiting.keys()];
    for (let from = 0; from < arns.length; from += DESCRIBE_MAX) {
      const { tasks = [], failures = [] } = await describe(arns.slice(from, from + DESCRIBE_MAX));
      for (const task of tasks) {
        if (task.lastStatus === "STOPPED") settle(task.taskArn ?? "", task);
      }
      for (const { arn = "", reason } of failures) if (reason === "MISSING") settle(arn, null); // Y2
    }
  }

  async function poll(): Promise<void> {
    polling = true;
    while (waiting.size > 0) {
      await lookAtAll().catch(() => undefined); // Y1
      if (waiting.size > 0) await clock.sleep(pollMs);
    }
    polling = false;
  }

  return {
    untilStopped(arn, signal) {
      return new Promise((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason);
        const all = waiting.get(arn) ?? new Set();
        waiting.set(arn, all);
        const done = (task: EcsTask | null) => {
          signal.removeEventListener("abort", abort);
          resolve(task);
        };
        const abort = () => {
          all.delete(done);
          if (all.size === 0) waiting.delete(arn);
          reject(signal.reason);
        };
        all.add(done);
        signal.addEventListener("abort", abort, { once: true });
        if (!polling) void poll();
      });
    },
    async look(arn) {
      const { tasks = [] } = await describe([arn]);
      return tasks[0] ?? null;
    },
  };
}
