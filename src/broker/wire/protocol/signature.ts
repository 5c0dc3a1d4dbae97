// Signatures: whether a request carries one. Without keys, no signature is verified; what counts
// here is who can send it.
//   S1. A web page cannot set the Authorization header of a request to another site without a
//       preflight, and none is granted. A password in a URL makes another scheme than AWS's.
//   S2. A page can send a presigned query. Under a local name, browsers say which site sent it;
//       under any other name they do not, so there a presigned query does not count.

import type { HttpHead } from "../../../ports/http/http.ts";

const SIGNATURE_HEADER = /^AWS4-[A-Z\d-]+\s.*\bCredential=[^\s,/]+\//;

/** Whether the Authorization header has a signature of AWS's form (S1). */
export function hasSignatureHeader({ headers }: Pick<HttpHead, "headers">): boolean {
  return SIGNATURE_HEADER.test(headers.authorization ?? "");
}

/** Whether the request is signed or presigned; links in mails and notifications are not. */
export function isSigned(request: Pick<HttpHead, "headers" | "query">): boolean {
  return hasSignatureHeader(request) || /(?:^|&)X-Amz-Signature=[^&]/.test(request.query);
}
