// TaskLauncher: starts one task per record, as a process or in a cluster.
//   K1. A task is named after its record. `find` returns the newest task of that name, running or
//       ended: a task outlives the process that started it, and another process may have.
//   K2. `start` fails with TaskNotStarted (adapters/task/task-not-started.ts). It may have been
//       carried out if the answer was lost; the launcher recognises its own request by name and
//       fence.
//   K3. A task belongs to the highest fence that started or found it. `stop` under a lower fence
//       does nothing: another attempt has adopted the task.

export interface TaskRequest {
  /** Letters, digits and hyphens, at most 36. */
  readonly name: string;
  readonly fence: number;
  /** The event, as JSON text. */
  readonly event: string;
  /** Environment variables for the task. */
  readonly variables: Readonly<Record<string, string>>;
}

/** How a task ended. */
export type TaskEnd =
  | { readonly kind: "exited"; readonly code: number }
  | { readonly kind: "killed"; readonly signal: string }
  /** It is gone, and its exit code is not known. */
  | { readonly kind: "vanished"; readonly reason: string };

export interface Task {
  /** For logs: a process id, or an ARN. */
  readonly id: string;
  /** Resolves when the task has ended; rejects with the signal's reason when it aborts. */
  wait(signal: AbortSignal): Promise<TaskEnd>;
  /** Asks the task to end, then ends it (K3). Resolves when it has ended, or is not ours. */
  stop(reason: string): Promise<void>;
  /** The lines of the result that the task wrote; none if it wrote no result. */
  result(): AsyncIterable<string>;
  /** Removes what was stored about an ended task (K3): the next `find` does not return it. */
  forget(): Promise<void>;
}

export interface TaskLauncher {
  /** The task of that name, which now belongs to `fence` (K1, K3); null if there is none. */
  find(name: string, fence: number): Promise<Task | null>;
  start(request: TaskRequest): Promise<Task>;
}
