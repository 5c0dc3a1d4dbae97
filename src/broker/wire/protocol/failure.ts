// Failures: what is left to do when the broker could not answer.

import type { HttpRequest } from "../../../ports/http.ts";
import type { Fault } from "../../model/fault.ts";
import { failureFault } from "../sqs/sqs-errors.ts";
import type { ServerContext } from "./call.ts";

/** Tells the operator what happened and gives the fault to tell the client. */
export function reportFailure(site: ServerContext, request: HttpRequest, error: unknown): Fault {
  const clientLeft = request.signal.aborted && error === request.signal.reason;
  if (!clientLeft) site.onError(error, request.requestId);
  return failureFault(error);
}
