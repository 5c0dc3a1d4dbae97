// Action routes: the half of the API that changes something. Each needs --allow-actions, a JSON
// body and, where it deletes, a confirmation.
//   A1. A drop names how many dead letters it deletes, and a release how many records it sends
//       back. If the number differs, nothing is changed.
//   A2. A purge names its queue twice: in the path and in the body.

import type { DeadLetterSelection, DropEvent, RedriveEvent } from "../../operate/dead-letters.ts";
import { REDRIVE_DEFAULTS } from "../../operate/defaults.ts";
import type { ReleaseEvent } from "../../operate/late.ts";
import type { Operator } from "../../operate/open-operator.ts";
import {
  type ConsoleCall,
  type ConsoleRoute,
  foundIn,
  knownScope,
  operatorOf,
  post,
  textIn,
} from "./console-call.ts";
import { actionReply, refuseRequest } from "./console-reply.ts";
import type { JobKind, JobStart, JobStep } from "./jobs.ts";
import { aFlag, aNumber, anObject, aText, readOrder, required, texts } from "./read-order.ts";

const AGE_MS_MAX = 10 * 365 * 86_400_000;
const LIMIT_MAX = 100_000;
const RATE_MAX = 1_000;
const MOVES_PER_SECOND_MAX = 500;
const FOLLOW_S_MAX = 86_400;
const DELAY_S_MAX = 900;
const ATTRIBUTES_MAX = 10;
const SECOND_MS = 1_000;
const PERCENT = 100;
const CREATED = 201;
const ACCEPTED = 202;

const filter = anObject({
  errorClass: aText,
  fingerprint: aText,
  key: aText,
  olderThanMs: aNumber(0, AGE_MS_MAX),
  newerThanMs: aNumber(0, AGE_MS_MAX),
});
const held = anObject({ key: aText, prefix: aText });
const limit = aNumber(1, LIMIT_MAX);

/** The operator of an action that needs the pipeline's queue; the caller closes it. */
async function withQueue(call: ConsoleCall): Promise<Operator> {
  const { operator, watch } = call.source;
  if (operator.queue !== undefined && (await watch.hasLedger())) {
    return operatorOf(call, await knownScope(call));
  }
  const message =
    "the console knows no queue of this pipeline; use tidegate console --pipeline FILE";
  return refuseRequest(409, "NoPipeline", message);
}

/** Starts a job that closes the operator at its end; what fails before closes it, too. */
async function startJob(
  call: ConsoleCall,
  { kind, dryRun = false }: { readonly kind: JobKind; readonly dryRun: boolean | undefined },
  begin: (operator: Operator) => Promise<Pick<JobStart, "total" | "begin">>,
) {
  const operator = await withQueue(call);
  try {
    const job = await begin(operator);
    const close = () => operator.close();
    return actionReply(ACCEPTED, call.jobs.start({ kind, dryRun, ...job, close }));
  } catch (error) {
    await operator.close();
    throw error;
  }
}

type JobFilter = ReturnType<typeof filter>;

function selectionOf({ errorClass, ...rest }: JobFilter): DeadLetterSelection {
  return { ...rest, class: errorClass };
}

async function countDeadLetters(operator: Operator, selection: DeadLetterSelection) {
  let count = 0;
  for await (const _ of operator.deadLetters.list(selection)) count += 1;
  return count;
}

async function redrive(call: ConsoleCall) {
  const order = readOrder(call.request, {
    filter,
    dryRun: aFlag,
    perSecond: aNumber(1, RATE_MAX),
    limit,
    followSeconds: aNumber(0, FOLLOW_S_MAX),
    stopAfter: aNumber(1, LIMIT_MAX),
    stopPercent: aNumber(0, 100),
  });
  const selection = selectionOf(required(order.filter, "filter"));
  const { dryRun, perSecond, followSeconds, stopAfter, stopPercent } = order;
  const { stop } = REDRIVE_DEFAULTS;
  const failuresMin = stopAfter ?? stop.failuresMin;
  const failedShareMax = stopPercent === undefined ? stop.failedShareMax : stopPercent / PERCENT;
  const request = {
    dryRun,
    perSecond,
    limit: order.limit,
    followMs: followSeconds === undefined ? undefined : followSeconds * SECOND_MS,
    stop: { failuresMin, failedShareMax },
  };
  return startJob(call, { kind: "redrive", dryRun }, async (operator) => ({
    total: await countDeadLetters(operator, selection),
    begin(signal) {
      const run = operator.deadLetters.redrive(selection, { ...request, signal });
      const stopped = async () => (await run.result()).stopped;
      return { steps: stepsOf(call, run, redriveStep), stopped };
    },
  }));
}

async function drop(call: ConsoleCall) {
  const order = readOrder(call.request, {
    filter,
    dryRun: aFlag,
    confirmCount: aNumber(0, LIMIT_MAX),
  });
  const selection = selectionOf(required(order.filter, "filter"));
  const { dryRun } = order;
  return startJob(call, { kind: "drop", dryRun }, async (operator) => {
    const total = await countDeadLetters(operator, selection);
    checkCount(order, total, "dead letters now", "deleted");
    return {
      total,
      begin: (signal) => {
        const run = operator.deadLetters.drop(selection, { dryRun, signal });
        return { steps: stepsOf(call, run, dropStep) };
      },
    };
  });
}

async function release(call: ConsoleCall) {
  const order = readOrder(call.request, {
    filter: held,
    dryRun: aFlag,
    confirmCount: aNumber(0, LIMIT_MAX),
  });
  const selection = required(order.filter, "filter");
  const { dryRun } = order;
  return startJob(call, { kind: "release", dryRun }, async ({ late }) => {
    const { planned, refused } = await late.release(selection, { dryRun: true }).result();
    const total = planned + refused;
    checkCount(order, total, "held records now", "released");
    return {
      total,
      begin: (signal) => {
        const run = late.release(selection, { dryRun, signal });
        return { steps: stepsOf(call, run, releaseStep) };
      },
    };
  });
}

/** A1 */
function checkCount(
  { dryRun, confirmCount }: { readonly dryRun?: boolean; readonly confirmCount?: number },
  total: number,
  what: string,
  done: string,
): void {
  if (dryRun === true || required(confirmCount, "confirmCount") === total) return;
  const message = `the filter matches ${total} ${what}, not ${confirmCount}; nothing was ${done}`;
  refuseRequest(409, "CountDiffers", message);
}

/** The steps of an action, with their names masked. */
async function* stepsOf<Event>(
  { source: { views } }: ConsoleCall,
  events: AsyncIterable<Event>,
  stepOf: (event: Event) => JobStep,
): AsyncGenerator<JobStep> {
  for await (const event of events) {
    const step = stepOf(event);
    yield { ...step, name: views.name(step.name) };
  }
}

function redriveStep(event: RedriveEvent): JobStep {
  const { key, object } = event.item;
  const step = event.kind === "ended" ? event.end : event.kind;
  const detail = event.kind === "refused" ? event.reason : null;
  return { key, name: object ?? key, step, detail };
}

function dropStep(event: DropEvent): JobStep {
  const { key, object } = event.item;
  const detail = event.kind === "skipped" ? event.reason : null;
  return { key, name: object ?? key, step: event.kind, detail };
}

function releaseStep(event: ReleaseEvent): JobStep {
  const { record_key: key, about } = event.note;
  const detail = event.kind === "refused" ? event.reason : null;
  return { key, name: about ?? key, step: event.kind, detail };
}

async function edit(call: ConsoleCall) {
  const given = readOrder(call.request, { key: aText, body: aText });
  const [key, body] = [required(given.key, "key"), required(given.body, "body")];
  await using operator = await withQueue(call);
  const edited = foundIn(await operator.deadLetters.edit(key, body), `the dead letter "${key}"`);
  return actionReply(CREATED, { ...edited, copyId: edited.messageId });
}

async function send(call: ConsoleCall) {
  const [queue = ""] = call.names;
  const given = readOrder(call.request, {
    body: aText,
    groupId: aText,
    deduplicationId: aText,
    delaySeconds: aNumber(0, DELAY_S_MAX),
    attributes: texts,
  });
  if (Object.keys(given.attributes ?? {}).length > ATTRIBUTES_MAX) {
    refuseRequest(400, "InvalidField", `a message has at most ${ATTRIBUTES_MAX} attributes`);
  }
  const order = { ...given, body: required(given.body, "body") };
  const sent = await call.source.cloud.send(queue, order);
  return actionReply(CREATED, foundIn(sent, `the queue "${queue}"`));
}

async function purge(call: ConsoleCall) {
  const [queue = ""] = call.names;
  const { confirm } = readOrder(call.request, { confirm: aText });
  if (required(confirm, "confirm") !== queue) {
    const message = `"confirm" must be the name of the queue, "${queue}"; nothing was deleted`;
    refuseRequest(409, "NotConfirmed", message); // A2
  }
  const done = await call.source.cloud.purge(queue);
  return actionReply(200, { done: foundIn(done || null, `the queue "${queue}"`) });
}

async function moveBack(call: ConsoleCall) {
  const [queue = ""] = call.names;
  const { perSecond } = readOrder(call.request, { perSecond: aNumber(1, MOVES_PER_SECOND_MAX) });
  const done = await call.source.cloud.redrive(queue, perSecond ?? null);
  return actionReply(ACCEPTED, { done: foundIn(done || null, `the queue "${queue}"`) });
}

async function upload(call: ConsoleCall) {
  const [bucket = ""] = call.names;
  const key = textIn(call, "key");
  if (key === null) return refuseRequest(400, "MissingKey", "the parameter key is missing; add it");
  const { upload: put } = call.source.cloud;
  if (put === null) {
    return refuseRequest(501, "NotEmbedded", "objects can be uploaded only to the embedded cloud");
  }
  return put(bucket, key, call.request);
}

export const ACTION_ROUTES: readonly ConsoleRoute[] = [
  post("queues/{queue}/messages", send),
  post("queues/{queue}/purge", purge),
  post("queues/{queue}/redrive", moveBack),
  { method: "PUT", path: "buckets/{bucket}/objects", action: true, answer: upload },
  post("dead-letters/redrive", redrive),
  post("dead-letters/drop", drop),
  post("dead-letters/edit", edit),
  post("late/release", release),
  post("jobs/{job}/cancel", async ({ jobs, request, names: [id = ""] }) => {
    readOrder(request, {});
    return actionReply(200, foundIn(jobs.cancel(id), `the job "${id}"`));
  }),
];
