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
import type { HttpHandler, HttpHead } from "../ports/http.ts";
import type { Broker } from "./engine/broker.ts";
import { type AdminOptions, answerAdmin, isAdminPath } from "./wire/admin/admin.ts";
import type { ServerContext } from "./wire/protocol/call.ts";
import { answerJson } from "./wire/protocol/json-protocol.ts";
import type { S3Context } from "./wire/s3/s3-call.ts";
import { answerCertificate, isCertificatePath } from "./wire/sns/certificate.ts";
import { senderIdOf } from "./wire/sqs/sender-id.ts";

export interface BrokerHttpOptions extends AdminOptions {
  /** Called for every failure that the client did not cause. Must not throw. */
  readonly onError: (error: unknown, requestId: string) => void;
  /** Host and port of queue URLs for requests without a Host header; read on each request. */
  readonly hostFallback?: string;
  /** Default: no S3. */
  readonly s3?: S3Context;
}

export function createBrokerHttp(broker: Broker, options: BrokerHttpOptions): HttpHandler {
  const server: ServerContext = {
    broker,
    senderId: senderIdOf(broker.account),
    get hostFallback() {
      return options.hostFallback ?? "localhost";
    },
    onError: options.onError,
  };
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

/** A handler whose code is loaded by its first request (H1). */
function lazyHandler(load: () => Promise<HttpHandler>): HttpHandler {
  let handler: HttpHandler | null = null;
  return async (request) => {
    handler ??= await load();
    return handler(request);
  };
}

/** Whether a request is for S3, which reads its body as a stream. */
export function wantsStream({ account }: Pick<Broker, "account">): (head: HttpHead) => boolean {
  return (head) => {
    if (head.headers["x-amz-target"] !== undefined) return false;
    return !isAdminPath(head.path) && !isCertificatePath(head.path) && isForS3(head, account);
  };
}

function isForS3({ method, path, query, headers }: HttpHead, account: string): boolean {
  const scope = headers.authorization ?? query;
  if (/Credential=[^,&]*(\/|%2F)s3(\/|%2F)aws4_request/i.test(scope)) return true;
  if (/(^|&)Action=/.test(query) || path.startsWith(`/${account}/`)) return false;
  const form = headers["content-type"]?.startsWith("application/x-www-form-urlencoded") === true;
  return !(method === "POST" && form);
}
