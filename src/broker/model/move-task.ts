// MoveTask: brings the messages of a dead-letter queue back, a few at a time.
//   T1. One task at a time for a source queue.
//   T2. Every message moves in one change, and the task's own count is committed with it: after a
//       crash the task goes on with the next message.
//   T3. A moved message is a new one: new id, new time, nothing received yet. On a FIFO queue its
//       new id is its deduplication id, so that the queue can not swallow it.
//   T4. A task ends when no message of its source can be moved, when it is cancelled, or when the
//       place to put a message can not be found.

import type { MessageContent } from "../../core/broker-change.ts";
import { type EpochMs, epochMs } from "../../core/units.ts";
import type { BrokerState } from "./broker-state.ts";
import { formatDetail, parseDetail } from "./message-detail.ts";
import type { MoveTaskStatus } from "./operations.ts";
import type { Queue } from "./queue.ts";
import type { Step } from "./step.ts";

/** How many messages one step moves at the most. */
const MOVED_PER_STEP_MAX = 100;

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
  readonly failureReason: string | null;
}

export function saveTask(state: BrokerState, step: Step, task: MoveTask): void {
  state.moveTasks.set(task.id, task);
  const document = { collection: "move-task", key: task.id, value: JSON.stringify(task) };
  step.emit({ kind: "put-document", document });
}

export function isActive(task: MoveTask): boolean {
  return task.status === "RUNNING" || task.status === "CANCELLING";
}

/** When the next running task may move something, or null when none runs. */
export function nextMoveAt(state: BrokerState): EpochMs | null {
  let earliest = Number.POSITIVE_INFINITY;
  for (const task of state.moveTasks.values()) {
    if (isActive(task)) earliest = Math.min(earliest, dueAt(task));
  }
  return earliest === Number.POSITIVE_INFINITY ? null : epochMs(earliest);
}

/** When a task may move its next message; at once where no rate is set. */
function dueAt(task: MoveTask): number {
  if (task.perSecondMax === null || task.status === "CANCELLING") return task.startedAt;
  return task.startedAt + Math.ceil((task.moved * 1_000) / task.perSecondMax);
}

function allowance(task: MoveTask, now: EpochMs): number {
  if (task.perSecondMax === null) return MOVED_PER_STEP_MAX;
  // The first message may go at once; from then on one every 1/rate seconds.
  const earned = Math.floor(((now - task.startedAt) * task.perSecondMax) / 1_000) + 1;
  return Math.min(MOVED_PER_STEP_MAX, Math.max(0, earned - task.moved));
}

/** Lets every active task do its next piece of work. */
export function runMoveTasks(state: BrokerState, step: Step): void {
  for (const task of [...state.moveTasks.values()]) {
    if (isActive(task)) runTask(state, step, task);
  }
}

function runTask(state: BrokerState, step: Step, task: MoveTask): void {
  if (task.status === "CANCELLING") {
    saveTask(state, step, { ...task, status: "CANCELLED" });
    return;
  }
  const source = state.queueByArn(task.sourceArn);
  if (source === undefined) {
    const failureReason = "AWS.SimpleQueueService.NonExistentQueue";
    saveTask(state, step, { ...task, status: "FAILED", failureReason });
    return;
  }
  const room = allowance(task, step.now);
  if (room === 0) return;
  state.advance(source, step);
  const { moved, end } = moveSome(state, step, source, task, room);
  if (moved === 0 && end === null) return;
  saveTask(state, step, { ...task, moved: task.moved + moved, ...end }); // T2
}

type End = Pick<MoveTask, "status" | "failureReason">;
const COMPLETED: End = { status: "COMPLETED", failureReason: null };

function moveSome(
  state: BrokerState,
  step: Step,
  source: Queue,
  task: MoveTask,
  room: number,
): { moved: number; end: End | null } {
  const cursor = source.openReceive(step.now);
  for (let moved = 0; moved < room; moved += 1) {
    const slot = cursor.next();
    if (slot === 0) return { moved, end: COMPLETED }; // T4
    const content = step.read(state.slab.seq.get(slot));
    const target = destinationOf(state, task, content);
    // A task whose destination is its own source must not chase what it has moved itself.
    if (target === source && task.moved + moved >= task.toMove) return { moved, end: COMPLETED };
    if (typeof target === "string") {
      return { moved, end: { status: "FAILED", failureReason: target } };
    }
    moveBack(state, step, source, slot, target, content);
  }
  return { moved: room, end: null };
}

function destinationOf(
  state: BrokerState,
  task: MoveTask,
  content: MessageContent,
): Queue | string {
  const arn = task.destinationArn ?? parseDetail(content.detail).sourceArn;
  if (arn === null) return "CouldNotDetermineMessageSource";
  return state.queueByArn(arn) ?? "AWS.SimpleQueueService.NonExistentQueue";
}

function moveBack(
  state: BrokerState,
  step: Step,
  source: Queue,
  slot: number,
  target: Queue,
  content: MessageContent,
): void {
  const old = state.headOf(source, slot);
  const id = step.newId(); // T3
  const head = {
    seq: state.nextSeq(),
    queue: target.record.number,
    sentAt: step.now,
    dueAt: step.now,
    receivedAt: epochMs(0),
    firstReceivedAt: epochMs(0),
    receiveCount: 0,
    group: old.group,
    arrivalCount: 0,
  };
  source.remove(slot, step.now);
  target.insert(head, step.now);
  const dedupId = target.fifo ? id : null;
  const detail = formatDetail({ ...parseDetail(content.detail), dedupId, sourceArn: null });
  step.emit({ kind: "move-message", from: old.seq, head, id, detail });
}
