// Unknown operation: the answer to a request that names no action in any protocol we speak.

import type { HttpReply, HttpRequest } from "../../../ports/http.ts";

/** AWS answers in XML here even to those who asked for JSON. */
export function unknownOperation(request: HttpRequest): HttpReply {
  return {
    status: 404,
    headers: ["x-amzn-RequestId", request.requestId, "Content-Type", "text/xml"],
    body: "<UnknownOperationException/>\n",
  };
}
