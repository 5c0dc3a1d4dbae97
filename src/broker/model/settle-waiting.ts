// SettleWaiting: answers the long polls that can be answered now; runs at the end of every batch.
//   S1. A receive that waits may make dead letters, for which somebody may wait whose turn is over
//       already: the rounds end when nothing moves any more.

import type { BrokerState } from "./broker-state.ts";
import { done, type Outcome } from "./fault.ts";
import type { Delivery } from "./operations.ts";
import type { Queue } from "./queue.ts";
import { missingQueue } from "./queue-faults.ts";
import { attempt } from "./receive.ts";
import type { Step } from "./step.ts";

export type Answer = (id: number, outcome: Outcome<{ deliveries: Delivery[] }>) => void;

export function settleWaiting(state: BrokerState, step: Step, answer: Answer): void {
  if (state.waiting.size === 0) return;
  for (const queue of state.waiting.queues()) queue.unfinished = false;
  let before: number;
  do {
    before = state.sequence;
    for (const queue of state.waiting.queues()) {
      if (!queue.unfinished) settleQueue(state, step, queue, answer);
    }
  } while (state.sequence !== before); // S1
}

function settleQueue(state: BrokerState, step: Step, queue: Queue, answer: Answer): void {
  const gone = state.queues.get(queue.record.name) !== queue;
  if (!gone) state.advance(queue, step);
  // Once a look has found nothing, those who stand behind would find nothing either.
  let dry = queue.visible === 0;
  for (const receive of state.waiting.waitersOf(queue)) {
    let outcome: Outcome<{ deliveries: Delivery[] }> | null = null;
    if (gone) {
      outcome = missingQueue();
    } else if (!dry) {
      outcome = attempt(state, step, queue, receive.input);
      dry = outcome.ok && outcome.value.deliveries.length === 0;
    }
    const empty = outcome === null || (outcome.ok && outcome.value.deliveries.length === 0);
    if (empty && step.now < receive.deadline) continue;
    state.waiting.remove(receive.id);
    answer(receive.id, outcome ?? done({ deliveries: [] }));
  }
}
