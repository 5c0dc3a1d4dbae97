// Embedded cloud: queues, topics and buckets for an operator, from the broker in this process.
//   E1. Reads go to the engine itself, so injected faults do not blind the operator.
//   E2. Actions go through the AWS protocols, as a client's would: the same checks and answers.

import type { Broker } from "../../broker/engine/broker.ts";
import type { PeekedMessage, QueueCounts } from "../../broker/model/operations.ts";
import { TidegateError } from "../../core/errors.ts";
import { parseQueueArn } from "../../core/queue-arn.ts";
import type { HttpHandler, HttpRequest } from "../../ports/http/http.ts";
import type { MessageMask } from "../masks/message-mask.ts";
import { type PageRequest, pageByName } from "../pages/list-page.ts";
import { callAction, uploadThrough } from "./cloud-calls.ts";

export type { HttpReply, HttpRequest } from "../../ports/http/http.ts";

export interface CloudRoles {
  readonly bucket: string | null;
  readonly prefix: string;
  readonly queue: string | null;
  readonly deadLetterQueue: string | null;
  readonly lateQueue: string | null;
}

export interface EmbeddedCloudParts {
  readonly engine: Broker;
  readonly http: HttpHandler;
  readonly mask: MessageMask;
  readonly roles: CloudRoles;
  readonly now: () => number;
}

export interface SendOrder {
  readonly body: string;
  readonly groupId?: string | undefined;
  readonly deduplicationId?: string | undefined;
  readonly delaySeconds?: number | undefined;
  readonly attributes?: Readonly<Record<string, string>> | undefined;
}

type EmbeddedCloud = ReturnType<typeof createEmbeddedCloud>;
type OnlyEmbedded = "messages" | "topics" | "buckets" | "objects" | "upload";

/** What an operator sees of a cloud and does to it; null where only the embedded cloud can. */
export type CloudContents = Omit<EmbeddedCloud, OnlyEmbedded> & {
  readonly [Part in OnlyEmbedded]: EmbeddedCloud[Part] | null;
};

export type QueueSummary = ReturnType<typeof summaryOf>;
export type QueueFigures = Pick<
  QueueSummary,
  "name" | "visible" | "delayed" | "inFlight" | "oldestAgeMs"
>;

const MOVE_TASKS_MAX = 10;

export function createEmbeddedCloud(parts: EmbeddedCloudParts) {
  const { engine, http, mask } = parts;
  return {
    /** The counts of a queue; null if it does not exist. */
    async figures(name: string): Promise<QueueFigures | null> {
      const counts = await countsOfOne(engine, name);
      return counts === null ? null : summaryOf(parts, counts, null);
    },
    queues: (prefix: string, page: PageRequest) => queuePage(parts, prefix, page),
    queue: (name: string) => queueDetails(parts, name),
    async messages(name: string, { cursor, limit }: PageRequest) {
      const afterSeq = cursor !== null && /^\d{1,15}$/.test(cursor) ? Number(cursor) : 0;
      const outcome = await engine.submit("peek", { queue: name, afterSeq, limit });
      if (!outcome.ok) return absentOr(outcome.fault);
      const { messages, nextAfterSeq } = outcome.value;
      const next = nextAfterSeq === null ? null : String(nextAfterSeq);
      return { queue: name, messages: messages.map((each) => peekedText(each, mask)), next };
    },
    topics: (prefix: string, page: PageRequest) => topicPage(engine, prefix, page),
    buckets: (page: PageRequest) => bucketPage(parts, page),
    objects: (bucket: string, prefix: string, page: PageRequest) =>
      objectPage(parts, bucket, prefix, page),
    /** Null if the queue does not exist. */
    async send(name: string, order: SendOrder): Promise<{ readonly messageId: string } | null> {
      const attributes = Object.entries(order.attributes ?? {}).map(([key, StringValue]) => {
        return [key, { DataType: "String", StringValue }];
      });
      const sent = await callAction(http, "SendMessage", {
        QueueUrl: await urlOf(http, name),
        MessageBody: order.body,
        MessageGroupId: order.groupId,
        MessageDeduplicationId: order.deduplicationId,
        DelaySeconds: order.delaySeconds,
        ...(attributes.length > 0 && { MessageAttributes: Object.fromEntries(attributes) }),
      });
      return { messageId: String(sent.MessageId) };
    },
    async purge(name: string): Promise<boolean> {
      await callAction(http, "PurgeQueue", { QueueUrl: await urlOf(http, name) });
      return true;
    },
    /** Starts a message move task of SQS. */
    async redrive(name: string, perSecond: number | null): Promise<boolean> {
      const { account, region } = engine;
      await callAction(http, "StartMessageMoveTask", {
        SourceArn: `arn:aws:sqs:${region}:${account}:${name}`,
        ...(perSecond !== null && { MaxNumberOfMessagesPerSecond: perSecond }),
      });
      return true;
    },
    /** Puts the body of `request` under a key. */
    upload: (bucket: string, key: string, request: HttpRequest) =>
      uploadThrough(http, { bucket, key }, request),
  };
}

async function bucketPage({ engine, roles }: EmbeddedCloudParts, { cursor, limit }: PageRequest) {
  const outcome = await engine.submit("listBuckets", { prefix: "", after: cursor ?? "", limit });
  if (!outcome.ok) throw unavailable(outcome.fault.message);
  const buckets = outcome.value.buckets.map(({ name, createdAt }) => {
    const isSource = name === roles.bucket;
    return { name, createdAt, isSource, prefix: isSource ? roles.prefix : "" };
  });
  return { buckets, next: outcome.value.next };
}

async function objectPage(
  { engine, mask }: EmbeddedCloudParts,
  bucket: string,
  prefix: string,
  { cursor, limit }: PageRequest,
) {
  const input = { bucket, prefix, delimiter: "/", after: cursor ?? "", limit };
  const outcome = await engine.submit("listObjects", input);
  if (!outcome.ok) {
    if (outcome.fault.code === "NoSuchBucket") return null;
    throw unavailable(outcome.fault.message);
  }
  const { entries, prefixes, next } = outcome.value;
  const objects = entries.map(({ key, sizeBytes: size, etag, modifiedAt: lastModified }) => {
    return { key: mask.keyOf(bucket, key), size, etag, lastModified };
  });
  const folders = prefixes.map((folder) => mask.keyOf(bucket, folder));
  return { bucket, prefix, folders, objects, next };
}

async function urlOf(http: HttpHandler, name: string): Promise<string> {
  return String((await callAction(http, "GetQueueUrl", { QueueName: name })).QueueUrl);
}

function absentOr(fault: { readonly name: string; readonly message: string }): null {
  if (fault.name === "QueueDoesNotExist") return null;
  throw unavailable(fault.message);
}

function unavailable(message: string): TidegateError {
  return new TidegateError(
    "TG_QUEUE_UNAVAILABLE",
    `the embedded cloud does not answer: ${message}`,
  );
}

/** The queues whose names start with `prefix`, with their counts. */
export async function countsOf(engine: Broker, prefix = ""): Promise<readonly QueueCounts[]> {
  const outcome = await engine.submit("countQueues", { prefix });
  if (!outcome.ok) throw unavailable(outcome.fault.message);
  return outcome.value.queues;
}

async function countsOfOne(engine: Broker, name: string): Promise<QueueCounts | null> {
  return (await countsOf(engine, name)).find((each) => each.name === name) ?? null;
}

async function attributesOf(engine: Broker, queue: string): Promise<Record<string, string> | null> {
  const outcome = await engine.submit("getQueueAttributes", { queue, names: ["All"] });
  return outcome.ok ? outcome.value.attributes : absentOr(outcome.fault);
}

async function queuePage(parts: EmbeddedCloudParts, prefix: string, page: PageRequest) {
  const { items, next } = pageByName(await countsOf(parts.engine, prefix), page);
  const queues = items.map(async (each) => {
    return summaryOf(parts, each, await attributesOf(parts.engine, each.name));
  });
  return { queues: await Promise.all(queues), next };
}

function summaryOf(
  { roles, now }: EmbeddedCloudParts,
  { name, fifo, visible, delayed, inFlight, oldestSentAt }: QueueCounts,
  attributes: Record<string, string> | null,
) {
  return {
    name,
    fifo,
    visible,
    delayed,
    inFlight,
    oldestAgeMs: oldestSentAt === null ? null : Math.max(0, now() - oldestSentAt),
    role: roleOf(roles, name),
    deadLetterQueue: deadLetterQueueIn(attributes?.RedrivePolicy),
  };
}

export function roleOf(roles: CloudRoles, name: string): "source" | "dead-letter" | "late" | null {
  if (name === roles.queue) return "source";
  if (name === roles.deadLetterQueue) return "dead-letter";
  return name === roles.lateQueue ? "late" : null;
}

export function deadLetterQueueIn(policy: string | undefined): string | null {
  if (policy === undefined || policy === "") return null;
  const { deadLetterTargetArn } = JSON.parse(policy) as { deadLetterTargetArn?: string };
  return parseQueueArn(deadLetterTargetArn ?? "")?.name ?? null;
}

async function queueDetails(parts: EmbeddedCloudParts, name: string) {
  const { engine } = parts;
  const attributes = await attributesOf(engine, name);
  if (attributes === null) return null;
  const counts = await countsOfOne(engine, name);
  if (counts === null) return null;
  const sources = await engine.submit("listDeadLetterSources", { queue: name, page: null });
  const { account, region } = engine;
  const sourceArn = `arn:aws:sqs:${region}:${account}:${name}`;
  const tasks = await engine.submit("listMoveTasks", { sourceArn, limit: MOVE_TASKS_MAX });
  const moveTasks = tasks.ok ? tasks.value.tasks : [];
  return {
    ...summaryOf(parts, counts, attributes),
    sources: sources.ok ? sources.value.names : [],
    attributes,
    peekable: true,
    moveTasks: moveTasks.map((task) => {
      const { status, moved, toMove, startedAt, destinationArn, failureReason } = task;
      return { status, moved, toMove, startedAt, destination: destinationArn, failureReason };
    }),
  };
}

type MessageAttributes = Readonly<
  Record<string, { readonly type: string; readonly value: string }>
>;

export function peekedText(message: PeekedMessage, mask: MessageMask) {
  const { seq, messageId, body, groupId, state, sentAt, dueAt, receiveCount } = message;
  const given = Object.entries(message.attributes ?? {});
  const texts = Object.fromEntries(given.map(([name, { value }]) => [name, value]));
  const shown = mask.show({ messageId, body, attributes: texts, groupId, sentAt, receiveCount });
  const attributes = given.map(([name, { type }]) => {
    return [name, { type, value: shown.attributes[name] ?? "" }];
  });
  return {
    seq,
    messageId,
    body: shown.body,
    truncated: shown.truncated,
    attributes: Object.fromEntries(attributes) as MessageAttributes,
    groupId: shown.groupId,
    state,
    sentAt,
    dueAt,
    receiveCount,
    object: shown.object,
  };
}

const SUBSCRIPTIONS_MAX = 100;

async function topicPage(engine: Broker, prefix: string, page: PageRequest) {
  const outcome = await engine.submit("countTopics", { prefix });
  if (!outcome.ok) throw unavailable(outcome.fault.message);
  const { items, next } = pageByName(outcome.value.topics, page);
  const topics = items.map(async ({ name, fifo, dropped, outgoing: pending }) => {
    const listed = await engine.submit("listSubscriptions", { topic: name, token: null });
    const all = listed.ok ? listed.value.subscriptions.slice(0, SUBSCRIPTIONS_MAX) : [];
    const subscriptions = all.map(({ protocol, endpoint, arn }) => ({ protocol, endpoint, arn }));
    const arn = `arn:aws:sns:${engine.region}:${engine.account}:${name}`;
    return { name, arn, fifo, subscriptions, dropped, pending };
  });
  return { topics: await Promise.all(topics), next };
}
