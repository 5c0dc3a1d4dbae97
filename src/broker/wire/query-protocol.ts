// The query protocol: actions by URL or form, answers in XML. It is what SQS spoke alone until
// 2023, and what older SDKs, API Gateway and people with curl still speak.
//   Y1. On the URL of a queue only actions about a queue are valid, and the path stands for a
//       QueueUrl that was not given.
//   Y2. A request without an action is none of this protocol's.
//   Y3. No credentials are checked, so a web page must not be able to call: a browser says where
//       a request comes from, and one that comes from elsewhere is refused. (JSON requests need no
//       such rule, as no page can send their header without asking first, and is never let.)

import type { HttpReply, HttpRequest } from "../../ports/http.ts";
import type { Fault } from "../model/fault.ts";
import type { Action, Call, Site } from "./call.ts";
import { reportFailure } from "./failure.ts";
import { FAULT_FACES, queryMessage } from "./faults.ts";
import { decodeInput, type ParameterNode, readParameters } from "./query-input.ts";
import {
  type QueryError,
  writeJsonError,
  writeJsonResponse,
  writeXmlError,
  writeXmlResponse,
} from "./query-output.ts";
import { isQueuePath } from "./queue-url.ts";
import { isForQueueUrl, SQS_ACTIONS } from "./sqs-actions.ts";
import { unknownOperation } from "./unknown-operation.ts";

const ACTIONS: ReadonlyMap<string, Action> = new Map(
  SQS_ACTIONS.map((action) => [action.name, action]),
);

const TOO_LARGE: Fault = {
  name: "RequestTooLarge",
  message: "The request body is longer than this endpoint reads.",
};

const FOREIGN_PAGE: Fault = {
  name: "AccessDenied",
  message: "A page of another site may not call this endpoint.",
};

export async function answerQuery(site: Site, request: HttpRequest): Promise<HttpReply> {
  if (request.method !== "GET" && request.method !== "POST") return unknownOperation(request);
  if (request.bodyTooLarge) return faultReply(request, TOO_LARGE);
  const root = readParameters(request);
  if ("ok" in root) return faultReply(request, root.fault);
  const name = root.children.get("Action")?.value;
  if (!name) return unknownOperation(request); // Y2
  if (isForeignPage(request)) return faultReply(request, FOREIGN_PAGE); // Y3
  const action = ACTIONS.get(name);
  const onQueue = isQueuePath(request);
  if (action === undefined || (onQueue && !isForQueueUrl(action))) {
    return faultReply(request, invalidAction(name)); // Y1
  }
  return run(site, request, action, root, onQueue);
}

/** Whether a browser sent this on behalf of a page that is not ours (Y3). */
export function isForeignPage(request: HttpRequest): boolean {
  const from = request.headers["sec-fetch-site"];
  return from !== undefined && from !== "same-origin" && from !== "none";
}

async function run(
  site: Site,
  request: HttpRequest,
  action: Action,
  root: ParameterNode,
  onQueue: boolean,
): Promise<HttpReply> {
  const decoded = decodeInput(action.input, root);
  if ("ok" in decoded) return faultReply(request, (decoded as { fault: Fault }).fault);
  const input = onQueue ? { QueueUrl: request.path, ...decoded } : decoded; // Y1
  const call: Call = { site, request, protocol: "query" };
  try {
    const outcome = await action.run(call, input);
    if (!outcome.ok) return faultReply(request, outcome.fault);
    const write = wantsJson(request) ? writeJsonResponse : writeXmlResponse;
    const body = write(action.name, action.output, outcome.value, request.requestId);
    return { status: 200, headers: plainHeaders(request), body };
  } catch (error) {
    return faultReply(request, reportFailure(site, request, error));
  }
}

function invalidAction(name: string): Fault {
  const shown = name.slice(0, 256);
  return { name: "InvalidAction", message: `The action ${shown} is not valid for this endpoint.` };
}

function faultReply(request: HttpRequest, fault: Fault): HttpReply {
  const { side, code, status } = FAULT_FACES[fault.name];
  const error: QueryError = { side, code, message: queryMessage(fault) };
  const write = wantsJson(request) ? writeJsonError : writeXmlError;
  return { status, headers: plainHeaders(request), body: write(error, request.requestId) };
}

function wantsJson(request: HttpRequest): boolean {
  return request.headers.accept?.includes("application/json") === true;
}

function plainHeaders(request: HttpRequest): string[] {
  const type = wantsJson(request) ? "application/json" : "text/xml";
  return ["x-amzn-RequestId", request.requestId, "Content-Type", type];
}
