// The query protocol: actions by URL or form, responses in XML. SNS uses it; SQS used only it until
// 2023; older SDKs, API Gateway and people with curl still use it.
//   Y1. On the URL of a queue only queue actions are valid, and the path is the default QueueUrl.
//   Y2. A request without an action does not belong to this protocol.
//   Y3. Without keys, signatures are not checked, so a web page must not be able to call: a request
//       that a browser marks as cross-site is refused. (JSON requests do not need this rule: a page
//       cannot send their header without a preflight, which the server never grants.)
//   Y4. An image or a link makes a browser send a GET, without an Origin. So a GET that changes
//       something must be signed. Under a local name a presigned query is enough, because Y3
//       refuses pages there. Links in notifications are not signed: no page knows their content.

import { isForeignPage } from "../../../core/foreign-page.ts";
import type { HttpReply, HttpRequest } from "../../../ports/http/http.ts";
import { isDropped } from "../../engine/request-faults.ts";
import type { Fault } from "../../model/fault.ts";
import { callerOf } from "../auth/caller-of.ts";
import { refuseAction } from "../auth/coral-access.ts";
import { NO_ANSWER, runAction } from "../faults/injection.ts";
import { isQueuePath } from "../sqs/queue-url.ts";
import type { Action, RequestCall, ServerContext } from "./call.ts";
import { reportFailure } from "./failure.ts";
import { isLocalHost } from "./host-guard.ts";
import { decodeInput, type ParameterNode, readParameters } from "./query-input.ts";
import {
  type QueryError,
  writeJsonError,
  writeJsonResponse,
  writeXmlError,
  writeXmlResponse,
} from "./query-output.ts";
import { type QueryService, SQS_QUERY, serviceOf } from "./query-service.ts";
import { hasSignatureHeader, isSigned } from "./signature.ts";
import { unknownOperation } from "./unknown-operation.ts";

const TOO_LARGE: Fault = {
  name: "RequestTooLarge",
  message: "The request body is longer than this endpoint reads.",
};

const FOREIGN_PAGE: Fault = {
  name: "AccessDenied",
  message: "A page of another site may not call this endpoint.",
};

export async function answerQuery(server: ServerContext, request: HttpRequest): Promise<HttpReply> {
  if (request.method !== "GET" && request.method !== "POST") return unknownOperation(request);
  if (request.bodyTooLarge) return faultReply(SQS_QUERY, request, TOO_LARGE);
  const parameters = readParameters(request);
  if (!parameters.ok) return faultReply(SQS_QUERY, request, parameters.fault);
  const root = parameters.value;
  const name = root.children.get("Action")?.value;
  if (!name) return unknownOperation(request); // Y2
  const service = serviceOf(request, root, name);
  if (isForeignPage(request)) return faultReply(service, request, FOREIGN_PAGE); // Y3
  const action = service.actions.get(name);
  const onQueue = service.hasQueueUrls && isQueuePath(request);
  if (action === undefined || (onQueue && !service.isForQueueUrl(action))) {
    return faultReply(service, request, invalidAction(name)); // Y1
  }
  if (request.method === "GET" && !mayGet(request, name)) {
    return faultReply(service, request, unsignedGet(name)); // Y4
  }
  const caller = callerOf(server, request, service.scope, LINKS.has(name));
  if (!caller.ok) return faultReply(service, request, caller.fault);
  const call: RequestCall = { server, request, caller: caller.value, protocol: "query" };
  return run(service, call, action, root, onQueue);
}

/** Actions in links: a random token, and the random id of a subscription. */
const LINKS: ReadonlySet<string> = new Set(["ConfirmSubscription", "Unsubscribe"]);

function mayGet(request: HttpRequest, action: string): boolean {
  if (/^(?:Get|List)[A-Z]/.test(action) || LINKS.has(action)) return true;
  if (hasSignatureHeader(request)) return true;
  return isSigned(request) && isLocalHost(request.headers.host ?? "");
}

async function run(
  service: QueryService,
  call: RequestCall,
  action: Action,
  root: ParameterNode,
  onQueue: boolean,
): Promise<HttpReply> {
  const { server, request } = call;
  const decoded = decodeInput(action.input, root);
  if (!decoded.ok) return faultReply(service, request, decoded.fault);
  const input = onQueue ? { QueueUrl: request.path, ...decoded.value } : decoded.value; // Y1
  try {
    const refused = refuseAction(call, service.scope, action, input);
    if (refused !== null) return faultReply(service, request, refused.fault);
    const outcome = await runAction(service.target, call, action, input);
    if (!outcome.ok) return faultReply(service, request, outcome.fault);
    const write = wantsJson(request) ? writeJsonResponse : writeXmlResponse;
    const body = write(service, action.name, action.output, outcome.value, request.requestId);
    return { status: 200, headers: responseHeaders(request), body };
  } catch (error) {
    if (isDropped(error)) return NO_ANSWER;
    return faultReply(service, request, reportFailure(server, request, error));
  }
}

function invalidAction(name: string): Fault {
  const shown = name.slice(0, 256);
  return { name: "InvalidAction", message: `The action ${shown} is not valid for this endpoint.` };
}

function unsignedGet(action: string): Fault {
  const message = `${action} changes something, so it needs a POST, or a GET that is signed.`;
  return { name: "AccessDenied", message };
}

function faultReply(service: QueryService, request: HttpRequest, fault: Fault): HttpReply {
  const { side, code, status } = service.errors[fault.name];
  const error: QueryError = { side, code, message: service.messageOf(fault) };
  const write = wantsJson(request) ? writeJsonError : writeXmlError;
  return {
    status,
    headers: responseHeaders(request),
    body: write(service, error, request.requestId),
  };
}

function wantsJson(request: HttpRequest): boolean {
  return request.headers.accept?.includes("application/json") === true;
}

function responseHeaders(request: HttpRequest): string[] {
  const type = wantsJson(request) ? "application/json" : "text/xml";
  return ["x-amzn-RequestId", request.requestId, "Content-Type", type];
}
