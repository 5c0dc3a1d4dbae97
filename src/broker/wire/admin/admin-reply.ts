// Admin replies: JSON for people and scripts, not in the format of the AWS SDKs.

import type { HttpReply } from "../../../ports/http/http.ts";
import type { Fault } from "../../model/fault.ts";
import { SQS_ERRORS } from "../sqs/sqs-errors.ts";

const HEADERS: readonly string[] = [
  "Content-Type",
  "application/json",
  "Cache-Control",
  "no-store",
  "X-Content-Type-Options",
  "nosniff",
];

export function adminReply(status: number, value: object): HttpReply {
  return { status, headers: HEADERS, body: `${JSON.stringify(value)}\n` };
}

export function adminError(status: number, code: string, message: string): HttpReply {
  return adminReply(status, { error: { code, message } });
}

/** Maps a broker fault to a reply; a missing queue is a 404 here, although SQS answers 400. */
export function adminFault(fault: Fault): HttpReply {
  const status = fault.name === "QueueDoesNotExist" ? 404 : SQS_ERRORS[fault.name].status;
  return adminError(status, fault.name, fault.message);
}
