// References of a setup: checks that names exist, are unique, and fit together.

import type { BucketSetup, CloudSetup, QueueSetup, SubscriptionSetup } from "./cloud-setup.ts";
import type { ReportProblem } from "./shape.ts";

const FIFO_SUFFIX = ".fifo";

export function isFifo(name: string): boolean {
  return name.endsWith(FIFO_SUFFIX);
}

export interface DefinedNames {
  has(name: unknown): boolean;
}

interface Names {
  readonly queues: DefinedNames;
  readonly topics: DefinedNames;
}

/** `names` are all names that the file defines, also those of resources that `setup` leaves out. */
export function checkReferences(setup: CloudSetup, report: ReportProblem, names: Names): void {
  const { queues = [], topics = [], subscriptions = [], buckets = [] } = setup;
  for (const [list, path] of [
    [queues, "/queues"],
    [topics, "/topics"],
    [buckets, "/buckets"],
  ] as const) {
    checkNames(list, path, report);
  }
  for (const [index, queue] of queues.entries()) {
    checkDeadLetter(queue, names, `/queues/${index}/deadLetter/queue`, report);
  }
  checkCycles(queues, report);
  const keys = new Set<string>();
  for (const [index, subscription] of subscriptions.entries()) {
    checkSubscription(subscription, names, `/subscriptions/${index}`, report);
    const { topic, queue = "", endpoint = "" } = subscription;
    const key = JSON.stringify([topic, queue, endpoint]);
    if (keys.has(key)) report(`/subscriptions/${index}`, "is a duplicate");
    keys.add(key);
  }
  for (const [index, bucket] of buckets.entries()) {
    checkNotifications(bucket, names, `/buckets/${index}/notifications`, report);
  }
}

function checkNames(
  list: readonly { readonly name: string; readonly fifo?: boolean }[],
  path: string,
  report: ReportProblem,
): void {
  const keys = new Set<string>();
  for (const [index, { name, fifo }] of list.entries()) {
    if (keys.has(name)) report(`${path}/${index}/name`, "is a duplicate");
    keys.add(name);
    if (fifo === undefined || fifo === isFifo(name)) continue;
    report(
      `${path}/${index}/fifo`,
      `does not match the name: FIFO names end with ${FIFO_SUFFIX}, others do not`,
    );
  }
}

function checkDeadLetter(
  queue: QueueSetup,
  { queues }: Names,
  path: string,
  report: ReportProblem,
): void {
  if (queue.deadLetter === undefined) return;
  const { queue: target } = queue.deadLetter;
  if (!queues.has(target)) report(path, "names a queue that this setup does not define");
  else if (isFifo(target) !== isFifo(queue.name)) {
    report(path, "must be FIFO if the queue is FIFO, and standard otherwise");
  }
}

/** A queue is created after its dead-letter queue, so cycles are impossible to create. */
function checkCycles(queues: readonly QueueSetup[], report: ReportProblem): void {
  const next = new Map(queues.map(({ name, deadLetter }) => [name, deadLetter?.queue]));
  for (const [index, { name }] of queues.entries()) {
    let at = next.get(name);
    for (let steps = 0; at !== undefined && at !== name && steps < queues.length; steps += 1) {
      at = next.get(at);
    }
    if (at === name)
      report(`/queues/${index}/deadLetter/queue`, "leads back to the same queue; remove the cycle");
  }
}

function checkSubscription(
  { topic, queue, endpoint, deadLetter }: SubscriptionSetup,
  { queues, topics }: Names,
  path: string,
  report: ReportProblem,
): void {
  if (!topics.has(topic)) report(`${path}/topic`, "names a topic that this setup does not define");
  if ((queue === undefined) === (endpoint === undefined)) {
    report(path, "must have a queue or an endpoint, and not both");
  }
  if (queue !== undefined && !queues.has(queue)) {
    report(`${path}/queue`, "names a queue that this setup does not define");
  } else if (queue !== undefined && isFifo(queue) && !isFifo(topic)) {
    report(`${path}/queue`, "is a FIFO queue; a standard topic cannot deliver to it");
  }
  if (endpoint !== undefined && !/^https?:\/\//.test(endpoint)) {
    report(`${path}/endpoint`, "must begin with http:// or https://");
  }
  if (deadLetter !== undefined && !queues.has(deadLetter.queue)) {
    report(`${path}/deadLetter/queue`, "names a queue that this setup does not define");
  }
}

function checkNotifications(
  bucket: BucketSetup,
  names: Names,
  path: string,
  report: ReportProblem,
): void {
  for (const [index, { queue, topic }] of (bucket.notifications ?? []).entries()) {
    const at = `${path}/${index}`;
    if ((queue === undefined) === (topic === undefined)) {
      report(at, "must have a queue or a topic, and not both");
      continue;
    }
    const [field, name, defined] =
      queue === undefined
        ? (["topic", topic as string, names.topics] as const)
        : (["queue", queue, names.queues] as const);
    if (!defined.has(name))
      report(`${at}/${field}`, `names a ${field} that this setup does not define`);
    else if (isFifo(name)) report(`${at}/${field}`, `is a FIFO ${field}; S3 cannot notify it`);
  }
}
