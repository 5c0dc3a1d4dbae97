// Fan-out run: publishes to topics with several queues, kills the server under load, restarts it on
// the same folder, and compares the queues.
//   U1. An acknowledged publish is in every subscribed queue, once.
//   U2. A publish without a response is in all of them or in none.
//   U3. Resent under its id, such a publish to a FIFO topic is there once in the end. A publish
//       that was acknowledged before the crash is still recognised as a duplicate.
//   U4. Every queue of a FIFO topic has the messages of a group in the same order.

import { type ChildServer, startChild } from "../../bench/broker/child-server.ts";
import { createSeededRandom, type SeededRandom } from "../../src/core/seeded-random.ts";
import { connectClient, must, type SqsClient } from "../support/crash/sqs-client.ts";

const CLIENTS = 6;
const WORK_MS_MIN = 20;
const WORK_MS_MAX = 300;
const REGION_AND_ACCOUNT = "us-east-1:000000000000";

interface TopicPlan {
  readonly name: string;
  readonly fifo: boolean;
  readonly queues: readonly string[];
}

export const TOPICS: readonly TopicPlan[] = [
  { name: "news", fifo: false, queues: ["news-1", "news-2", "news-3"] },
  { name: "orders.fifo", fifo: true, queues: ["orders-1.fifo", "orders-2.fifo"] },
];

interface Published {
  readonly body: string;
  readonly topic: TopicPlan;
  readonly group: string;
  acknowledged: boolean;
}

export interface FanOutOptions {
  readonly serverArgs: (folder: string) => readonly string[];
  readonly folder: string;
  readonly crashes: number;
  readonly seed: number;
}

export interface FanOutResult {
  readonly violations: readonly string[];
  readonly acknowledged: number;
  /** Publishes whose response was lost in a crash. */
  readonly unanswered: number;
  /** Of those to the standard topic, how many were carried out. */
  readonly doneUnanswered: number;
}

/** Null if the server was killed before it responded. */
async function callSns(port: number, parameters: Record<string, string>): Promise<boolean | null> {
  const body = new URLSearchParams({ Version: "2010-03-31", ...parameters });
  try {
    const reply = await fetch(`http://127.0.0.1:${port}/`, { method: "POST", body });
    const text = await reply.text();
    if (reply.status !== 200) throw new Error(`${parameters.Action}: ${reply.status} ${text}`);
    return true;
  } catch (error) {
    if (error instanceof TypeError) return null; // fetch throws it if the connection breaks.
    throw error;
  }
}

async function createAll(port: number, sqs: SqsClient): Promise<void> {
  for (const { name, fifo, queues } of TOPICS) {
    const attribute = (key: string) => ({
      "Attributes.entry.1.key": key,
      "Attributes.entry.1.value": "true",
    });
    const create = { Action: "CreateTopic", Name: name, ...(fifo ? attribute("FifoTopic") : {}) };
    await callSns(port, create);
    for (const queue of queues) {
      const Attributes = fifo ? { FifoQueue: "true" } : {};
      await sqs.call("CreateQueue", { QueueName: queue, Attributes });
      await callSns(port, {
        Action: "Subscribe",
        TopicArn: `arn:aws:sns:${REGION_AND_ACCOUNT}:${name}`,
        Protocol: "sqs",
        Endpoint: `arn:aws:sqs:${REGION_AND_ACCOUNT}:${queue}`,
        ...attribute("RawMessageDelivery"),
      });
    }
  }
}

function publish(port: number, { topic, body, group }: Published): Promise<boolean | null> {
  return callSns(port, {
    Action: "Publish",
    TopicArn: `arn:aws:sns:${REGION_AND_ACCOUNT}:${topic.name}`,
    Message: body,
    ...(topic.fifo ? { MessageGroupId: group, MessageDeduplicationId: body } : {}),
  });
}

/** One client: publishes until the server is killed. */
async function work(
  port: number,
  random: SeededRandom,
  published: Published[],
  client: number,
): Promise<void> {
  for (;;) {
    const topic = random.pick(TOPICS) as TopicPlan;
    const body = `message-${published.length}`;
    const group = `group-${client}`;
    const message = { body, topic, group, acknowledged: false };
    published.push(message);
    if ((await publish(port, message)) === null) return;
    message.acknowledged = true;
  }
}

/** The bodies of a queue in the order of delivery; each is deleted. */
async function drain(sqs: SqsClient, queue: string): Promise<string[]> {
  const QueueUrl = `http://127.0.0.1/000000000000/${queue}`;
  const bodies: string[] = [];
  for (;;) {
    const input = { QueueUrl, MaxNumberOfMessages: 10, VisibilityTimeout: 600 };
    const output = await must(sqs.call("ReceiveMessage", input));
    const messages = (output.Messages ?? []) as { Body: string; ReceiptHandle: string }[];
    if (messages.length === 0) return bodies;
    for (const { Body, ReceiptHandle } of messages) {
      bodies.push(Body);
      await must(sqs.call("DeleteMessage", { QueueUrl, ReceiptHandle }));
    }
  }
}

/** How often each message of the round is in each queue of its topic; checks U1 to U4. */
async function compare(
  server: ChildServer,
  round: readonly Published[],
  violations: string[],
): Promise<number> {
  const sqs = await must(connectClient(server.port));
  let doneUnanswered = 0;
  const again = round.filter(({ topic }) => topic.fifo);
  for (const message of again) await publish(server.port, message); // U3
  for (const topic of TOPICS) {
    const ofTopic = round.filter((message) => message.topic === topic);
    const drained: string[][] = [];
    for (const queue of topic.queues) drained.push(await drain(sqs, queue));
    for (const { body, acknowledged } of ofTopic) {
      const counts = drained.map((bodies) => bodies.filter((each) => each === body).length);
      const expected = acknowledged || topic.fifo ? 1 : (counts[0] ?? 0); // U1, U2
      if (expected > 1 || counts.some((count) => count !== expected)) {
        const status = acknowledged ? "acknowledged" : "unanswered";
        violations.push(`${status} ${body} of ${topic.name} is there ${counts.join(", ")} times`);
      }
      if (!acknowledged && !topic.fifo && counts[0] === 1) doneUnanswered += 1;
    }
    if (topic.fifo) violations.push(...compareOrder(ofTopic, drained));
  }
  sqs.close();
  return doneUnanswered;
}

function compareOrder(ofTopic: readonly Published[], drained: readonly string[][]): string[] {
  const groups = new Map(ofTopic.map(({ body, group }) => [body, group]));
  const orderOf = (bodies: readonly string[], group: string) =>
    bodies.filter((body) => groups.get(body) === group).join(" ");
  return [...new Set(groups.values())]
    .filter((group) => new Set(drained.map((bodies) => orderOf(bodies, group))).size > 1)
    .map((group) => `${group} has another order in another queue`); // U4
}

export async function runFanOut(options: FanOutOptions): Promise<FanOutResult> {
  const args = options.serverArgs(options.folder);
  const violations: string[] = [];
  const published: Published[] = [];
  let doneUnanswered = 0;
  let compared = 0;
  for (let crash = 0; crash <= options.crashes && violations.length === 0; crash += 1) {
    const server = await startChild({ args });
    try {
      if (crash === 0) {
        const sqs = await must(connectClient(server.port));
        await createAll(server.port, sqs);
        sqs.close();
      } else {
        doneUnanswered += await compare(server, published.slice(compared), violations);
        compared = published.length;
      }
      if (crash === options.crashes) break;
      const random = createSeededRandom(options.seed * 1_000 + crash);
      const clients = Array.from({ length: CLIENTS }, (_, client) =>
        work(server.port, random, published, client),
      );
      const workMs = random.between(WORK_MS_MIN, WORK_MS_MAX);
      await new Promise((resolve) => setTimeout(resolve, workMs));
      await server.kill();
      await Promise.all(clients);
    } finally {
      await server.kill();
    }
  }
  const acknowledged = published.filter((message) => message.acknowledged).length;
  const unanswered = published.length - acknowledged;
  return { violations, acknowledged, unanswered, doneUnanswered };
}
