// The whole broker as one function, from a request to its reply. No sockets: the listener brings
// requests here, and so do tests.
//   The first thing that fits decides who answers:
//   1. a header X-Amz-Target: the JSON protocol, on whatever path;
//   2. a path under /_tidegate: the admin;
//   3. the path of the certificate that notifications are signed with;
//   4. an action in the query or in a form, or the path of a queue, unless it is signed for S3: the
//      query protocol, which tells SQS and SNS apart by itself;
//   5. anything else: S3, whose requests name nothing but their address.
//   Without S3, the query protocol answers the rest, and refuses what names no action.
//   H1. S3 and the query protocol are loaded by the first request for them. They are a third of all
//       code, and whoever speaks JSON to a queue should not wait for them at the start.

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
  /** Hears of every failure that is not the client's; it must not throw. */
  readonly onError: (error: unknown, requestId: string) => void;
  /** Host and port of queue URLs for clients that name none; asked for anew each time. */
  readonly hostFallback?: string;
  /** Without it there are no buckets. */
  readonly s3?: S3Context;
}

export function createBrokerHttp(broker: Broker, options: BrokerHttpOptions): HttpHandler {
  const site: ServerContext = {
    broker,
    senderId: senderIdOf(broker.account),
    get hostFallback() {
      return options.hostFallback ?? "localhost";
    },
    onError: options.onError,
  };
  const { s3 } = options;
  const answerQuery = loadedFirst(async () => {
    const wire = await import("./wire/protocol/query-protocol.ts");
    return (request) => wire.answerQuery(site, request);
  });
  const answerS3 = loadedFirst(async () => {
    const wire = await import("./wire/s3/s3-protocol.ts");
    return (request) => wire.answerS3(site, present(s3, "buckets"), request);
  });
  return (request) => {
    const target = request.headers["x-amz-target"];
    if (target !== undefined) return answerJson(site, request, target);
    if (isAdminPath(request.path)) return answerAdmin(site, options, request);
    if (isCertificatePath(request.path)) return answerCertificate(site, request);
    if (s3 !== undefined && isForS3(request, broker.account)) return answerS3(request);
    return answerQuery(request);
  };
}

/** A handler whose code is loaded when there is something to handle (H1). */
function loadedFirst(load: () => Promise<HttpHandler>): HttpHandler {
  let handler: HttpHandler | null = null;
  return async (request) => {
    handler ??= await load();
    return handler(request);
  };
}

/** Whether a body is for S3, which takes it as it arrives. */
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
