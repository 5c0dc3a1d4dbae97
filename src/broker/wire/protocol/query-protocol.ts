// The query protocol: actions by URL or form, answers in XML. It is what SNS speaks, what SQS spoke
// alone until 2023, and what older SDKs, API Gateway and people with curl still speak.
//   Y1. On the URL of a queue only actions about a queue are valid, and the path stands for a
//       QueueUrl that was not given.
//   Y2. A request without an action is none of this protocol's.
//   Y3. No credentials are checked, so a web page must not be able to call: a browser says where
//       a request comes from, and one that comes from elsewhere is refused. (JSON requests need no
//       such rule, as no page can send their header without asking first, and is never let.)

import type { HttpReply, HttpRequest } from "../../../ports/http.ts";
import { isDropped } from "../../engine/request-faults.ts";
import type { Fault } from "../../model/fault.ts";
import { NO_ANSWER, runAction } from "../faults/injection.ts";
import { isQueuePath } from "../sqs/queue-url.ts";
import type { Action, RequestCall, ServerContext } from "./call.ts";
import { reportFailure } from "./failure.ts";
import { isForeignPage } from "./foreign-page.ts";
import { decodeInput, type ParameterNode, readParameters } from "./query-input.ts";
import {
  type QueryError,
  writeJsonError,
  writeJsonResponse,
  writeXmlError,
  writeXmlResponse,
} from "./query-output.ts";
import { type QueryService, SQS_QUERY, serviceOf } from "./query-service.ts";
import { unknownOperation } from "./unknown-operation.ts";

const TOO_LARGE: Fault = {
  name: "RequestTooLarge",
  message: "The request body is longer than this endpoint reads.",
};

const FOREIGN_PAGE: Fault = {
  name: "AccessDenied",
  message: "A page of another site may not call this endpoint.",
};

export async function answerQuery(site: ServerContext, request: HttpRequest): Promise<HttpReply> {
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
  return run(service, { server: site, request, protocol: "query" }, action, root, onQueue);
}

async function run(
  service: QueryService,
  call: RequestCall,
  action: Action,
  root: ParameterNode,
  onQueue: boolean,
): Promise<HttpReply> {
  const { server: site, request } = call;
  const decoded = decodeInput(action.input, root);
  if (!decoded.ok) return faultReply(service, request, decoded.fault);
  const input = onQueue ? { QueueUrl: request.path, ...decoded.value } : decoded.value; // Y1
  try {
    const outcome = await runAction(service.target, call, action, input);
    if (!outcome.ok) return faultReply(service, request, outcome.fault);
    const write = wantsJson(request) ? writeJsonResponse : writeXmlResponse;
    const body = write(service, action.name, action.output, outcome.value, request.requestId);
    return { status: 200, headers: plainHeaders(request), body };
  } catch (error) {
    if (isDropped(error)) return NO_ANSWER;
    return faultReply(service, request, reportFailure(site, request, error));
  }
}

function invalidAction(name: string): Fault {
  const shown = name.slice(0, 256);
  return { name: "InvalidAction", message: `The action ${shown} is not valid for this endpoint.` };
}

function faultReply(service: QueryService, request: HttpRequest, fault: Fault): HttpReply {
  const { side, code, status } = service.faces[fault.name];
  const error: QueryError = { side, code, message: service.messageOf(fault) };
  const write = wantsJson(request) ? writeJsonError : writeXmlError;
  return { status, headers: plainHeaders(request), body: write(service, error, request.requestId) };
}

function wantsJson(request: HttpRequest): boolean {
  return request.headers.accept?.includes("application/json") === true;
}

function plainHeaders(request: HttpRequest): string[] {
  const type = wantsJson(request) ? "application/json" : "text/xml";
  return ["x-amzn-RequestId", request.requestId, "Content-Type", type];
}
