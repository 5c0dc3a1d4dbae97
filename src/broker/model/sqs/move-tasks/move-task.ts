// MoveTask: brings the messages of a dead-letter queue back, a few at a time.
//   T1. One task at a time for a source queue.
//   T2. Every message moves in one change, and the task's own count is committed with it: after a
//       crash the task goes on with the next message.
//   T3. A moved message is a new one: new id, new time, nothing received yet. On a FIFO queue its
//       new id is its deduplication id, so that the queue can not swallow it.
//   T4. A task ends when no message of its source can be moved, when it is cancelled, or when the
//       place to put a message can not be found.
//   T5. No second sees more messages than the rate, however long the broker was down or asleep:
//       what was moved is paid for in time before the next may go; unused time is lost.
//   T6. A task whose destination may be its own source moves as many as were there when it began,
//       on a FIFO queue each of them once: what it has moved itself is there again, and tells of no
//       source any more. On a standard queue a noisy tenant's messages may be passed over.
//   T7. A task is forgotten with its source queue: nobody could list or cancel it any more, and it
//       is none of a later queue's of that name.

import { present } from "../../../../core/assert.ts";
import type { MessageContent } from "../../../../core/broker-change.ts";
import { type EpochMs, epochMs } from "../../../../core/units.ts";
import type { BrokerState } from "../../broker-state.ts";
import type { ModelStep } from "../../step.ts";
import { formatDetail, parseDetail } from "../message-detail.ts";
import type { QueueState } from "../queue.ts";
import type { MoveTask } from "./move-tasks.ts";

/** How many messages one step moves at the most. */
const MOVED_PER_STEP_MAX = 100;
/** A fast task moves several at once: about so many steps a second, not one a message. */
const PACES_PER_SECOND = 20;

export function saveTask(state: BrokerState, step: ModelStep, task: MoveTask): void {
  state.moveTasks.put(task);
  const document = { collection: "move-task", key: task.id, value: JSON.stringify(task) };
  step.emit({ kind: "put-document", document });
}

/** Forgets a task: nobody can ask for it any more. */
export function forgetTask(state: BrokerState, step: ModelStep, task: MoveTask): void {
  state.moveTasks.delete(task);
  step.emit({ kind: "delete-document", collection: "move-task", key: task.id });
}

/** When the next running task may move something, or null when none runs. */
export function nextMoveAt(state: BrokerState): EpochMs | null {
  let earliest = Number.POSITIVE_INFINITY;
  for (const task of state.moveTasks.active()) earliest = Math.min(earliest, dueAt(task));
  return earliest === Number.POSITIVE_INFINITY ? null : epochMs(earliest);
}

/** When a task has something to do: a cancelled one at once, as it only has to end. */
function dueAt(task: MoveTask): number {
  return task.status === "CANCELLING" ? task.startedAt : task.nextAt;
}

/** How many messages one step of a task may move. */
function paceOf(task: MoveTask): number {
  if (task.perSecondMax === null) return MOVED_PER_STEP_MAX;
  return Math.ceil(task.perSecondMax / PACES_PER_SECOND);
}

/**
 * When the next step may come after one that moved `moved`. A second can hold the whole of a last
 * step that it has not paid for, so that the others share what this one leaves of the rate (T5).
 */
function nextPaceAt(task: MoveTask, moved: number, now: EpochMs): EpochMs {
  if (task.perSecondMax === null) return now;
  const shared = task.perSecondMax - paceOf(task) + 1;
  return epochMs(now + Math.ceil((moved * 1_000) / shared));
}

/** Lets every active task do its next piece of work. */
export function runMoveTasks(state: BrokerState, step: ModelStep): void {
  for (const task of state.moveTasks.active()) runTask(state, step, task);
}

function runTask(state: BrokerState, step: ModelStep, task: MoveTask): void {
  if (task.status === "CANCELLING") {
    saveTask(state, step, { ...task, status: "CANCELLED" });
    return;
  }
  const source = present(state.queueByArn(task.sourceArn), "the source of a move task"); // T7
  if (step.now < task.nextAt) return; // T5
  state.advance(source, step);
  const { moved, end } = moveSome(state, step, source, task, paceOf(task));
  const nextAt = nextPaceAt(task, moved, step.now);
  saveTask(state, step, { ...task, moved: task.moved + moved, nextAt, ...end }); // T2
}

type End = Pick<MoveTask, "status" | "failureReason">;
const COMPLETED: End = { status: "COMPLETED", failureReason: null };

function moveSome(
  state: BrokerState,
  step: ModelStep,
  source: QueueState,
  task: MoveTask,
  room: number,
): { moved: number; end: End | null } {
  const cursor = source.openReceive(step.now);
  const comesRound = isOwnTarget(source, task);
  let moved = 0;
  while (moved < room) {
    const slot = cursor.next();
    if (slot === 0) return { moved, end: COMPLETED }; // T4
    const seq = state.slab.seq.get(slot);
    if (comesRound && seq > task.order) {
      if (task.moved + moved < task.toMove && cursor.pass()) continue;
      return { moved, end: COMPLETED }; // T6
    }
    const content = step.read(seq);
    const target = destinationOf(state, task, content);
    if (typeof target === "string") {
      return { moved, end: { status: "FAILED", failureReason: target } };
    }
    moveBack(state, step, source, slot, target, content);
    moved += 1;
  }
  return { moved, end: null };
}

/** Whether what the task moves may come to where it was (T6). */
function isOwnTarget(source: QueueState, { sourceArn, destinationArn }: MoveTask): boolean {
  if (destinationArn !== null) return destinationArn === sourceArn;
  return source.settings.redrive?.targetArn === sourceArn; // It collects its own dead letters.
}

function destinationOf(
  state: BrokerState,
  task: MoveTask,
  content: MessageContent,
): QueueState | string {
  const arn = task.destinationArn ?? parseDetail(content.detail).sourceArn;
  if (arn === null) return "CouldNotDetermineMessageSource";
  return state.queueByArn(arn) ?? "AWS.SimpleQueueService.NonExistentQueue";
}

function moveBack(
  state: BrokerState,
  step: ModelStep,
  source: QueueState,
  slot: number,
  target: QueueState,
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
