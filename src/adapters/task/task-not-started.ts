// Task not started: the error of a launcher (K2 of ports/task-launcher.ts).

export class TaskNotStarted extends Error {
  override readonly name = "TaskNotStarted";
  /** Whether it may work later without a change, for example when there is capacity again. */
  readonly temporary: boolean;

  constructor(message: string, options: { readonly temporary: boolean; readonly cause?: unknown }) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.temporary = options.temporary;
  }
}
