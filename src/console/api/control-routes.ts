// Control routes: orders to a pipeline, to one record and to a replay. Like every action, each
// needs --allow-actions.
//   C1. What replaces or deletes rows names its replay twice: in the path and in the body.

import { retryText } from "../../operate/history/retry-record.ts";
import type { Operator } from "../../operate/open-operator.ts";
import { isOwn } from "../../operate/pages/open-watch.ts";
import {
  type ConsoleCall,
  type ConsoleRoute,
  foundIn,
  knownScope,
  operatorOf,
  post,
} from "./console-call.ts";
import { actionReply, refuseRequest } from "./console-reply.ts";
import { aText, readOrder, required } from "./read-order.ts";

const REASON_CHARS_MAX = 500;

async function pause(call: ConsoleCall) {
  const { reason = "" } = readOrder(call.request, { reason: aText });
  if (reason.length > REASON_CHARS_MAX) {
    refuseRequest(400, "InvalidField", `reason is too long; use ${REASON_CHARS_MAX} characters`);
  }
  await using operator = await operatorOf(call, await knownScope(call));
  const { status } = await operator.control.pause({ by: call.settings.by, reason });
  return actionReply(200, status);
}

async function resume(call: ConsoleCall) {
  readOrder(call.request, {});
  await using operator = await operatorOf(call, await knownScope(call));
  return actionReply(200, (await operator.control.resume()).status);
}

async function retry(call: ConsoleCall) {
  const [key = ""] = call.names;
  const scope = await knownScope(call);
  readOrder(call.request, {});
  await using operator = await operatorOf(call, scope);
  foundIn(await call.source.watch.pages.record(scope, key), `the record "${key}"`);
  const [retried] = await operator.history.retry(key);
  const { outcome } = foundIn(retried ?? null, `the record "${key}"`);
  const queue = "queue" in outcome ? outcome.queue : null;
  const message = retryText(outcome, key, call.settings.now());
  return actionReply(200, { outcome: outcome.kind, queue, message });
}

/** Runs an order about the replay that path and body name, both the same (C1). */
async function confirmed<T>(
  call: ConsoleCall,
  order: (operator: Operator, run: string) => Promise<T>,
): Promise<T> {
  const [run = ""] = call.names;
  const scope = await knownScope(call);
  const { confirm } = readOrder(call.request, { confirm: aText });
  if (required(confirm, "confirm") !== run) {
    refuseRequest(409, "NotConfirmed", `"confirm" must be the run "${run}"; nothing was changed`);
  }
  await using operator = await operatorOf(call, scope);
  foundIn(await call.source.watch.pages.replay(scope, run), `the replay "${run}"`);
  if (!isOwn(call.source.operator.pipeline, scope)) {
    const message = "replays need the pipeline file; start the console with --pipeline FILE";
    refuseRequest(409, "TG_REPLAY_REFUSED", message);
  }
  return await order(operator, run);
}

async function promote(call: ConsoleCall) {
  const promotion = await confirmed(call, ({ replays }, run) => replays.promote(run));
  const { appliedObjects, keptObjects, messages } = promotion;
  return actionReply(200, { appliedObjects, keptObjects, messages });
}

async function dropReplay(call: ConsoleCall) {
  await confirmed(call, ({ replays }, run) => replays.drop(run));
  return actionReply(200, { done: true });
}

export const CONTROL_ROUTES: readonly ConsoleRoute[] = [
  post("pipeline/pause", pause),
  post("pipeline/resume", resume),
  post("records/{key}/retry", retry),
  post("replays/{run}/promote", promote),
  post("replays/{run}/drop", dropReplay),
];
