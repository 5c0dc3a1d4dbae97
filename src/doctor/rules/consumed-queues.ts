// Consumed queues: every queue that is not only a dead-letter queue, with its dead-letter queue and
// the pipeline that reads it.

import type { ObservedPipeline, ObservedQueue, RedriveTarget, Setup } from "../setup.ts";

export interface ConsumedQueue {
  readonly queue: ObservedQueue;
  /** Null if the queue has no dead-letter queue, or its settings cannot be read. */
  readonly deadLetters: ObservedQueue | null;
  /** Null if another program reads the queue. */
  readonly pipeline: ObservedPipeline | null;
}

export function consumedQueues(setup: Setup): readonly ConsumedQueue[] {
  const { queues, pipeline } = setup;
  const targets = new Set(queues.flatMap(({ redrive, arn }) => targetOf(redrive, arn)));
  const sources = queues.filter(({ arn, redriveAllow }) => {
    return !targets.has(arn) && redriveAllow?.permission !== "byQueue";
  });
  const { queueName = null } = pipeline ?? {};
  const consumed = sources.length === 0 ? inLoop(queues, queueName) : sources;
  const own = consumed.filter(({ name }) => name === queueName);
  const read = own.length > 0 ? own : consumed.length === 1 ? consumed : [];
  return consumed.map((queue) => ({
    queue,
    deadLetters: queues.find(({ arn }) => arn === queue.redrive?.deadLetterArn) ?? null,
    pipeline: read.includes(queue) ? pipeline : null,
  }));
}

/** Queues that are dead-letter queues of each other: the one that is meant, or the first. */
function inLoop(queues: readonly ObservedQueue[], name: string | null): readonly ObservedQueue[] {
  const own = queues.filter((queue) => queue.name === name);
  return own.length > 0 ? own : queues.slice(0, 1);
}

/** The dead-letter queues of the setup. */
export function deadLetterQueues(setup: Setup): readonly ObservedQueue[] {
  const { queues } = setup;
  const targets = new Set(queues.flatMap(({ redrive, arn }) => targetOf(redrive, arn)));
  return queues.filter(({ arn }) => targets.has(arn));
}

/** A queue that is its own dead-letter queue stays a consumed queue. */
function targetOf(redrive: RedriveTarget | null | undefined, arn: string): readonly string[] {
  const target = redrive?.deadLetterArn;
  return target === undefined || target === arn ? [] : [target];
}
