// Scripted broker: records its operations and answers from a script. The wire is tested against it,
// so that a failure is a failure of the wire.

import type { Broker } from "../../src/broker/engine/broker.ts";
import { type BrokerHttpOptions, createBrokerHttp } from "../../src/broker/http.ts";
import { FaultPlan } from "../../src/broker/model/fault-plan.ts";
import type {
  OperationInput,
  OperationName,
  OperationResult,
  ReceivedCopy,
} from "../../src/broker/model/operations.ts";
import { succeed } from "../../src/core/result.ts";
import { epochMs } from "../../src/core/units.ts";
import type { HttpReply, HttpRequest } from "../../src/ports/http/http.ts";

export const ACCOUNT = "000000000000";
export const REQUEST_ID = "11111111-2222-4333-8444-555555555555";
export const MESSAGE_ID = "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee";

type Answers = {
  [K in OperationName]?: (input: OperationInput<K>) => OperationResult<K>;
};
type Script = Answers & Partial<Pick<Broker, "health" | "outage">>;

const SUBSCRIPTION = {
  arn: "arn:aws:sns:us-east-1:000000000000:t:id",
  pending: false,
  topicArn: "arn:aws:sns:us-east-1:000000000000:t",
  protocol: "sqs",
  endpoint: "arn:aws:sqs:us-east-1:000000000000:q",
};

const TOPIC_DEFAULTS = {
  createTopic: ({ name }) => succeed({ name }),
  deleteTopic: () => succeed(null),
  listTopics: () => succeed({ names: [], nextToken: null }),
  getTopicAttributes: () => succeed({ attributes: {} }),
  setTopicAttribute: () => succeed(null),
  subscribe: () => succeed(SUBSCRIPTION),
  confirmSubscription: () => succeed({ arn: SUBSCRIPTION.arn }),
  unsubscribe: () => succeed(null),
  listSubscriptions: () => succeed({ subscriptions: [SUBSCRIPTION], nextToken: null }),
  getSubscriptionAttributes: () => succeed({ attributes: {} }),
  setSubscriptionAttribute: () => succeed(null),
  publish: ({ entries }) =>
    succeed({
      results: entries.map(() => succeed({ messageId: MESSAGE_ID, sequenceNumber: null })),
    }),
  tagTopic: () => succeed(null),
  untagTopic: () => succeed(null),
  listTopicTags: () => succeed({ tags: {} }),
  addTopicPermission: () => succeed(null),
  removeTopicPermission: () => succeed(null),
  keepSigningIdentity: (identity) => succeed(identity),
  findSigningIdentity: () => succeed(null),
  takePendingHttp: () => succeed({ messages: [] }),
  finishPendingHttp: () => succeed(null),
  countTopics: () => succeed({ topics: [] }),
} satisfies Script;

/** The default result of each operation. */
const DEFAULTS: Answers = {
  createQueue: ({ name }) => succeed({ name }),
  deleteQueue: () => succeed(null),
  findQueue: ({ queue }) => succeed({ name: queue }),
  listQueues: () => succeed({ names: [], nextToken: null }),
  getQueueAttributes: () => succeed({ attributes: {} }),
  setQueueAttributes: () => succeed(null),
  purgeQueue: () => succeed(null),
  tagQueue: () => succeed(null),
  untagQueue: () => succeed(null),
  listQueueTags: () => succeed({ tags: {} }),
  addPermission: () => succeed(null),
  removePermission: () => succeed(null),
  send: ({ entries }) =>
    succeed({
      results: entries.map(() => succeed({ messageId: MESSAGE_ID, sequenceNumber: null })),
    }),
  receive: () => succeed({ deliveries: [] }),
  delete: ({ handles }) => succeed({ faults: handles.map(() => null) }),
  changeVisibility: ({ entries }) => succeed({ faults: entries.map(() => null) }),
  listDeadLetterSources: () => succeed({ names: [], nextToken: null }),
  startMoveTask: () => succeed({ handle: "task" }),
  listMoveTasks: () => succeed({ tasks: [] }),
  cancelMoveTask: () => succeed({ moved: 0 }),
  countQueues: () => succeed({ queues: [] }),
  peek: () => succeed({ messages: [], nextAfterSeq: null }),
  ...TOPIC_DEFAULTS,
};

export interface Wire {
  /** Every operation that the broker received, in order. */
  readonly asked: { readonly name: OperationName; readonly input: unknown }[];
  readonly errors: unknown[];
  send(request: Partial<HttpRequest>): Promise<WireReply>;
  /** Sends a JSON request; a string body is sent unchanged. */
  json(action: string, body: unknown, headers?: Record<string, string>): Promise<WireReply>;
  /** Sends a query request as a form in a POST. */
  form(parameters: Record<string, string>, request?: Partial<HttpRequest>): Promise<WireReply>;
  get(path: string, headers?: Record<string, string>): Promise<WireReply>;
}

export interface WireReply {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly text: string;
  /** The body as JSON. */
  readonly value: ReturnType<typeof JSON.parse>;
}

export function createWire(script: Script = {}, options: Partial<BrokerHttpOptions> = {}): Wire {
  const asked: Wire["asked"] = [];
  const errors: unknown[] = [];
  const broker: Broker = {
    account: ACCOUNT,
    region: "us-east-1",
    health: script.health ?? "ok",
    clockLeap: null,
    outage: script.outage ?? null,
    faults: new FaultPlan(),
    async submit<K extends OperationName>(name: K, input: OperationInput<K>) {
      asked.push({ name, input });
      const answer = (script[name] ?? DEFAULTS[name]) as (
        input: OperationInput<K>,
      ) => OperationResult<K>;
      return answer(input);
    },
    resourcePolicy: () => undefined,
    topicOfSubscription: () => undefined,
    idle: async () => {},
    close: async () => {},
  };
  const handle = createBrokerHttp(broker, { onError: (error) => errors.push(error), ...options });
  const send: Wire["send"] = async (request) => readReply(await handle(completeRequest(request)));
  return {
    asked,
    errors,
    send,
    json: (action, body, headers = {}) =>
      send({
        method: "POST",
        headers: {
          host: "localhost:4566",
          "content-type": "application/x-amz-json-1.0",
          "x-amz-target": `AmazonSQS.${action}`,
          ...headers,
        },
        body: Buffer.from(typeof body === "string" ? body : JSON.stringify(body)),
      }),
    form: (parameters, request = {}) =>
      send({
        method: "POST",
        body: Buffer.from(new URLSearchParams(parameters).toString()),
        ...request,
        headers: {
          host: "localhost:4566",
          "content-type": "application/x-www-form-urlencoded",
          ...request.headers,
        },
      }),
    get: (path, headers = {}) => {
      const [pathname, query = ""] = path.split("?");
      return send({ path: pathname!, query, headers: { host: "localhost:4566", ...headers } });
    },
  };
}

export function delivery(fields: Partial<ReceivedCopy> = {}): ReceivedCopy {
  return {
    messageId: MESSAGE_ID,
    receiptHandle: "handle",
    body: "hello",
    attributes: null,
    traceHeader: null,
    groupId: null,
    dedupId: null,
    sequenceNumber: null,
    sentAt: epochMs(1_000),
    firstReceivedAt: epochMs(2_000),
    receiveCount: 1,
    sourceArn: null,
    ...fields,
  };
}

function completeRequest(request: Partial<HttpRequest>): HttpRequest {
  return {
    method: "GET",
    path: "/",
    query: "",
    headers: {},
    body: new Uint8Array(),
    bodyTooLarge: false,
    signal: new AbortController().signal,
    requestId: REQUEST_ID,
    ...request,
  };
}

function readReply(reply: HttpReply): WireReply {
  const headers: Record<string, string> = {};
  for (let i = 0; i < reply.headers.length; i += 2) {
    headers[reply.headers[i]!.toLowerCase()] = reply.headers[i + 1]!;
  }
  const { body } = reply;
  if (typeof body !== "string" && !(body instanceof Uint8Array)) throw new Error("a streamed body");
  const text = typeof body === "string" ? body : Buffer.from(body).toString();
  return {
    status: reply.status,
    headers,
    text,
    get value() {
      return JSON.parse(text);
    },
  };
}
