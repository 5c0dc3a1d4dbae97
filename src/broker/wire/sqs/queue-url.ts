// Queue URLs: made from the host the caller used, read by their path alone.
//   Q1. A client inside a container and one outside of it call the same queue by different hosts;
//       so the host of a URL is never compared, and the one given back is the caller's own.
//   Q2. The last step of the path is the queue's name, the one before it the account. A bare name
//       is taken for a URL, as AWS does.
//   Q3. Another account's queue is as good as none.

import type { HttpRequest } from "../../../ports/http.ts";
import { refuse } from "../../model/fault.ts";
import type { RefusedAction, RequestCall } from "../protocol/call.ts";
import { NO_SUCH_QUEUE } from "./sqs-errors.ts";

const OTHER_ACCOUNT = "The specified queue does not exist or you do not have access to it.";

/** The name of the queue that `url` means, or the refusal to answer. */
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

/** Whether `owner`, if given at all, is the account of this broker (Q3). */
export function checkOwner(
  call: RequestCall,
  owner: string | null | undefined,
): RefusedAction | null {
  if (owner === undefined || owner === null || owner === "") return null;
  return owner === call.server.broker.account ? null : otherAccount();
}

/** Whether a request was sent to a queue's own URL rather than to the endpoint. */
export function isQueuePath(request: HttpRequest): boolean {
  return request.path !== "/" && request.path !== "";
}

/** Scheme and host by which the caller reached us: what links that we hand out must begin with. */
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
