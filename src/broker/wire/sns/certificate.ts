// Certificates: the page behind SigningCertURL, by which readers check the signatures of
// notifications. It is public, as AWS's is.

import type { HttpReply, HttpRequest } from "../../../ports/http.ts";
import type { ServerContext } from "../protocol/call.ts";

const PATH = /^\/SimpleNotificationService-([0-9a-f]{1,64})\.pem$/;

export function isCertificatePath(path: string): boolean {
  return PATH.test(path);
}

export async function answerCertificate(
  site: ServerContext,
  request: HttpRequest,
): Promise<HttpReply> {
  const id = PATH.exec(request.path)?.[1];
  const outcome = await site.broker.submit("findSigningIdentity", null, request.signal);
  const found = outcome.ok ? outcome.value : null;
  const headers = ["x-amzn-RequestId", request.requestId, "Content-Type"];
  if (found === null || found.id !== id) {
    return { status: 404, headers: [...headers, "text/plain"], body: "There is no such key.\n" };
  }
  const body = found.certificatePem;
  return { status: 200, headers: [...headers, "application/x-pem-file"], body };
}
