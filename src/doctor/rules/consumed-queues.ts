// Consumed queues: every queue that is not only a dead-letter queue, with its dead-letter queue and
// the pipeline that reads it.
//   U1. A queue that gets the failures of a schedule, a rule, a function or a subscription is a
//       dead-letter queue, too. So is one whose name says so: its source may be defined elsewhere.
//   U2. A queue beside one whose dead-letter queue is not known may be just that.

import type { ObservedPipeline, ObservedQueue, RedriveTarget, Setup } from "../setup.ts";

export interface ConsumedQueue {
  readonly queue: ObservedQueue;
  /** Null if the queue has no dead-letter queue, or its settings cannot be read. */
  readonly deadLetters: ObservedQueue | null;
  /** Null if another program reads the queue. */
  readonly pipeline: ObservedPipeline | null;
  /** Whether Lambda or a pipe receives its messages, or may. */
  readonly polledByAws: boolean;
}

export function consumedQueues(setup: Setup): readonly ConsumedQueue[] {
  const { queues, pipeline } = setup;
  const targets = new Set(queues.flatMap(({ redrive, arn }) => targetOf(redrive, arn)));
  const failures = new Set([
    ...setup.failureArns,
    ...setup.subscriptions.map(({ deadLetterArn }) => deadLetterArn),
  ]);
  const { queueName = null } = pipeline ?? {};
  const sources = queues.filter((queue) => {
    const { arn, name, redrive, redriveAllow } = queue;
    if (targets.has(arn) || redriveAllow?.permission === "byQueue") return false;
    if (name === queueName || (redrive !== null && redrive !== undefined)) return true;
    if (redrive === null && queues.some((other) => isUnclear(other, queue))) return false; // U2
    return !failures.has(arn) && !isDeadLetterName(name); // U1
  });
  const loops = queues.some(({ arn }) => targets.has(arn));
  const consumed = sources.length === 0 && loops ? inLoop(queues, queueName) : sources;
  const own = consumed.filter(({ name }) => name === queueName);
  const read = own.length > 0 ? own : consumed.length === 1 ? consumed : [];
  const pollers = new Set([
    ...setup.mappings.map(({ queueArn }) => queueArn),
    ...setup.pipes.map(({ sourceArn }) => sourceArn),
  ]);
  return consumed.map((queue) => ({
    queue,
    deadLetters: queues.find(({ arn }) => arn === queue.redrive?.deadLetterArn) ?? null,
    pipeline: read.includes(queue) ? pipeline : null,
    polledByAws: pollers.has(queue.arn) || pollers.has(""),
  }));
}

const DEAD_LETTER_NAME =
  /dlq|dead.?letter|(^|[-_.])(dead|dl|failed|failures?|poison|undelivered)([-_.]|$)/i;

/** Whether the name of a queue says that it gets dead letters. */
export function isDeadLetterName(name: string): boolean {
  return DEAD_LETTER_NAME.test(name.replaceAll(/([a-z0-9])([A-Z])/g, "$1-$2"));
}

/** Queues that are dead-letter queues of each other: the one that is meant, or the first. */
function inLoop(queues: readonly ObservedQueue[], name: string | null): readonly ObservedQueue[] {
  const own = queues.filter((queue) => queue.name === name);
  return own.length > 0 ? own : queues.slice(0, 1);
}

function isUnclear({ redrive, location }: ObservedQueue, beside: ObservedQueue): boolean {
  if (redrive !== undefined || location.file === undefined) return false;
  return folderOf(location.file) === folderOf(beside.location.file ?? "");
}

function folderOf(file: string): string {
  return file.slice(0, file.lastIndexOf("/") + 1);
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
