// Answer long polls: answers the long polls that can be answered now; runs at the end of every
// batch.
//   S1. A long poll may move messages to a dead-letter queue, for which an earlier long poll may
//       wait. So the loop runs until nothing changes any more.
//   S2. A long poll is served before a receive that arrives later, even within one batch.
//   S3. While no messages may be delivered, the long polls wait; the next step looks again.

import { succeed } from "../../../core/result.ts";
import type { BrokerState } from "../broker-state.ts";
import type { ModelStep } from "../step.ts";
import type { QueueState } from "./queue.ts";
import { missingQueue } from "./queue-faults.ts";
import { receiveNow } from "./receive-now.ts";
import type { WaitAnswer } from "./waiting-receives.ts";

export type LongPollAnswer = (id: number, outcome: WaitAnswer["outcome"]) => void;

export function answerLongPolls(state: BrokerState, step: ModelStep, answer: LongPollAnswer): void {
  const { waiting } = state;
  waiting.wake(step.now);
  for (const queue of waiting.touched()) queue.unfinished = false;
  for (const queue of waiting.touched()) {
    if (!queue.unfinished) serveWaiting(state, step, queue);
    waiting.answered(queue); // S1: a message that is moved here marks the queue as changed again.
  }
  for (let late = waiting.overdue(step.now); late; late = waiting.overdue(step.now)) {
    waiting.answer(late.id, succeed({ deliveries: [] }));
  }
  for (const { id, outcome } of waiting.takeAnswers()) answer(id, outcome);
}

/** Answers the long polls of one queue, longest wait first (S2). */
export function serveWaiting(state: BrokerState, step: ModelStep, queue: QueueState): void {
  const { waiting } = state;
  if (state.queues.get(queue.record.name) !== queue) {
    for (const { id } of waiting.waitersOf(queue)) waiting.answer(id, missingQueue());
    return;
  }
  state.advance(queue, step);
  if (queue.visible === 0) return;
  for (const { id, input } of waiting.waitersOf(queue)) {
    if (!step.mayDeliver) {
      queue.unfinished = true; // S3
      return;
    }
    const outcome = receiveNow(state, step, queue, input);
    // Once one look finds nothing, the long polls behind it would find nothing either.
    if (outcome.ok && outcome.value.deliveries.length === 0) return;
    waiting.answer(id, outcome);
  }
}
