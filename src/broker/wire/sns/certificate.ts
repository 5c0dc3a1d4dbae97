// Certificates: the document at SigningCertURL, with which receivers verify the signatures of
// notifications. It is public, as on AWS.

import type { HttpReply, HttpRequest } from "../../../ports/http/http.ts";
import type { ServerContext } from "../protocol/call.ts";

const PATH = /^\/SimpleNotificationService-([0-9a-f]{1,64})\.pem$/;

export function isCertificatePath(path: string): boolean {
  return PATH.test(path);
}

export async function answerCertificate(
  server: ServerContext,
  request: HttpRequest,
): Promise<HttpReply> {
  const id = PATH.exec(request.path)?.[1];
  const outcome = await server.broker.submit("findSigningIdentity", null, request.signal);
  const identity = outcome.ok ? outcome.value : null;
  const headers = ["x-amzn-RequestId", request.requestId, "Content-Type"];
  if (identity === null || identity.id !== id) {
    return { status: 404, headers: [...headers, "text/plain"], body: "no such key\n" };
  }
  const body = identity.certificatePem;
  return { status: 200, headers: [...headers, "application/x-pem-file"], body };
}
