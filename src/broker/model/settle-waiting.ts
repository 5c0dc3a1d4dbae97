// SettleWaiting: answers the long polls that can be answered now; runs at the end of every step.
//   S1. A receive that waits can itself move a dead letter into a queue that others wait for, looked
//       at already or not; so the look is repeated until one has moved nothing.

import type { BrokerState } from "./broker-state.ts";
import { done, type Outcome } from "./fault.ts";
import type { Delivery } from "./operations.ts";
import type { Queue } from "./queue.ts";
import { missingQueue } from "./queue-faults.ts";
import { attempt } from "./receive.ts";
import type { Step } from "./step.ts";

export type Answer = (id: number, outcome: Outcome<{ deliveries: Delivery[] }>) => void;

/** Looks at all queues that somebody waits for, at most so often in one step (S1). */
const LOOKS_PER_STEP_MAX = 10;

/** Says whether there may be more to do at once. */
export function settleWaiting(state: BrokerState, step: Step, answer: Answer): boolean {
  for (let looks = 0; looks < LOOKS_PER_STEP_MAX; looks += 1) {
    if (state.waiting.size === 0) return false;
    const before = state.sequence;
    for (const queue of state.waiting.queues()) settleQueue(state, step, queue, answer);
    if (state.sequence === before) return false; // Every move takes a new number.
  }
  return true;
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
