// The whole broker as one function, from a request to its reply. No sockets: the listener brings
// requests here, and so do tests.
//   The first thing that fits decides who answers:
//   1. a header X-Amz-Target: the JSON protocol, on whatever path;
//   2. a path under /_tidegate: the admin;
//   3. the path of the certificate that notifications are signed with;
//   4. anything else: the query protocol, which tells SQS and SNS apart by itself and refuses what
//      names no action.
//   Other services find their place here by target, or as the last resort (S3, whose requests name
//   neither a target nor an action).

import type { HttpHandler } from "../ports/http.ts";
import type { Broker } from "./engine/broker.ts";
import { type AdminOptions, answerAdmin, isAdminPath } from "./wire/admin/admin.ts";
import type { Site } from "./wire/call.ts";
import { answerCertificate, isCertificatePath } from "./wire/certificate.ts";
import { answerJson } from "./wire/json-protocol.ts";
import { answerQuery } from "./wire/query-protocol.ts";
import { senderIdOf } from "./wire/sender-id.ts";

export interface BrokerHttpOptions extends AdminOptions {
  /** Hears of every failure that is not the client's; it must not throw. */
  readonly onError: (error: unknown, requestId: string) => void;
  /** Host and port of queue URLs for clients that send no Host header. */
  readonly hostFallback?: string;
}

export function createBrokerHttp(broker: Broker, options: BrokerHttpOptions): HttpHandler {
  const site: Site = {
    broker,
    senderId: senderIdOf(broker.account),
    hostFallback: options.hostFallback ?? "localhost",
    onError: options.onError,
  };
  return (request) => {
    const target = request.headers["x-amz-target"];
    if (target !== undefined) return answerJson(site, request, target);
    if (isAdminPath(request.path)) return answerAdmin(site, options, request);
    if (isCertificatePath(request.path)) return answerCertificate(site, request);
    return answerQuery(site, request);
  };
}
