// Failures: how the wire answers when the broker throws.

import type { HttpRequest } from "../../../ports/http/http.ts";
import type { Fault } from "../../model/fault.ts";
import { failureFault } from "../sqs/sqs-errors.ts";
import type { ServerContext } from "./call.ts";

/** Reports the error to the operator and returns the fault for the client. */
export function reportFailure(server: ServerContext, request: HttpRequest, error: unknown): Fault {
  const clientGone = request.signal.aborted && error === request.signal.reason;
  if (!clientGone) server.onError(error, request.requestId);
  return failureFault(error);
}
