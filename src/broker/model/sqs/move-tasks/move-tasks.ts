// MoveTasks: all stored move tasks, by id and by source queue.
//   M1. Active tasks are kept apart, so that a batch does not pay for all that have ended.

import { present } from "../../../../core/assert.ts";
import type { EpochMs } from "../../../../core/units.ts";
import type { MoveTaskStatus } from "../../operations.ts";

export interface MoveTask {
  readonly id: string;
  /** Grows from task to task; several may start in the same millisecond. */
  readonly order: number;
  readonly sourceArn: string;
  readonly destinationArn: string | null;
  readonly perSecondMax: number | null;
  readonly startedAt: EpochMs;
  readonly toMove: number;
  readonly status: MoveTaskStatus;
  readonly moved: number;
  /** The task moves nothing before this instant (T5). */
  readonly nextAt: EpochMs;
  readonly failureReason: string | null;
}

export function isActive(task: MoveTask): boolean {
  return task.status === "RUNNING" || task.status === "CANCELLING";
}

export class MoveTasks {
  readonly #byId = new Map<string, MoveTask>();
  /** Ids of each source's tasks, oldest first. */
  readonly #bySource = new Map<string, Set<string>>();
  readonly #active = new Set<string>();

  get size(): number {
    return this.#byId.size;
  }

  get(id: string): MoveTask | undefined {
    return this.#byId.get(id);
  }

  /** Adds a task, or replaces it by its new state. */
  put(task: MoveTask): void {
    this.#byId.set(task.id, task);
    const ids = this.#bySource.get(task.sourceArn) ?? new Set();
    this.#bySource.set(task.sourceArn, ids.add(task.id));
    if (isActive(task))
      this.#active.add(task.id); // M1
    else this.#active.delete(task.id);
  }

  delete(task: MoveTask): void {
    this.#byId.delete(task.id);
    this.#active.delete(task.id);
    const ids = this.#bySource.get(task.sourceArn);
    ids?.delete(task.id);
    if (ids?.size === 0) this.#bySource.delete(task.sourceArn);
  }

  /** The tasks of a source queue, newest first. */
  ofSource(sourceArn: string): MoveTask[] {
    return [...(this.#bySource.get(sourceArn) ?? [])].reverse().map((id) => this.#require(id));
  }

  /** Active tasks, oldest first (M1). */
  active(): MoveTask[] {
    return [...this.#active].map((id) => this.#require(id));
  }

  #require(id: string): MoveTask {
    return present(this.#byId.get(id), `move task ${id}`);
  }
}
