// The whole broker as one function from request to reply. It opens no sockets: the listener calls
// it, and so do tests. The first match decides which protocol answers:
//   1. a header X-Amz-Target: the JSON protocol, on any path;
//   2. a path under /_tidegate: the admin API;
//   3. the path of the certificate that signs notifications;
//   4. an action in the query or in a form, or the path of a queue, unless it is signed for S3: the
//      query protocol, which tells SQS and SNS apart itself;
//   5. anything else: S3, whose requests are identified by their address alone.
//   Without S3, the query protocol answers the rest, and refuses requests without an action.
//   H1. S3 and the query protocol are loaded by their first request. They are a third of the code,
//       and a client that speaks JSON to a queue should not wait for them at start-up.

import { present } from "../core/assert.ts";
import { mediaTypeOf } from "../core/media-type-of.ts";
import type { HttpHandler, HttpHead, HttpRequest } from "../ports/http/http.ts";
import type { Broker } from "./engine/broker.ts";
import { type AdminOptions, answerAdmin, isAdminPath } from "./wire/admin/admin.ts";
import { type Authority, onlyCaller } from "./wire/auth/access-key.ts";
import type { ServerContext } from "./wire/protocol/call.ts";
import { answerJson } from "./wire/protocol/json-protocol.ts";
import { DOCUMENT_BYTES_MAX, LIST_DOCUMENT_BYTES_MAX } from "./wire/s3/document-limits.ts";
import type { S3Context } from "./wire/s3/s3-call.ts";
import { answerCertificate, isCertificatePath } from "./wire/sns/certificate.ts";

export interface BrokerHttpOptions extends AdminOptions {
  /** Called for every failure that the client did not cause. Must not throw. */
  readonly onError: (error: unknown, requestId: string) => void;
  /** Host and port of queue URLs for requests without a Host header; read on each request. */
  readonly hostFallback?: string;
  /** Whose signatures are accepted. Default: none is checked. */
  readonly authority?: Authority | undefined;
  /** Default: no S3. */
  readonly s3?: S3Context;
}

export function createBrokerHttp(broker: Broker, options: BrokerHttpOptions): HttpHandler {
  const server = serverContextOf(broker, options);
  const { s3 } = options;
  const answerQuery = lazyHandler(async () => {
    const wire = await import("./wire/protocol/query-protocol.ts");
    return (request) => wire.answerQuery(server, request);
  });
  const answerS3 = lazyHandler(async () => {
    const wire = await import("./wire/s3/s3-protocol.ts");
    return (request) => wire.answerS3(server, present(s3, "buckets"), request);
  });
  return (request) => {
    const target = request.headers["x-amz-target"];
    if (target !== undefined) return answerJson(server, request, target);
    if (isAdminPath(request.path)) return answerAdmin(server, options, request);
    if (isCertificatePath(request.path)) return answerCertificate(server, request);
    if (s3 !== undefined && isForS3(request, broker.account)) return answerS3(request);
    return answerQuery(request);
  };
}

/** Whether a bucket's CORS rules let the page of another site send this request. */
export function createOriginCheck(
  broker: Broker,
  options: BrokerHttpOptions,
): (request: HttpRequest) => Promise<boolean> {
  const server = serverContextOf(broker, options);
  const streamBytes = streamBytesOf(broker);
  return async (request) => {
    if (options.s3 === undefined || streamBytes(request) === null) return false;
    const wire = await import("./wire/s3/s3-protocol.ts"); // H1
    return wire.allowsOrigin(server, options.s3, request);
  };
}

function serverContextOf(broker: Broker, options: BrokerHttpOptions): ServerContext {
  return {
    broker,
    authority: options.authority ?? null,
    everybody: onlyCaller(broker.account),
    get hostFallback() {
      return options.hostFallback ?? "localhost";
    },
    onError: options.onError,
  };
}

/** A handler whose code is loaded by its first request (H1). */
function lazyHandler(load: () => Promise<HttpHandler>): HttpHandler {
  let handler: HttpHandler | null = null;
  return async (request) => {
    handler ??= await load();
    return handler(request);
  };
}

/** What an upload holds of a body that it streams to disk; also the limit of most documents. */
const STREAMED_BYTES = DOCUMENT_BYTES_MAX;

/**
 * For requests to S3, which reads bodies as streams: how much of the body is in memory at most.
 * Null for all others.
 */
export function streamBytesOf({ account }: Pick<Broker, "account">) {
  return (head: HttpHead): number | null => {
    if (head.headers["x-amz-target"] !== undefined) return null;
    if (isAdminPath(head.path) || isCertificatePath(head.path)) return null;
    if (!isForS3(head, account)) return null;
    return head.method === "POST" ? LIST_DOCUMENT_BYTES_MAX : STREAMED_BYTES;
  };
}

function isForS3({ method, path, query, headers }: HttpHead, account: string): boolean {
  const scope = headers.authorization ?? query;
  if (/Credential=[^,&]*(\/|%2F)s3(\/|%2F)aws4_request/i.test(scope)) return true;
  if (/(^|&)Action=/.test(query) || path.startsWith(`/${account}/`)) return false;
  return !(method === "POST" && mediaTypeOf(headers) === "application/x-www-form-urlencoded");
}
