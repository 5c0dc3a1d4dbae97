// Routes: the read half of the API, one line per path. docs/reference/console-api.openapi.json
// describes them; a test compares both.

import { OUTCOMES, type OutcomeName } from "../../operate/history/record-outcomes.ts";
import { ACTION_ROUTES } from "./action-routes.ts";
import {
  type ConsoleCall,
  type ConsoleRoute,
  foundIn,
  knownScope,
  numberIn,
  pageIn,
  scopeIn,
  textIn,
} from "./console-call.ts";
import { refuseRequest } from "./console-reply.ts";
import { CONTROL_ROUTES } from "./control-routes.ts";

const OUTCOME_WORDS = Object.keys(OUTCOMES) as OutcomeName[];

function get(path: string, answer: ConsoleRoute["answer"]): ConsoleRoute {
  return { method: "GET", path, answer };
}

async function sessionOf({ source, settings }: ConsoleCall) {
  const { readOnly, pollMs, now, traceUrl } = settings;
  const pipelines = await source.watch.pipelines();
  const { version, embedded } = source;
  return { version, readOnly, embedded, pipelines, pollMs, now: now(), traceUrl };
}

async function recordsOf(call: ConsoleCall): Promise<object> {
  const scope = await scopeIn(call);
  if (scope === null) return { records: [], next: null, complete: true, looked: 0 };
  const word = textIn(call, "outcome");
  const outcome = OUTCOME_WORDS.find((each) => each === word) ?? null;
  if (word !== null && outcome === null) {
    const words = OUTCOME_WORDS.join(", ");
    refuseRequest(400, "InvalidOutcome", `unknown outcome; use one of ${words}`);
  }
  return call.source.watch.pages.records(scope, {
    ...pageIn(call),
    search: textIn(call, "search"),
    outcome,
    since: numberIn(call, "since"),
    until: numberIn(call, "until"),
    prefix: textIn(call, "prefix"),
  });
}

async function deadLettersOf(call: ConsoleCall): Promise<object> {
  const scope = await scopeIn(call);
  const page = pageIn(call);
  if (scope !== null) return call.source.watch.pages.deadLetterGroups(scope, page);
  return { at: call.settings.now(), groups: [], total: 0, more: false, next: null };
}

async function timeOf(call: ConsoleCall): Promise<object> {
  return call.source.watch.time(await knownScope(call));
}

/** A part of the cloud that this source may not have; `refusal` says so in a whole clause. */
function part<T>(value: T | null, refusal: string): T {
  return value ?? refuseRequest(501, "NotEmbedded", `${refusal}; use the AWS console`);
}

export const CONSOLE_ROUTES: readonly ConsoleRoute[] = [
  get("session", sessionOf),
  get("flow", async (call) => call.flows.now(await scopeIn(call))),
  get("flow/history", async (call) => call.flows.history(await scopeIn(call))),
  get("queues", (call) => call.source.cloud.queues(textIn(call, "prefix") ?? "", pageIn(call))),
  get("queues/{queue}", async (call) => {
    const [name = ""] = call.names;
    return foundIn(await call.source.cloud.queue(name), `the queue "${name}"`);
  }),
  get("queues/{queue}/messages", async (call) => {
    const [name = ""] = call.names;
    const peek = part(
      call.source.cloud.messages,
      "only the embedded cloud can show messages without receiving them",
    );
    return foundIn(await peek(name, pageIn(call)), `the queue "${name}"`);
  }),
  get("topics", (call) => {
    const topics = part(call.source.cloud.topics, "only the embedded cloud can show topics");
    return topics(textIn(call, "prefix") ?? "", pageIn(call));
  }),
  get("buckets", (call) => {
    const buckets = part(call.source.cloud.buckets, "only the embedded cloud can show buckets");
    return buckets(pageIn(call));
  }),
  get("buckets/{bucket}/objects", async (call) => {
    const [bucket = ""] = call.names;
    const objects = part(call.source.cloud.objects, "only the embedded cloud can show objects");
    const page = await objects(bucket, textIn(call, "prefix") ?? "", pageIn(call));
    return foundIn(page, `the bucket "${bucket}"`);
  }),
  get("records", recordsOf),
  get("records/{key}", async (call) => {
    const [key = ""] = call.names;
    const record = await call.source.watch.pages.record(await knownScope(call), key);
    return foundIn(record, `the record "${key}"`);
  }),
  get("dead-letters", deadLettersOf),
  get("dead-letters/{group}/items", async (call) => {
    const [group = ""] = call.names;
    const scope = await knownScope(call);
    const page = await call.source.watch.pages.deadLetters(scope, group, pageIn(call));
    return foundIn(page, `the group "${group}"`);
  }),
  get("time", timeOf),
  get("runs", async (call) => {
    const scope = await scopeIn(call);
    if (scope === null) return { runs: [], next: null };
    return call.source.watch.pages.runs(scope, pageIn(call));
  }),
  get("setup-check", async (call) => call.source.watch.setupCheck()),
  get("jobs", async ({ jobs }) => ({ jobs: jobs.list() })),
  get("jobs/{job}", async ({ jobs, names: [id = ""] }) =>
    foundIn(jobs.find(id), `the job "${id}"`),
  ),
  get("pipeline", async (call) => call.source.watch.pages.pipelineState(await knownScope(call))),
  get("replays", async (call) => {
    const scope = await scopeIn(call);
    if (scope === null) return { replays: [], next: null };
    return call.source.watch.pages.replays(scope, pageIn(call));
  }),
  get("replays/{run}", async (call) => {
    const [run = ""] = call.names;
    return foundIn(
      await call.source.watch.pages.replay(await knownScope(call), run),
      `the replay "${run}"`,
    );
  }),
  get("replays/{run}/diff", async (call) => {
    const [run = ""] = call.names;
    const diff = await call.source.watch.pages.replayDiff(await knownScope(call), run);
    return foundIn(diff, `the replay "${run}"`);
  }),
  get("audits", async (call) => {
    const scope = await scopeIn(call);
    if (scope === null) return { audits: [], next: null };
    return call.source.watch.pages.audits(scope, pageIn(call));
  }),
  get("audits/{audit}", async (call) => {
    const [id = ""] = call.names;
    return foundIn(
      await call.source.watch.pages.audit(await knownScope(call), id),
      `the audit "${id}"`,
    );
  }),
  ...ACTION_ROUTES,
  ...CONTROL_ROUTES,
];
