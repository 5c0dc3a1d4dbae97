// Console fake API: an in-memory server of the console's API for tests of the page.
//   F1. Every answer is checked against the OpenAPI file, so the fake cannot drift from the API.
//   F2. A test changes `state` and sees what the page makes of it.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { type AnswerShape, shapedAnswer } from "./console-answer-shapes.ts";
import {
  AUDIT,
  deadLetter,
  deadLetterGroup,
  FINDINGS,
  FLOW_HOPS,
  flowHistory,
  flowNodes,
  HOSTILE,
  HOSTILE_KEY,
  HOUR,
  OBJECT_KEY,
  PROBLEM,
  queuedMessage,
  REPLAY,
  REPLAY_DIFF,
  RUN,
  recordDetail,
  recordSummary,
  T0,
  TIME,
} from "./console-fixtures.ts";

export interface FakeReply {
  readonly status: number;
  readonly body: unknown;
}

export interface FakeCall {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: unknown;
}

type Json = Record<string, unknown>;

/** What the fake answers with; tests change it (F2). */
export class FakeConsoleState {
  readOnly = false;
  embedded = true;
  /** Nothing in any list. */
  empty = false;
  shape: AnswerShape = "full";
  backlog = 240;
  problems: readonly object[] = [PROBLEM];
  /** Paths that are refused, with the status. */
  refused: { path: RegExp; status: number } | null = null;
  /** Paths without an answer: the connection is cut, or the request waits. */
  withheld: { path: RegExp; how: "cut" | "wait" } | null = null;
  token: string | null = null;
  deadLetters = 12;
  messages = [
    queuedMessage(1, `{"Message":"${"x".repeat(40)}"}`),
    queuedMessage(2, HOSTILE, "in-flight"),
  ];
  objects: { key: string; size: number; etag: string; lastModified: number }[] = [
    { key: OBJECT_KEY, size: 1_240, etag: "0b1c", lastModified: T0 - HOUR },
    { key: HOSTILE_KEY, size: 12, etag: "dead", lastModified: T0 - HOUR },
  ];
  records = [
    recordSummary("k1:good", `s3://stations/${OBJECT_KEY}`, "committed"),
    recordSummary("k1:dead", `s3://stations/${HOSTILE_KEY}`, "dead-lettered"),
    recordSummary("k1:waits", "s3://stations/observations/waits.csv", "retrying"),
  ];
  moveTasks: object[] = [];
  paused: object | null = null;
  replay: Json | null = REPLAY;
  jobs: Json[] = [];
  calls: FakeCall[] = [];
  /** Bodies of all answers, as JSON. */
  answers: string[] = [];
}

const documentPath = join(import.meta.dirname, "../../docs/reference/console-api.openapi.json");
const openapi = JSON.parse(readFileSync(documentPath, "utf8"));
const ajv = new Ajv2020({ strict: false });
ajv.addSchema(openapi, "api");

/** Answers a call; throws if the answer does not match the OpenAPI file (F1). */
export function answerConsole(state: FakeConsoleState, call: FakeCall): FakeReply {
  state.calls.push(call);
  const { refused } = state;
  if (refused?.path.test(call.path)) {
    return failure(refused.status, `refused ${HOSTILE}; start with --allow-actions`);
  }
  if (call.path === "/login") {
    if ((call.body as Json).token !== state.token) return failure(401, "the token is wrong");
    state.token = null;
    return { status: 200, body: { done: true } };
  }
  if (state.token !== null) return failure(401, "a token is needed");
  if (call.method !== "GET" && state.readOnly) return failure(403, "the console is read-only");
  const route = ROUTES.find(({ method, path }) => method === call.method && path.test(call.path));
  if (route === undefined) return failure(404, `no path ${call.path}`);
  const match = route.path.exec(call.path) ?? [];
  const full = route.answer(state, call, decodeURIComponent(match[1] ?? ""));
  if (full === null) return failure(404, "not found");
  const body = shapedAnswer(openapi, route.schema, full, state.shape);
  const check = ajv.compile({ $ref: `api#/components/schemas/${route.schema}` });
  if (!check(body)) throw new Error(`${call.path}: ${ajv.errorsText(check.errors)}`);
  state.answers.push(JSON.stringify(body));
  return { status: call.method === "GET" ? 200 : 201, body };
}

function failure(status: number, message: string): FakeReply {
  return { status, body: { error: { code: "refused", message } } };
}

interface FakeRoute {
  readonly method: string;
  readonly path: RegExp;
  readonly schema: string;
  readonly answer: (state: FakeConsoleState, call: FakeCall, item: string) => unknown;
}

const route = (
  method: string,
  path: RegExp,
  schema: string,
  answer: FakeRoute["answer"],
): FakeRoute => ({ method, path, schema, answer });

const ROUTES: readonly FakeRoute[] = [
  route("GET", /^\/session$/, "Session", ({ readOnly, embedded }) => ({
    version: "0.1.0",
    readOnly,
    embedded,
    pipelines: [{ name: "stations", generation: 0, running: true }],
    pollMs: 1_000,
    now: T0,
    traceUrl: "http://127.0.0.1:9/trace/{traceId}",
  })),
  route("GET", /^\/flow$/, "Flow", ({ empty, backlog, problems, paused }) => ({
    at: T0,
    pipeline: empty ? null : "stations",
    generation: 0,
    nodes: empty ? [] : flowNodes(backlog),
    hops: empty ? [] : FLOW_HOPS,
    problems: empty ? [] : problems,
    paused,
  })),
  route("POST", /^\/pipeline\/pause$/, "PipelineState", (state, { body }) => {
    state.paused = { since: T0, by: HOSTILE, reason: String((body as Json).reason ?? "") };
    return { pipeline: "stations", generation: 0, paused: state.paused, processes: [] };
  }),
  route("POST", /^\/pipeline\/resume$/, "PipelineState", (state) => {
    state.paused = null;
    return { pipeline: "stations", generation: 0, paused: null, processes: [] };
  }),
  route("GET", /^\/flow\/history$/, "FlowHistory", ({ empty }) =>
    empty ? { stepMs: 30_000, times: [], series: [] } : flowHistory(),
  ),
  route("GET", /^\/queues$/, "QueueList", (state) => ({
    queues: state.empty ? [] : [queueSummary(state), deadLetterQueue()],
    next: null,
  })),
  route("GET", /^\/queues\/([^/]+)$/, "Queue", (state, _call, name) => ({
    ...(name === "stations-dead-letters" ? deadLetterQueue() : queueSummary(state)),
    sources: name === "stations-dead-letters" ? ["stations-events"] : [],
    attributes: { VisibilityTimeout: "30", Policy: HOSTILE },
    peekable: state.embedded,
    moveTasks: state.moveTasks,
  })),
  route("GET", /^\/queues\/([^/]+)\/messages$/, "MessageList", (state, _call, queue) => ({
    queue,
    messages: state.empty ? [] : state.messages,
    next: null,
  })),
  route("POST", /^\/queues\/([^/]+)\/messages$/, "SendResult", (state, { body }) => {
    state.messages.push(queuedMessage(state.messages.length + 1, String((body as Json).body)));
    return { messageId: "sent-1" };
  }),
  route("POST", /^\/queues\/([^/]+)\/purge$/, "Done", (state) => {
    state.messages = [];
    return { done: true };
  }),
  route("POST", /^\/queues\/([^/]+)\/redrive$/, "Done", (state) => {
    const task = { status: "RUNNING", moved: 3, toMove: 12, startedAt: T0 };
    state.moveTasks.push({ ...task, destination: null, failureReason: null });
    return { done: true };
  }),
  route("GET", /^\/topics$/, "TopicList", ({ empty }) => ({
    topics: empty ? [] : [topic()],
    next: null,
  })),
  route("GET", /^\/buckets$/, "BucketList", ({ empty }) => ({
    buckets: empty
      ? []
      : [{ name: "stations", createdAt: T0, isSource: true, prefix: "observations/" }],
    next: null,
  })),
  route("GET", /^\/buckets\/([^/]+)\/objects$/, "ObjectList", (state, { query }, bucket) => ({
    bucket,
    prefix: query.get("prefix") ?? "",
    folders: state.empty ? [] : ["observations/2026-03-01/"],
    objects: state.empty ? [] : state.objects,
    next: null,
  })),
  route("PUT", /^\/buckets\/([^/]+)\/objects$/, "UploadResult", (state, { query }, bucket) => {
    const key = query.get("key") ?? "";
    state.objects.push({ key, size: 4, etag: "up", lastModified: T0 });
    const record = recordSummary(`k1:${key}`, `s3://${bucket}/${key}`, "committed");
    state.records.push({ ...record, seenAt: T0 + 500 });
    return { bucket, key, etag: "up", size: 4 };
  }),
  route("GET", /^\/records$/, "RecordList", (state, { query }) => {
    const search = query.get("search") ?? "";
    const outcome = query.get("outcome");
    const records = state.records.filter(
      (each) =>
        each.name.includes(search) &&
        (outcome === null || each.outcome === outcome) &&
        !state.empty,
    );
    return { records, next: null, complete: true, looked: records.length };
  }),
  route("GET", /^\/records\/([^/]+)$/, "Record", (state, _call, key) => {
    const summary = state.records.find((each) => each.key === key);
    return summary === undefined ? null : recordDetail(summary);
  }),
  route("POST", /^\/records\/([^/]+)\/retry$/, "RetryResult", () => ({
    outcome: "retried",
    queue: "stations-events",
    message: "its message is visible in stations-events again",
  })),
  route("GET", /^\/dead-letters$/, "DeadLetterGroups", ({ empty, deadLetters }) => ({
    at: T0,
    groups: empty || deadLetters === 0 ? [] : [deadLetterGroup(deadLetters)],
    total: empty ? 0 : deadLetters,
    more: false,
    next: null,
  })),
  route("GET", /^\/dead-letters\/([^/]+)\/items$/, "DeadLetterList", ({ empty }) => ({
    items: empty ? [] : [deadLetter("k1:dead", `s3://stations/${HOSTILE_KEY}`)],
    next: null,
  })),
  route("POST", /^\/dead-letters\/redrive$/, "Job", (state, { body }) =>
    startJob(state, "redrive", body as Json),
  ),
  route("POST", /^\/dead-letters\/drop$/, "Job", (state, { body }) =>
    startJob(state, "drop", body as Json),
  ),
  route("POST", /^\/dead-letters\/edit$/, "EditResult", (_state, { body }) => ({
    messageId: "copy-message",
    queue: "stations-events",
    copyOf: (body as Json).key,
    copyId: "copy-1",
  })),
  route("GET", /^\/time$/, "Time", ({ empty }) =>
    empty ? { ...TIME, heldBy: null, partitions: [], held: NONE_HELD, windows: [] } : TIME,
  ),
  route("POST", /^\/late\/release$/, "Job", (state, { body }) =>
    startJob(state, "release", body as Json),
  ),
  route("GET", /^\/runs$/, "RunList", ({ empty }) => ({ runs: empty ? [] : [RUN], next: null })),
  route("GET", /^\/replays$/, "ReplayList", ({ empty, replay }) => ({
    replays: empty || replay === null ? [] : [replay],
    next: null,
  })),
  route("GET", /^\/replays\/([^/]+)$/, "Replay", ({ replay }) => replay),
  route("GET", /^\/replays\/([^/]+)\/diff$/, "ReplayDiff", () => REPLAY_DIFF),
  route("POST", /^\/replays\/([^/]+)\/promote$/, "Promotion", (state) => {
    state.replay = { ...REPLAY, state: "promoted" };
    return { appliedObjects: 23, keptObjects: 1, messages: 0 };
  }),
  route("POST", /^\/replays\/([^/]+)\/drop$/, "Done", (state) => {
    state.replay = null;
    return { done: true };
  }),
  route("GET", /^\/audits$/, "AuditList", ({ empty }) => ({
    audits: empty ? [] : [AUDIT],
    next: null,
  })),
  route("GET", /^\/audits\/([^/]+)$/, "Audit", (_state, _call, id) =>
    id === AUDIT.id ? AUDIT : null,
  ),
  route("GET", /^\/setup-check$/, "SetupCheck", ({ empty }) => ({
    at: T0,
    findings: empty ? [] : FINDINGS,
    checked: 30,
    unknown: [`the queue policy ${HOSTILE}`],
  })),
  route("GET", /^\/jobs$/, "JobList", ({ jobs }) => ({ jobs: jobs.toReversed() })),
  route("GET", /^\/jobs\/([^/]+)$/, "Job", ({ jobs }, _call, id) => {
    return jobs.find((job) => job.id === id) ?? null;
  }),
  route("POST", /^\/jobs\/([^/]+)\/cancel$/, "Job", ({ jobs }, _call, id) => {
    const job = jobs.find((each) => each.id === id);
    if (job === undefined) return null;
    return Object.assign(job, { state: "stopped", endedAt: T0, stoppedBecause: "cancelled" });
  }),
];

const NONE_HELD = { count: 0, more: false, items: [] };

function startJob(state: FakeConsoleState, kind: string, body: Json): Json {
  const dryRun = body.dryRun === true;
  const name = `s3://stations/${HOSTILE_KEY}`;
  const step = dryRun ? "planned" : "sent";
  const job = {
    id: `job-${state.jobs.length + 1}`,
    kind,
    state: dryRun ? "done" : "running",
    dryRun,
    startedAt: T0,
    endedAt: dryRun ? T0 : null,
    total: state.deadLetters,
    counts: { [step]: 1 },
    stoppedBecause: null,
    error: null,
    items: [{ at: T0, key: "k1:dead", name, step, detail: HOSTILE }],
  };
  state.jobs.push(job);
  return job;
}

function queueSummary({ backlog }: FakeConsoleState) {
  return {
    name: "stations-events",
    fifo: false,
    visible: backlog,
    delayed: 3,
    inFlight: 8,
    oldestAgeMs: 42_000,
    role: "source",
    deadLetterQueue: "stations-dead-letters",
  };
}

function deadLetterQueue() {
  return {
    name: "stations-dead-letters",
    fifo: false,
    visible: 12,
    delayed: 0,
    inFlight: 0,
    oldestAgeMs: 7_200_000,
    role: "dead-letter",
    deadLetterQueue: null,
  };
}

function topic() {
  const arn = "arn:aws:sns:us-east-1:000000000000:stations-objects";
  return {
    name: "stations-objects",
    arn,
    fifo: false,
    subscriptions: [
      {
        protocol: "sqs",
        endpoint: "arn:aws:sqs:us-east-1:000000000000:stations-events",
        arn: `${arn}:1`,
      },
      { protocol: "http", endpoint: `http://${HOSTILE}`, arn: `${arn}:2` },
    ],
    dropped: 0,
    pending: 0,
  };
}
