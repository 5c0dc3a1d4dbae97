// Query headers: headers that a URL carries in its query, as presigned URLs do.
//   Q1. A query parameter with the name of a header of S3, of a condition, or of a property of an
//       object is that header, for every action. If the request has that header, too, with another
//       value, it is refused, because only one of them could be honoured.
//   Q2. A checksum in a query is ignored, as by S3, unless the URL signs it as a header: SDKs sign
//       a URL before there is a body, and put the checksum of an empty one into it.

import { type Result, succeed } from "../../../../core/result.ts";
import type { HttpRequest } from "../../../../ports/http/http.ts";
import type { S3Fault } from "../../../model/s3/s3-fault.ts";
import { refusal } from "../s3-errors.ts";
import { isChecksumHeader } from "./parameter-checks.ts";

/** "expires" is missing: in a URL it is the end of a signature. */
const PLAIN = new Set([
  "cache-control",
  "content-disposition",
  "content-encoding",
  "content-language",
  "content-md5",
  "content-type",
  "if-match",
  "if-modified-since",
  "if-none-match",
  "if-range",
  "if-unmodified-since",
  "range",
]);
/** The parts of the signature itself. */
const SIGNATURE = new Set([
  "x-amz-algorithm",
  "x-amz-credential",
  "x-amz-date",
  "x-amz-expires",
  "x-amz-security-token",
  "x-amz-signature",
  "x-amz-signedheaders",
]);

type Headers = HttpRequest["headers"];

/** The request with the headers of its query (Q1); the same request if there are none. */
export function withQueryHeaders(
  request: HttpRequest,
  query: URLSearchParams,
): Result<HttpRequest, S3Fault> {
  let headers: Record<string, string | undefined> | null = null;
  for (const [parameter, value] of query) {
    const name = parameter.toLowerCase();
    if (!isHeader(name, query)) continue;
    const sent = (headers ?? request.headers)[name];
    if (sent !== undefined && sent !== value) {
      const message = `The header ${name} and the query parameter ${parameter} differ.`;
      return refusal("InvalidRequest", message);
    }
    headers ??= { ...request.headers };
    headers[name] = value;
  }
  return succeed(headers === null ? request : withHeaders(request, headers));
}

function isHeader(name: string, query: URLSearchParams): boolean {
  if (PLAIN.has(name)) return true;
  if (!name.startsWith("x-amz-") || SIGNATURE.has(name)) return false;
  if (!isChecksumHeader(name) && name !== "x-amz-sdk-checksum-algorithm") return true;
  const signed = query.get("X-Amz-SignedHeaders")?.toLowerCase().split(";") ?? [];
  return signed.includes(name); // Q2
}

/** The same request, with other headers; its body is still read at most once. */
export function withHeaders(request: HttpRequest, headers: Headers): HttpRequest {
  const { method, path, query, body, bodyTooLarge, bodyStream, remoteAddress, requestId } = request;
  return {
    method,
    path,
    query,
    headers,
    body,
    bodyTooLarge,
    requestId,
    ...(bodyStream === undefined ? {} : { bodyStream }),
    ...(remoteAddress === undefined ? {} : { remoteAddress }),
    get signal() {
      return request.signal;
    },
  };
}
