// Embedded cloud: the console's queues, topics and buckets, from the broker in this process.
//   E1. Reads go to the engine itself, so injected faults do not blind the console.
//   E2. Actions go through the AWS protocols, as a client's would: the same checks and answers.

import type { Broker } from "../../broker/engine/broker.ts";
import type { PeekedMessage, QueueCounts } from "../../broker/model/operations.ts";
import { TidegateError } from "../../core/errors.ts";
import { parseQueueArn } from "../../core/queue-arn.ts";
import type { ConsoleCloud, PageRequest } from "../../ports/console/console-source.ts";
import type {
  MoveTaskState,
  PeekedText,
  QueueDetails,
  QueueSummary,
} from "../../ports/console/console-views.ts";
import type { HttpHandler } from "../../ports/http/http.ts";
import { callAction, uploadThrough } from "./cloud-calls.ts";
import type { MessageMask } from "./message-mask.ts";

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

const MOVE_TASKS_MAX = 10;

export function createEmbeddedCloud(parts: EmbeddedCloudParts): ConsoleCloud {
  const { engine, http, mask, roles } = parts;
  return {
    queues: (prefix, page) => queuePage(parts, prefix, page),
    queue: (name) => queueDetails(parts, name),
    async messages(name, { cursor, limit }) {
      const afterSeq = cursor !== null && /^\d{1,15}$/.test(cursor) ? Number(cursor) : 0;
      const outcome = await engine.submit("peek", { queue: name, afterSeq, limit });
      if (!outcome.ok) return absentOr(outcome.fault);
      const { messages, nextAfterSeq } = outcome.value;
      const next = nextAfterSeq === null ? null : String(nextAfterSeq);
      return { queue: name, messages: messages.map((each) => peekedText(each, mask)), next };
    },
    topics: (prefix, page) => topicPage(engine, prefix, page),
    async buckets({ cursor, limit }) {
      const input = { prefix: "", after: cursor ?? "", limit };
      const outcome = await engine.submit("listBuckets", input);
      if (!outcome.ok) throw unavailable(outcome.fault.message);
      const buckets = outcome.value.buckets.map(({ name, createdAt }) => {
        const isSource = name === roles.bucket;
        return { name, createdAt, isSource, prefix: isSource ? roles.prefix : "" };
      });
      return { buckets, next: outcome.value.next };
    },
    objects: (bucket, prefix, page) => objectPage(parts, bucket, prefix, page),
    async send(name, order) {
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
    async purge(name) {
      await callAction(http, "PurgeQueue", { QueueUrl: await urlOf(http, name) });
      return true;
    },
    async redrive(name, perSecond) {
      const { account, region } = engine;
      await callAction(http, "StartMessageMoveTask", {
        SourceArn: `arn:aws:sqs:${region}:${account}:${name}`,
        ...(perSecond !== null && { MaxNumberOfMessagesPerSecond: perSecond }),
      });
      return true;
    },
    upload: (bucket, key, request) => uploadThrough(http, { bucket, key }, request),
  };
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

/** All queues with their counts. */
export async function countsOf(engine: Broker, prefix = ""): Promise<readonly QueueCounts[]> {
  const outcome = await engine.submit("countQueues", { prefix });
  if (!outcome.ok) throw unavailable(outcome.fault.message);
  return outcome.value.queues;
}

async function attributesOf(engine: Broker, queue: string): Promise<Record<string, string> | null> {
  const outcome = await engine.submit("getQueueAttributes", { queue, names: ["All"] });
  return outcome.ok ? outcome.value.attributes : absentOr(outcome.fault);
}

async function queuePage(
  parts: EmbeddedCloudParts,
  prefix: string,
  { cursor, limit }: PageRequest,
) {
  const counts = [...(await countsOf(parts.engine, prefix))];
  counts.sort((a, b) => (a.name < b.name ? -1 : 1));
  const rest = counts.filter(({ name }) => cursor === null || name > cursor);
  const page = rest.slice(0, limit);
  const queues = await Promise.all(
    page.map(async (each) => summaryOf(parts, each, await attributesOf(parts.engine, each.name))),
  );
  return { queues, next: rest.length > limit ? (page.at(-1)?.name ?? null) : null };
}

function summaryOf(
  { roles, now }: EmbeddedCloudParts,
  { name, fifo, visible, delayed, inFlight, oldestSentAt }: QueueCounts,
  attributes: Record<string, string> | null,
): QueueSummary {
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

export function roleOf(roles: CloudRoles, name: string): QueueSummary["role"] {
  if (name === roles.queue) return "source";
  if (name === roles.deadLetterQueue) return "dead-letter";
  return name === roles.lateQueue ? "late" : null;
}

export function deadLetterQueueIn(policy: string | undefined): string | null {
  if (policy === undefined || policy === "") return null;
  const { deadLetterTargetArn } = JSON.parse(policy) as { deadLetterTargetArn?: string };
  return parseQueueArn(deadLetterTargetArn ?? "")?.name ?? null;
}

async function queueDetails(parts: EmbeddedCloudParts, name: string): Promise<QueueDetails | null> {
  const { engine } = parts;
  const attributes = await attributesOf(engine, name);
  if (attributes === null) return null;
  const counts = (await countsOf(engine, name)).find((each) => each.name === name);
  if (counts === undefined) return null;
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
    moveTasks: moveTasks.map((task): MoveTaskState => {
      const { status, moved, toMove, startedAt, destinationArn, failureReason } = task;
      return { status, moved, toMove, startedAt, destination: destinationArn, failureReason };
    }),
  };
}

export function peekedText(message: PeekedMessage, mask: MessageMask): PeekedText {
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
    attributes: Object.fromEntries(attributes),
    groupId: shown.groupId,
    state,
    sentAt,
    dueAt,
    receiveCount,
    object: shown.object,
  };
}

const SUBSCRIPTIONS_MAX = 100;

async function topicPage(engine: Broker, prefix: string, { cursor, limit }: PageRequest) {
  const outcome = await engine.submit("countTopics", { prefix });
  if (!outcome.ok) throw unavailable(outcome.fault.message);
  const all = outcome.value.topics.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const rest = all.filter(({ name }) => cursor === null || name > cursor);
  const page = rest.slice(0, limit);
  const topics = await Promise.all(
    page.map(async ({ name, fifo, dropped, outgoing: pending }) => {
      const listed = await engine.submit("listSubscriptions", { topic: name, token: null });
      const views = listed.ok ? listed.value.subscriptions.slice(0, SUBSCRIPTIONS_MAX) : [];
      const subscriptions = views.map(({ protocol, endpoint, arn }) => ({
        protocol,
        endpoint,
        arn,
      }));
      const arn = `arn:aws:sns:${engine.region}:${engine.account}:${name}`;
      return { name, arn, fifo, subscriptions, dropped, pending };
    }),
  );
  return { topics, next: rest.length > limit ? (page.at(-1)?.name ?? null) : null };
}
