// Valid requests: one for each of the 23 SQS actions, in both protocols; the input of mutations.

import type { Random } from "../../src/ports/random.ts";

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** A request before it is sent. */
export interface Draft {
  readonly protocol: "json" | "query";
  readonly action: string;
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: Record<string, string>;
  readonly body: Buffer;
}

/** The queues and receipt handles that requests refer to. */
export interface Subjects {
  /** Names of queues, standard and FIFO. */
  readonly queues: readonly string[];
  readonly handles: readonly string[];
}

const HOST = "127.0.0.1:4566";
const ACCOUNT = "000000000000";

export function pick<T>(random: Random, choices: readonly T[]): T {
  return choices[random.below(choices.length)] as T;
}

type Build = (of: { url: string; arn: string; handle: string; fifo: boolean; n: number }) => {
  [key: string]: Json;
};

function sendFields(fifo: boolean, n: number): { [key: string]: Json } {
  return {
    MessageBody: `body ${n}`,
    MessageAttributes: {
      colour: { DataType: "String", StringValue: "blue" },
      count: { DataType: "Number", StringValue: String(n) },
    },
    ...(fifo
      ? { MessageGroupId: `g${n % 3}`, MessageDeduplicationId: `d${n}` }
      : { DelaySeconds: n % 2 }),
  };
}

/** Every action, with fields that it accepts. */
export const ACTIONS: Record<string, Build> = {
  AddPermission: ({ url, n }) => ({
    QueueUrl: url,
    Label: `label${n}`,
    AWSAccountIds: ["111122223333"],
    Actions: ["ReceiveMessage"],
  }),
  CancelMessageMoveTask: () => ({
    TaskHandle: Buffer.from('{"taskId":"a","sourceArn":"b"}').toString("base64"),
  }),
  ChangeMessageVisibility: ({ url, handle, n }) => ({
    QueueUrl: url,
    ReceiptHandle: handle,
    VisibilityTimeout: n % 60,
  }),
  ChangeMessageVisibilityBatch: ({ url, handle }) => ({
    QueueUrl: url,
    Entries: [{ Id: "a", ReceiptHandle: handle, VisibilityTimeout: 5 }],
  }),
  CreateQueue: ({ fifo, n }) => ({
    QueueName: fifo ? `made-${n % 5}.fifo` : `made-${n % 5}`,
    Attributes: { VisibilityTimeout: "30", ...(fifo ? { FifoQueue: "true" } : {}) },
    tags: { team: "sea" },
  }),
  DeleteMessage: ({ url, handle }) => ({ QueueUrl: url, ReceiptHandle: handle }),
  DeleteMessageBatch: ({ url, handle }) => ({
    QueueUrl: url,
    Entries: [
      { Id: "a", ReceiptHandle: handle },
      { Id: "b", ReceiptHandle: "none" },
    ],
  }),
  DeleteQueue: ({ url }) => ({ QueueUrl: url }),
  GetQueueAttributes: ({ url }) => ({ QueueUrl: url, AttributeNames: ["All"] }),
  GetQueueUrl: ({ url }) => ({ QueueName: url.slice(url.lastIndexOf("/") + 1) }),
  ListDeadLetterSourceQueues: ({ url }) => ({ QueueUrl: url, MaxResults: 5 }),
  ListMessageMoveTasks: ({ arn }) => ({ SourceArn: arn, MaxResults: 3 }),
  ListQueueTags: ({ url }) => ({ QueueUrl: url }),
  ListQueues: () => ({ QueueNamePrefix: "m", MaxResults: 10 }),
  PurgeQueue: ({ url }) => ({ QueueUrl: url }),
  ReceiveMessage: ({ url, n }) => ({
    QueueUrl: url,
    MaxNumberOfMessages: (n % 10) + 1,
    WaitTimeSeconds: n % 3,
    VisibilityTimeout: n % 7,
    MessageAttributeNames: ["All"],
    AttributeNames: ["All"],
  }),
  RemovePermission: ({ url, n }) => ({ QueueUrl: url, Label: `label${n}` }),
  SendMessage: ({ url, fifo, n }) => ({ QueueUrl: url, ...sendFields(fifo, n) }),
  SendMessageBatch: ({ url, fifo, n }) => ({
    QueueUrl: url,
    Entries: [
      { Id: "a", ...sendFields(fifo, n) },
      { Id: "b", ...sendFields(fifo, n + 1) },
    ],
  }),
  SetQueueAttributes: ({ url, n }) => ({
    QueueUrl: url,
    Attributes: { VisibilityTimeout: String(n % 100), DelaySeconds: "0" },
  }),
  StartMessageMoveTask: ({ arn }) => ({ SourceArn: arn, MaxNumberOfMessagesPerSecond: 10 }),
  TagQueue: ({ url, n }) => ({ QueueUrl: url, Tags: { [`tag${n % 9}`]: "value" } }),
  UntagQueue: ({ url }) => ({ QueueUrl: url, TagKeys: ["tag1", "tag2"] }),
};

/** The fields of a valid request. */
export function createFields(
  random: Random,
  action: string,
  subjects: Subjects,
): { [key: string]: Json } {
  const build = ACTIONS[action];
  if (build === undefined) throw new Error(`no such action: ${action}`);
  const queue = pick(random, subjects.queues);
  return build({
    url: `http://${HOST}/${ACCOUNT}/${queue}`,
    arn: `arn:aws:sqs:us-east-1:${ACCOUNT}:${queue}`,
    handle: pick(random, subjects.handles.length > 0 ? subjects.handles : ["none"]),
    fifo: queue.endsWith(".fifo"),
    n: random.below(1_000),
  });
}

export function jsonDraft(action: string, text: string | Buffer): Draft {
  return {
    protocol: "json",
    action,
    method: "POST",
    path: "/",
    query: "",
    headers: {
      host: HOST,
      "content-type": "application/x-amz-json-1.0",
      "x-amz-target": `AmazonSQS.${action}`,
      "x-amzn-query-mode": "true",
    },
    body: Buffer.from(text as string),
  };
}

/** Singular parameter names of the query protocol, where a list or a map is flattened. */
const LIST_NAMES: Record<string, string> = {
  Actions: "ActionName",
  AWSAccountIds: "AWSAccountId",
  AttributeNames: "AttributeName",
  MessageAttributeNames: "MessageAttributeName",
  TagKeys: "TagKey",
};
const MAP_NAMES: Record<string, readonly [string, string, string]> = {
  Attributes: ["Attribute", "Name", "Value"],
  MessageAttributes: ["MessageAttribute", "Name", "Value"],
  tags: ["Tag", "Key", "Value"],
  Tags: ["Tag", "Key", "Value"],
};

function flatten(action: string, prefix: string, value: Json, into: [string, string][]): void {
  if (Array.isArray(value)) {
    for (const [index, each] of value.entries()) {
      flatten(action, `${prefix}.${index + 1}`, each, into);
    }
  } else if (typeof value === "object" && value !== null) {
    for (const [key, each] of Object.entries(value)) {
      const map = MAP_NAMES[key];
      const dot = prefix === "" ? "" : ".";
      if (map !== undefined && typeof each === "object" && each !== null) {
        for (const [index, [name, inner]] of Object.entries(each).entries()) {
          const base = `${prefix}${dot}${map[0]}.${index + 1}`;
          into.push([`${base}.${map[1]}`, name]);
          flatten(action, `${base}.${map[2]}`, inner as Json, into);
        }
        continue;
      }
      const name = key === "Entries" ? `${action}RequestEntry` : (LIST_NAMES[key] ?? key);
      flatten(action, `${prefix}${dot}${name}`, each, into);
    }
  } else {
    into.push([prefix, String(value)]);
  }
}

/** The parameters of the query protocol for the same fields. */
export function queryPairs(action: string, fields: Json): [string, string][] {
  const pairs: [string, string][] = [
    ["Action", action],
    ["Version", "2012-11-05"],
  ];
  flatten(action, "", fields, pairs);
  return pairs;
}

export function queryDraft(action: string, pairs: readonly [string, string][]): Draft {
  return {
    protocol: "query",
    action,
    method: "POST",
    path: "/",
    query: "",
    headers: { host: HOST, "content-type": "application/x-www-form-urlencoded" },
    body: Buffer.from(new URLSearchParams(pairs as [string, string][]).toString()),
  };
}
