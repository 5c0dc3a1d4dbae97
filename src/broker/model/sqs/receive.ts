// Receive: hands messages out, or waits for some.
//   R1. A receive that finds nothing and may wait does so; it is answered by the first step that
//       makes something deliverable, or when its time is over.
//   R2. Nobody is served before those who wait already.

import { addMs } from "../../../core/units.ts";
import type { BrokerState } from "../broker-state.ts";
import type { ReceiveInput } from "../operations.ts";
import type { ModelStep } from "../step.ts";
import { serveWaiting } from "./answer-long-polls.ts";
import { invalidValue, missingQueue } from "./queue-faults.ts";
import { type Received, receiveNow, waitOf } from "./receive-now.ts";

/** The receive was put among the waiting; its answer comes from a later step (R1). */
export interface MustWait {
  readonly waiting: number;
}

export function receive(
  state: BrokerState,
  step: ModelStep,
  input: ReceiveInput,
): Received | MustWait {
  const queue = state.open(input.queue, step);
  if (queue === undefined) return missingQueue();
  if (input.attemptId !== null && !queue.fifo) {
    return invalidValue(
      input.attemptId,
      "ReceiveRequestAttemptId",
      "The request include parameter that is not valid for this queue type.",
    );
  }
  if (state.waiting.isTouched(queue)) serveWaiting(state, step, queue); // R2
  const answer = receiveNow(state, step, queue, input);
  if (!answer.ok || answer.value.deliveries.length > 0) return answer;
  const waitMs = waitOf(queue, input);
  if (waitMs <= 0) return answer;
  return { waiting: state.waiting.add(queue, input, addMs(step.now, waitMs)) };
}
