// Unknown operation: the response to a request that names no action in any supported protocol.

import type { HttpReply, HttpRequest } from "../../../ports/http/http.ts";

/** AWS answers in XML here, even if the request asks for JSON. */
export function unknownOperation(request: HttpRequest): HttpReply {
  return {
    status: 404,
    headers: ["x-amzn-RequestId", request.requestId, "Content-Type", "text/xml"],
    body: "<UnknownOperationException/>\n",
  };
}
