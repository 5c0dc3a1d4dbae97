// MoveTask: moves the messages of a dead-letter queue back, a few at a time.
//   T1. A source queue has at most one active task.
//   T2. Every message moves in one change, and the task's count is committed with it: after a crash
//       the task continues with the next message.
//   T3. A moved message is a new one: new id, new time, receive count 0. On a FIFO queue its new id
//       is its deduplication id, so that the queue cannot drop it as a duplicate.
//   T4. A task ends when no message of its source can be moved, when it is cancelled, or when the
//       destination of a message does not exist.
//   T5. No second sees more messages than the rate, however long the broker was down or asleep:
//       each move delays the next one, and unused time is lost.
//   T6. A task whose destination may be its own source moves as many messages as were there when it
//       began; on a FIFO queue each of them once. Messages that it has moved are in the queue
//       again, without their source. On a standard queue a noisy tenant's messages may be skipped.
//   T7. A task is deleted with its source queue: it could no longer be listed or cancelled, and it
//       does not belong to a later queue of the same name.

import { present } from "../../../../core/assert.ts";
import { type EpochMs, epochMs } from "../../../../core/units.ts";
import type { MessageContent } from "../../../../ports/broker/broker-change.ts";
import type { BrokerState } from "../../broker-state.ts";
import type { ModelStep } from "../../step.ts";
import { formatDetail, parseDetail } from "../message-detail.ts";
import type { QueueState } from "../queue.ts";
import type { MoveTask } from "./move-tasks.ts";

/** The most messages that one step moves. */
const MOVED_PER_STEP_MAX = 100;
/** A fast task moves several messages per step: about this many steps a second. */
const PACES_PER_SECOND = 20;

export function saveTask(state: BrokerState, step: ModelStep, task: MoveTask): void {
  state.moveTasks.put(task);
  const document = { collection: "move-task", key: task.id, value: JSON.stringify(task) };
  step.emit({ kind: "put-document", document });
}

/** Deletes a task that can no longer be listed. */
export function forgetTask(state: BrokerState, step: ModelStep, task: MoveTask): void {
  state.moveTasks.delete(task);
  step.emit({ kind: "delete-document", collection: "move-task", key: task.id });
}

/** When the next active task may move something, or null. */
export function nextMoveAt(state: BrokerState): EpochMs | null {
  let earliest = Number.POSITIVE_INFINITY;
  for (const task of state.moveTasks.active()) earliest = Math.min(earliest, dueAt(task));
  return earliest === Number.POSITIVE_INFINITY ? null : epochMs(earliest);
}

/** When a task is due. A cancelled one is due immediately, because it only has to end. */
function dueAt(task: MoveTask): number {
  return task.status === "CANCELLING" ? task.startedAt : task.nextAt;
}

/** How many messages one step of a task may move. */
function paceOf(task: MoveTask): number {
  if (task.perSecondMax === null) return MOVED_PER_STEP_MAX;
  return Math.ceil(task.perSecondMax / PACES_PER_SECOND);
}

/**
 * When the next step may run after one that moved `moved`. A second may contain one whole step whose
 * delay falls into the next second, so the other steps share the rest of the rate (T5).
 */
function nextPaceAt(task: MoveTask, moved: number, now: EpochMs): EpochMs {
  if (task.perSecondMax === null) return now;
  const shared = task.perSecondMax - paceOf(task) + 1;
  return epochMs(now + Math.ceil((moved * 1_000) / shared));
}

/** Runs the next step of every active task that is due. */
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
  while (moved < room && !(moved > 0 && step.isFull)) {
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

/** Whether a moved message may end up in the task's own source (T6). */
function isOwnTarget(source: QueueState, { sourceArn, destinationArn }: MoveTask): boolean {
  if (destinationArn !== null) return destinationArn === sourceArn;
  return source.settings.redrive?.targetArn === sourceArn; // It is its own dead-letter queue.
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
