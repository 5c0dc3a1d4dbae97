// AWS JSON 1.0: the action is in a header; input and output are JSON.
//   J1. An action without output returns an empty body; one with empty output returns {}.
//   J2. Every response has x-amzn-RequestId. Every fault also has x-amzn-query-error; without it
//       the JavaScript SDK cannot choose its exception class.
//   J3. This is the hot path: one lookup, one parse, one check, one write.

import { mediaTypeOf } from "../../../core/media-type-of.ts";
import { type Result, succeed } from "../../../core/result.ts";
import type { HttpReply, HttpRequest } from "../../../ports/http/http.ts";
import { isDropped } from "../../engine/request-faults.ts";
import { type Fault, refuse } from "../../model/fault.ts";
import { callerOf } from "../auth/caller-of.ts";
import { refuseAction } from "../auth/coral-access.ts";
import { NO_ANSWER, runAction } from "../faults/injection.ts";
import { SQS_ACTIONS } from "../sqs/sqs-actions.ts";
import { SQS_ERRORS } from "../sqs/sqs-errors.ts";
import type { Action, RequestCall, ServerContext } from "./call.ts";
import { reportFailure } from "./failure.ts";
import { unknownOperation } from "./unknown-operation.ts";
import { decodeUtf8 } from "./utf8.ts";

const CONTENT_TYPE = "application/x-amz-json-1.0";

const TARGETS: ReadonlyMap<string, Action> = new Map(
  SQS_ACTIONS.map((action) => [`AmazonSQS.${action.name}`, action]),
);

export async function answerJson(
  server: ServerContext,
  request: HttpRequest,
  target: string,
): Promise<HttpReply> {
  if (!isJson(request.headers)) return unknownOperation(request);
  if (request.bodyTooLarge) return faultReply(request, TOO_LARGE);
  const action = TARGETS.get(target);
  if (action === undefined) return faultReply(request, unknownTarget(target));
  const caller = callerOf(server, request, "sqs");
  if (!caller.ok) return faultReply(request, caller.fault);
  const input = parseInput(action, request.body);
  if (!input.ok) return faultReply(request, input.fault);
  const call: RequestCall = { server, request, caller: caller.value, protocol: "json" };
  try {
    const refused = refuseAction(call, "sqs", action, input.value);
    if (refused !== null) return faultReply(request, refused.fault);
    const outcome = await runAction("queue", call, action, input.value);
    if (!outcome.ok) return faultReply(request, outcome.fault);
    const body = outcome.value === null ? "" : action.writeJson(outcome.value); // J1
    return { status: 200, headers: responseHeaders(request), body };
  } catch (error) {
    if (isDropped(error)) return NO_ANSWER;
    return faultReply(request, reportFailure(server, request, error));
  }
}

const TOO_LARGE: Fault = {
  name: "RequestTooLarge",
  message: "The request body is longer than this endpoint reads.",
};

function unknownTarget(target: string): Fault {
  const name = target.slice(target.indexOf(".") + 1, 256);
  return { name: "InvalidAction", message: `The action ${name} is not valid for this endpoint.` };
}

/** A body of another content type is not addressed to this protocol. */
function isJson(headers: HttpRequest["headers"]): boolean {
  const { "content-type": given } = headers;
  if (given === CONTENT_TYPE || given === undefined) return true;
  const type = mediaTypeOf(headers);
  return type.startsWith("application/x-amz-json-") || type === "application/json";
}

function parseInput(action: Action, body: Uint8Array): Result<object, Fault> {
  const text = decodeUtf8(body);
  if (text === null) return refuse("MalformedInput", "The request body is not UTF-8.");
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return refuse("MalformedInput", "The request body is not JSON.");
  }
  const wrong = action.check(value);
  return wrong === null ? succeed(value as object) : refuse("MalformedInput", wrong);
}

function faultReply(request: HttpRequest, fault: Fault): HttpReply {
  const error = SQS_ERRORS[fault.name];
  const headers = responseHeaders(request);
  headers.push("x-amzn-query-error", `${error.code};${error.side}`); // J2
  const body = JSON.stringify({ __type: error.type, message: fault.message });
  return { status: error.status, headers, body };
}

function responseHeaders(request: HttpRequest): string[] {
  return ["x-amzn-RequestId", request.requestId, "Content-Type", CONTENT_TYPE];
}
