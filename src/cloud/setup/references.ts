// References of a set-up: that names lead somewhere, are given once, and fit together.

import type { BucketSetup, CloudSetup, QueueSetup, SubscriptionSetup } from "./cloud-setup.ts";
import type { ReportProblem } from "./shape.ts";

const FIFO_SUFFIX = ".fifo";

export function isFifo(name: string): boolean {
  return name.endsWith(FIFO_SUFFIX);
}

interface Names {
  readonly queues: ReadonlySet<string>;
  readonly topics: ReadonlySet<string>;
}

export function checkReferences(setup: CloudSetup, tell: ReportProblem): void {
  const { queues = [], topics = [], subscriptions = [], buckets = [] } = setup;
  const names: Names = {
    queues: new Set(queues.map(({ name }) => name)),
    topics: new Set(topics.map(({ name }) => name)),
  };
  for (const [list, path] of [
    [queues, "/queues"],
    [topics, "/topics"],
    [buckets, "/buckets"],
  ] as const) {
    checkNames(list, path, tell);
  }
  for (const [index, queue] of queues.entries()) {
    checkDeadLetter(queue, names, `/queues/${index}/deadLetter/queue`, tell);
  }
  checkCircles(queues, tell);
  const seen = new Set<string>();
  for (const [index, subscription] of subscriptions.entries()) {
    checkSubscription(subscription, names, `/subscriptions/${index}`, tell);
    const { topic, queue = "", endpoint = "" } = subscription;
    const key = JSON.stringify([topic, queue, endpoint]);
    if (seen.has(key)) tell(`/subscriptions/${index}`, "is there twice");
    seen.add(key);
  }
  for (const [index, bucket] of buckets.entries()) {
    checkNotifications(bucket, names, `/buckets/${index}/notifications`, tell);
  }
}

function checkNames(
  list: readonly { readonly name: string; readonly fifo?: boolean }[],
  path: string,
  tell: ReportProblem,
): void {
  const seen = new Set<string>();
  for (const [index, { name, fifo }] of list.entries()) {
    if (seen.has(name)) tell(`${path}/${index}/name`, "is there twice");
    seen.add(name);
    if (fifo === undefined || fifo === isFifo(name)) continue;
    tell(`${path}/${index}/fifo`, `does not fit the name: only FIFO ones end with ${FIFO_SUFFIX}`);
  }
}

function checkDeadLetter(
  queue: QueueSetup,
  { queues }: Names,
  path: string,
  tell: ReportProblem,
): void {
  if (queue.deadLetter === undefined) return;
  const { queue: target } = queue.deadLetter;
  if (!queues.has(target)) tell(path, "names no queue of this set-up");
  else if (isFifo(target) !== isFifo(queue.name)) {
    tell(path, "must be a FIFO queue exactly if the queue itself is one");
  }
}

/** No queue can be created before its dead-letter queue, so that there must be a first one. */
function checkCircles(queues: readonly QueueSetup[], tell: ReportProblem): void {
  const next = new Map(queues.map(({ name, deadLetter }) => [name, deadLetter?.queue]));
  for (const [index, { name }] of queues.entries()) {
    let at = next.get(name);
    for (let steps = 0; at !== undefined && at !== name && steps < queues.length; steps += 1) {
      at = next.get(at);
    }
    if (at === name) tell(`/queues/${index}/deadLetter/queue`, "leads back to the queue itself");
  }
}

function checkSubscription(
  { topic, queue, endpoint, deadLetter }: SubscriptionSetup,
  { queues, topics }: Names,
  path: string,
  tell: ReportProblem,
): void {
  if (!topics.has(topic)) tell(`${path}/topic`, "names no topic of this set-up");
  if ((queue === undefined) === (endpoint === undefined)) {
    tell(path, "must have a queue or an endpoint, and not both");
  }
  if (queue !== undefined && !queues.has(queue)) {
    tell(`${path}/queue`, "names no queue of this set-up");
  } else if (queue !== undefined && isFifo(queue) && !isFifo(topic)) {
    tell(`${path}/queue`, "is a FIFO queue, which a standard topic does not deliver to");
  }
  if (endpoint !== undefined && !/^https?:\/\//.test(endpoint)) {
    tell(`${path}/endpoint`, "does not begin with http:// or https://");
  }
  if (deadLetter !== undefined && !queues.has(deadLetter.queue)) {
    tell(`${path}/deadLetter/queue`, "names no queue of this set-up");
  }
}

function checkNotifications(
  bucket: BucketSetup,
  names: Names,
  path: string,
  tell: ReportProblem,
): void {
  for (const [index, { queue, topic }] of (bucket.notifications ?? []).entries()) {
    const at = `${path}/${index}`;
    if ((queue === undefined) === (topic === undefined)) {
      tell(at, "must have a queue or a topic, and not both");
      continue;
    }
    const [field, name, known] =
      queue === undefined
        ? (["topic", topic as string, names.topics] as const)
        : (["queue", queue, names.queues] as const);
    if (!known.has(name)) tell(`${at}/${field}`, `names no ${field} of this set-up`);
    else if (isFifo(name)) tell(`${at}/${field}`, `is a FIFO ${field}, which S3 does not notify`);
  }
}
