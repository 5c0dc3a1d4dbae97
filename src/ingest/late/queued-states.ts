// Queued states: which states of objects the events in a queue report, for an audit.

import { objectStateOf } from "../../core/events/object-identity.ts";
import type { Pipeline } from "../spec/define-pipeline.ts";
import { decodeDelivery } from "../stages/decode.ts";
import type { QueuedMessage, QueueLook } from "./complete-up-to.ts";

export interface QueuedStates {
  readonly messages: number;
  /** Whether an event that left the object in this state is queued. */
  readonly has: (key: string, state: string) => boolean;
}

/** Reads all queues that show their messages. */
export async function readQueuedStates(
  looks: readonly QueueLook[],
  pipeline: Pipeline,
): Promise<QueuedStates> {
  const states = new Set<string>();
  let messages = 0;
  for (const look of looks) {
    if (look.kind !== "exact") continue;
    for await (const message of look.messages()) {
      messages += 1;
      for (const state of statesOf(message, pipeline)) states.add(state);
    }
  }
  return { messages, has: (key, state) => states.has(nameOf(key, state)) };
}

function nameOf(key: string, state: string): string {
  return `${state} ${key}`;
}

function statesOf(message: QueuedMessage, pipeline: Pipeline): string[] {
  const delivery = { ...message, receipt: "", traceHeader: null, movedFrom: null };
  return decodeDelivery(pipeline, delivery).records.flatMap(({ content }) => {
    if (content.kind !== "object") return [];
    const state = objectStateOf(content.event);
    return state === null ? [] : [nameOf(content.event.key, state)];
  });
}
