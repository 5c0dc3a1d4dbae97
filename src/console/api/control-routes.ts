// Control routes: orders to a pipeline, to one record and to a replay. Like every action, each
// needs --allow-actions.
//   C1. What replaces or deletes rows names its replay twice: in the path and in the body.

import type { ConsoleControls } from "../../ports/console/console-source.ts";
import { type ConsoleCall, type ConsoleRoute, foundIn, knownScope } from "./console-call.ts";
import { actionReply, refuseRequest } from "./console-reply.ts";
import { aText, readOrder, required } from "./read-order.ts";

const REASON_CHARS_MAX = 500;

function post(path: string, answer: ConsoleRoute["answer"]): ConsoleRoute {
  return { method: "POST", path, action: true, answer };
}

function controlsOf({ source }: ConsoleCall): ConsoleControls {
  if (source.controls !== null) return source.controls;
  return refuseRequest(409, "NoLedger", "the ledger does not exist yet; start a pipeline first");
}

async function pause(call: ConsoleCall) {
  const controls = controlsOf(call);
  const scope = await knownScope(call);
  const { reason = "" } = readOrder(call.request, { reason: aText });
  if (reason.length > REASON_CHARS_MAX) {
    refuseRequest(400, "InvalidField", `reason is too long; use ${REASON_CHARS_MAX} characters`);
  }
  return actionReply(200, await controls.pause(scope, reason));
}

async function resume(call: ConsoleCall) {
  const controls = controlsOf(call);
  const scope = await knownScope(call);
  readOrder(call.request, {});
  return actionReply(200, await controls.resume(scope));
}

async function retry(call: ConsoleCall) {
  const [key = ""] = call.names;
  const controls = controlsOf(call);
  const scope = await knownScope(call);
  readOrder(call.request, {});
  return actionReply(200, foundIn(await controls.retry(scope, key), `the record "${key}"`));
}

/** The replay that path and body name, both the same (C1). */
async function confirmedRun(call: ConsoleCall) {
  const [run = ""] = call.names;
  const controls = controlsOf(call);
  const scope = await knownScope(call);
  const { confirm } = readOrder(call.request, { confirm: aText });
  if (required(confirm, "confirm") !== run) {
    refuseRequest(409, "NotConfirmed", `"confirm" must be the run "${run}"; nothing was changed`);
  }
  foundIn(await call.source.reads.replay(scope, run), `the replay "${run}"`);
  return { run, controls, scope };
}

async function promote(call: ConsoleCall) {
  const { run, controls, scope } = await confirmedRun(call);
  return actionReply(200, await controls.promote(scope, run));
}

async function dropReplay(call: ConsoleCall) {
  const { run, controls, scope } = await confirmedRun(call);
  await controls.dropReplay(scope, run);
  return actionReply(200, { done: true });
}

export const CONTROL_ROUTES: readonly ConsoleRoute[] = [
  post("pipeline/pause", pause),
  post("pipeline/resume", resume),
  post("records/{key}/retry", retry),
  post("replays/{run}/promote", promote),
  post("replays/{run}/drop", dropReplay),
];
