// Action routes: the half of the API that changes something. Each needs --allow-actions, a JSON
// body and, where it deletes, a confirmation.
//   A1. A drop names how many dead letters it deletes, and a release how many records it sends
//       back. If the number differs, nothing is changed.
//   A2. A purge names its queue twice: in the path and in the body.

import type { ConsoleActions } from "../../ports/console/console-source.ts";
import {
  type ConsoleCall,
  type ConsoleRoute,
  foundIn,
  knownScope,
  textIn,
} from "./console-call.ts";
import { actionReply, refuseRequest } from "./console-reply.ts";
import { aFlag, aNumber, anObject, aText, readOrder, required, texts } from "./read-order.ts";

const AGE_MS_MAX = 10 * 365 * 86_400_000;
const LIMIT_MAX = 100_000;
const RATE_MAX = 1_000;
const MOVES_PER_SECOND_MAX = 500;
const FOLLOW_S_MAX = 86_400;
const DELAY_S_MAX = 900;
const ATTRIBUTES_MAX = 10;
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

function post(path: string, answer: ConsoleRoute["answer"]): ConsoleRoute {
  return { method: "POST", path, action: true, answer };
}

function actionsOf({ source }: ConsoleCall): ConsoleActions {
  if (source.actions !== null) return source.actions;
  const message =
    "the console knows no queue of this pipeline; use tidegate console --pipeline FILE";
  return refuseRequest(409, "NoPipeline", message);
}

async function redrive(call: ConsoleCall) {
  const actions = actionsOf(call);
  const scope = await knownScope(call);
  const given = readOrder(call.request, {
    filter,
    dryRun: aFlag,
    perSecond: aNumber(1, RATE_MAX),
    limit,
    followSeconds: aNumber(0, FOLLOW_S_MAX),
    stopAfter: aNumber(1, LIMIT_MAX),
    stopPercent: aNumber(0, 100),
  });
  const order = { ...given, filter: required(given.filter, "filter") };
  const job = call.jobs.start({
    kind: "redrive",
    dryRun: order.dryRun === true,
    total: await actions.countDeadLetters(scope, order.filter),
    begin: (signal) => actions.redrive(scope, order, signal),
  });
  return actionReply(ACCEPTED, job);
}

async function drop(call: ConsoleCall) {
  const actions = actionsOf(call);
  const scope = await knownScope(call);
  const given = readOrder(call.request, {
    filter,
    dryRun: aFlag,
    confirmCount: aNumber(0, LIMIT_MAX),
  });
  const order = { ...given, filter: required(given.filter, "filter") };
  const total = await actions.countDeadLetters(scope, order.filter);
  if (order.dryRun !== true && required(order.confirmCount, "confirmCount") !== total) {
    refuseRequest(
      409,
      "CountDiffers",
      `the filter matches ${total} dead letters now, not ${order.confirmCount}; nothing was deleted`,
    ); // A1
  }
  const job = call.jobs.start({
    kind: "drop",
    dryRun: order.dryRun === true,
    total,
    begin: (signal) => actions.drop(scope, order, signal),
  });
  return actionReply(ACCEPTED, job);
}

async function release(call: ConsoleCall) {
  const actions = actionsOf(call);
  const scope = await knownScope(call);
  const given = readOrder(call.request, {
    filter: held,
    dryRun: aFlag,
    confirmCount: aNumber(0, LIMIT_MAX),
  });
  const order = { ...given, filter: required(given.filter, "filter") };
  if (order.dryRun !== true) required(order.confirmCount, "confirmCount");
  const total = await actions.countHeld(scope, order.filter);
  if (order.dryRun !== true && order.confirmCount !== total) {
    refuseRequest(
      409,
      "CountDiffers",
      `the filter matches ${total} held records now, not ${order.confirmCount}; nothing was released`,
    ); // A1
  }
  const job = call.jobs.start({
    kind: "release",
    dryRun: order.dryRun === true,
    total,
    begin: (signal) => actions.release(scope, order, signal),
  });
  return actionReply(ACCEPTED, job);
}

async function edit(call: ConsoleCall) {
  const actions = actionsOf(call);
  const scope = await knownScope(call);
  const given = readOrder(call.request, { key: aText, body: aText });
  const order = { key: required(given.key, "key"), body: required(given.body, "body") };
  const edited = await actions.edit(scope, order);
  return actionReply(CREATED, foundIn(edited, `the dead letter "${order.key}"`));
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
