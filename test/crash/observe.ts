// Observe: creates the queues, and reads everything that a server holds without changing it.

import { must, type SqsClient } from "../support/crash/sqs-client.ts";
import { patienceMs } from "../support/patience.ts";
import type { Observation, Peeked, QueueObservation } from "./check.ts";
import { type Facts, queueFacts } from "./facts.ts";
import { MOVED_FROM, planArnOf, planOf, QUEUES, type QueuePlan } from "./queue-plan.ts";

const PAGE = 100;
const PAGES_MAX = 100_000;
const MOVE_MS_MAX = patienceMs(30_000);
const MOVE_POLL_MS = 20;

async function attributesOf(sqs: SqsClient, QueueUrl: string): Promise<Record<string, string>> {
  const input = { QueueUrl, AttributeNames: ["All"] };
  const { Attributes } = await must(sqs.call("GetQueueAttributes", input));
  return Attributes as Record<string, string>;
}

async function create(sqs: SqsClient, plan: QueuePlan, arns: Map<string, string>) {
  const { deadLetters } = plan;
  const redrive = deadLetters && {
    RedrivePolicy: JSON.stringify({
      deadLetterTargetArn: arns.get(deadLetters.queue),
      maxReceiveCount: deadLetters.receivesMax,
    }),
  };
  const { QueueUrl } = await must(
    sqs.call("CreateQueue", {
      QueueName: plan.name,
      Attributes: { ...plan.attributes, ...redrive, MessageRetentionPeriod: "86400" },
      tags: { ...plan.tags, changing: "0" },
    }),
  );
  return String(QueueUrl);
}

/** Attributes that must survive: all except the counts, which change by themselves. */
const isDurable = (name: string): boolean =>
  !name.startsWith("Approximate") && name !== "LastModifiedTimestamp";

async function settingsOf(sqs: SqsClient, QueueUrl: string): Promise<Map<string, string>> {
  const settings = new Map<string, string>();
  for (const [name, value] of Object.entries(await attributesOf(sqs, QueueUrl))) {
    if (isDurable(name)) settings.set(`attribute ${name}`, value);
  }
  const { Tags } = await must(sqs.call("ListQueueTags", { QueueUrl }));
  for (const [name, value] of Object.entries((Tags ?? {}) as Record<string, string>)) {
    settings.set(`tag ${name}`, value);
  }
  return settings;
}

/** Creates the queues of the plan and records their settings. */
export async function createQueues(sqs: SqsClient, facts: Facts): Promise<void> {
  const arns = new Map<string, string>();
  for (const plan of QUEUES) {
    const url = await create(sqs, plan, arns);
    arns.set(plan.name, (await attributesOf(sqs, url)).QueueArn ?? "");
    const { settings } = queueFacts(facts, plan.name);
    for (const [key, acked] of await settingsOf(sqs, url))
      settings.set(key, { acked, asked: null });
    for (const [name, value] of Object.entries(planOf(plan.name).tags)) {
      if (settings.get(`tag ${name}`)?.acked !== value) {
        facts.violations.push(`${plan.name}: was created without its tag ${name}`);
      }
    }
  }
}

/** The queues' URLs at a server, by their names. */
export async function findQueues(sqs: SqsClient): Promise<Map<string, string>> {
  const urls = new Map<string, string>();
  for (const { name } of QUEUES) {
    const { QueueUrl } = await must(sqs.call("GetQueueUrl", { QueueName: name }));
    urls.set(name, String(QueueUrl));
  }
  return urls;
}

async function peekAll(sqs: SqsClient, name: string): Promise<Peeked[]> {
  const all: Peeked[] = [];
  let after = 0;
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const path = `/_tidegate/queues/${name}/messages?after=${after}&limit=${PAGE}`;
    const { messages, nextAfter } = await must(sqs.get(path));
    all.push(...(messages as Peeked[]));
    if (nextAfter === null) return all;
    if (typeof nextAfter !== "number") throw new Error(`${path}: no nextAfter in the response`);
    after = nextAfter;
  }
  throw new Error(`${name}: more than ${PAGES_MAX} pages of messages`);
}

interface Counted {
  readonly name: string;
  readonly visible: number;
  readonly delayed: number;
  readonly inFlight: number;
}

/** The states of the latest move tasks, newest first. */
export async function moveTasksOf(sqs: SqsClient): Promise<string[] | null> {
  const input = { SourceArn: planArnOf(MOVED_FROM), MaxResults: 10 };
  const output = await sqs.call("ListMessageMoveTasks", input);
  if (output === null) return null;
  return ((output.Results ?? []) as { Status: string }[]).map(({ Status }) => Status);
}

/** Waits until interrupted move tasks finish, so that nothing moves during the observation. */
async function finishedMoveTasks(sqs: SqsClient): Promise<string[]> {
  const endMs = Date.now() + MOVE_MS_MAX;
  for (;;) {
    const tasks = await must(moveTasksOf(sqs));
    if (!tasks.includes("RUNNING") || Date.now() > endMs) return tasks;
    await new Promise((resolve) => setTimeout(resolve, MOVE_POLL_MS));
  }
}

/** Reads all queues, while no other client uses them. */
export async function observe(sqs: SqsClient): Promise<Observation> {
  const urls = await findQueues(sqs);
  const moveTasks = await finishedMoveTasks(sqs);
  const counts = (await must(sqs.get("/_tidegate/queues"))).queues as readonly Counted[];
  const queues: QueueObservation[] = [];
  for (const [name, url] of urls) {
    const entry = counts.find((queue) => queue.name === name);
    const counted = entry ? entry.visible + entry.delayed + entry.inFlight : 0;
    const messages = await peekAll(sqs, name);
    queues.push({ name, messages, counted, settings: await settingsOf(sqs, url) });
  }
  return { endedMs: Date.now(), queues, moveTasks };
}
