// Queue URLs: built from the host that the caller used, parsed by path only.
//   Q1. A client inside a container and one outside use different hosts for the same queue. So the
//       host of a URL is never compared, and returned URLs have the caller's host.
//   Q2. The last segment of the path is the queue's name, the one before it the account. A bare
//       name is accepted as a URL, as on AWS.
//   Q3. A queue of another account does not exist.

import type { HttpRequest } from "../../../ports/http/http.ts";
import { refuse } from "../../model/fault.ts";
import type { RefusedAction, RequestCall } from "../protocol/call.ts";
import { NO_SUCH_QUEUE } from "./sqs-errors.ts";

const OTHER_ACCOUNT = "The specified queue does not exist or you do not have access to it.";

/** The name of the queue in `url`, or the refusal to return. */
export function queueOf(call: RequestCall, url: string | null | undefined): string | RefusedAction {
  if (url === undefined || url === null || url === "") return noSuchQueue();
  const end = url.indexOf("?") === -1 ? url.length : url.indexOf("?");
  const nameAt = url.lastIndexOf("/", end - 1) + 1;
  const name = url.slice(nameAt, end);
  if (name === "") return noSuchQueue();
  if (nameAt <= 1) return name; // Q2: "name" or "/name"
  const ownerAt = url.lastIndexOf("/", nameAt - 2) + 1;
  const owner = url.slice(ownerAt, nameAt - 1);
  if (owner === call.server.broker.account) return name;
  const ownerIsHost = ownerAt >= 2 && url.startsWith("://", ownerAt - 3);
  if (ownerIsHost) return name;
  return otherAccount();
}

export function queueUrl(call: RequestCall, name: string): string {
  return `${origin(call)}/${call.server.broker.account}/${name}`;
}

/** Refuses an `owner`, if given, that is not the account of this broker (Q3). */
export function checkOwner(
  call: RequestCall,
  owner: string | null | undefined,
): RefusedAction | null {
  if (owner === undefined || owner === null || owner === "") return null;
  return owner === call.server.broker.account ? null : otherAccount();
}

/** Whether a request was sent to a queue's URL instead of the endpoint. */
export function isQueuePath(request: HttpRequest): boolean {
  return request.path !== "/" && request.path !== "";
}

/** The scheme and host that the caller used; URLs in responses must begin with them. */
export function origin(call: Pick<RequestCall, "server" | "request">): string {
  const { headers } = call.request;
  const scheme = headers["x-forwarded-proto"] === "https" ? "https" : "http";
  return `${scheme}://${headers.host || call.server.hostFallback}`; // Q1
}

function noSuchQueue(): RefusedAction {
  return refuse("QueueDoesNotExist", NO_SUCH_QUEUE);
}

function otherAccount(): RefusedAction {
  return refuse("QueueDoesNotExist", OTHER_ACCOUNT);
}
