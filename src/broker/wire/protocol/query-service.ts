// Query services: how SQS, SNS and STS differ in the query protocol, and which of them a request
// means.
//   V1. The version decides; every SDK sends it. Without a version, the service in the signature
//       decides, then the action. Both services have AddPermission; there SQS wins, because people
//       call it by hand more often.

import type { HttpRequest } from "../../../ports/http/http.ts";
import type { Fault, FaultName } from "../../model/fault.ts";
import { SNS_ACTIONS } from "../sns/sns-actions.ts";
import { SNS_ERRORS } from "../sns/sns-errors.ts";
import { isForQueueUrl, SQS_ACTIONS } from "../sqs/sqs-actions.ts";
import { type AwsError, queryMessage, SQS_ERRORS } from "../sqs/sqs-errors.ts";
import { STS_ACTIONS } from "../sts/sts-actions.ts";
import type { Action } from "./call.ts";
import type { ParameterNode } from "./query-input.ts";
import type { QueryStyle } from "./query-output.ts";

export interface QueryService extends QueryStyle {
  /** The service name in the scope of a signature. */
  readonly scope: string;
  readonly version: string;
  /** The resource of its actions, as fault injection names it; null: it has none. */
  readonly target: "queue" | "topic" | null;
  readonly actions: ReadonlyMap<string, Action>;
  readonly errors: Readonly<Record<FaultName, AwsError>>;
  messageOf(fault: Fault): string;
  /** Whether paths name queues; otherwise they are ignored. */
  readonly hasQueueUrls: boolean;
  isForQueueUrl(action: Action): boolean;
}

function byName(actions: readonly Action[]): ReadonlyMap<string, Action> {
  return new Map(actions.map((action) => [action.name, action]));
}

export const SQS_QUERY: QueryService = {
  scope: "sqs",
  version: "2012-11-05",
  target: "queue",
  namespace: "http://queue.amazonaws.com/doc/2012-11-05/",
  errorDetail: true,
  actions: byName(SQS_ACTIONS),
  errors: SQS_ERRORS,
  messageOf: queryMessage,
  hasQueueUrls: true,
  isForQueueUrl,
};

export const SNS_QUERY: QueryService = {
  scope: "sns",
  version: "2010-03-31",
  target: "topic",
  namespace: "http://sns.amazonaws.com/doc/2010-03-31/",
  errorDetail: false,
  actions: byName(SNS_ACTIONS),
  errors: SNS_ERRORS,
  messageOf: (fault) => fault.message,
  hasQueueUrls: false,
  isForQueueUrl: () => false,
};

const STS_QUERY: QueryService = {
  scope: "sts",
  version: "2011-06-15",
  target: null,
  namespace: "https://sts.amazonaws.com/doc/2011-06-15/",
  errorDetail: false,
  actions: byName(STS_ACTIONS),
  errors: SNS_ERRORS,
  messageOf: (fault) => fault.message,
  hasQueueUrls: false,
  isForQueueUrl: () => false,
};

const SERVICES: readonly QueryService[] = [SQS_QUERY, SNS_QUERY, STS_QUERY];

/** The service that a request addresses (V1). */
export function serviceOf(request: HttpRequest, root: ParameterNode, action: string): QueryService {
  const version = root.children.get("Version")?.value;
  const credential = root.children.get("X-Amz-Credential")?.value ?? "";
  const signature = `${request.headers.authorization ?? ""} ${credential}`;
  return (
    SERVICES.find((service) => service.version === version) ??
    SERVICES.find(({ scope }) => signature.includes(`/${scope}/aws4_request`)) ??
    SERVICES.find(({ actions }) => actions.has(action)) ??
    SQS_QUERY
  );
}
