// Receive: delivers messages, or waits for some.
//   R1. A receive that finds nothing and may wait becomes a long poll. It is answered by the first
//       step that makes a message deliverable, or when its time is over.
//   R2. Earlier long polls are served first.

import { succeed } from "../../../core/result.ts";
import { addMs } from "../../../core/units.ts";
import type { BrokerState } from "../broker-state.ts";
import type { ReceiveInput } from "../operations.ts";
import type { ModelStep } from "../step.ts";
import { serveWaiting } from "./answer-long-polls.ts";
import { invalidValue, missingQueue } from "./queue-faults.ts";
import { type Received, receiveNow, waitOf } from "./receive-now.ts";

/** The receive became a long poll; a later step answers it (R1). */
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
  const answer = step.mayDeliver
    ? receiveNow(state, step, queue, input)
    : succeed({ deliveries: [] }); // Earlier long polls have filled the step.
  if (!answer.ok || answer.value.deliveries.length > 0) return answer;
  const waitMs = waitOf(queue, input);
  if (waitMs <= 0) return answer;
  return { waiting: state.waiting.add(queue, input, addMs(step.now, waitMs)) };
}
