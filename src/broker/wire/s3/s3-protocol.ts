// The S3 protocol: REST with XML. The method and the address say what is meant, and parameters of
// the query tell apart what these two cannot.
//   T1. Every answer tells the two ids of its request, the same that its events tell.
//   T2. No credentials are checked, so a page of another site must not be able to call.

import { sha256Bytes, sha256Hex } from "../../../core/encoding/hash.ts";
import type { HttpReply, HttpRequest } from "../../../ports/http.ts";
import type { Origin } from "../../model/s3/s3-operations.ts";
import { runS3Action } from "../faults/s3-injection.ts";
import type { ServerContext } from "../protocol/call.ts";
import { reportFailure } from "../protocol/failure.ts";
import { isForeignPage } from "../protocol/foreign-page.ts";
import { origin } from "../sqs/queue-url.ts";
import { inheritedTraceHeader } from "../sqs/send-entry.ts";
import { checkPresigned } from "./presigned.ts";
import { readAddress } from "./s3-address.ts";
import type { S3Call, S3Context } from "./s3-call.ts";
import { denied, refusal } from "./s3-errors.ts";
import { findAction } from "./s3-routes.ts";

const REQUEST_ID_DIGITS = 16;
const OWNER_ID_DIGITS = 13;
/** To a client that has gone. */
const UNHEARD: HttpReply = { status: 400, headers: [], body: "" };

export async function answerS3(
  site: ServerContext,
  s3: S3Context,
  request: HttpRequest,
): Promise<HttpReply> {
  const asker = originOf(site, s3, request);
  const query = new URLSearchParams(request.query);
  const address = readAddress(request);
  const nowhere: S3Call = { site, s3, request, bucket: "", key: "", query, origin: asker };
  const ids = ["x-amz-request-id", asker.requestId, "x-amz-id-2", asker.hostId]; // T1
  const reply = address.ok
    ? await answer({ ...nowhere, ...address.value })
    : denied(nowhere, address.fault);
  return { ...reply, headers: [...ids, ...reply.headers] };
}

async function answer(call: S3Call): Promise<HttpReply> {
  if (isForeignPage(call.request)) {
    const foreign = refusal("AccessDenied", "A page of another site may not call this endpoint."); // T2
    return denied(call, foreign.fault);
  }
  const expired = checkPresigned(call.query, call.s3.now());
  if (expired !== null) return denied(call, expired.fault);
  const action = findAction(call);
  if (!action.ok) return denied(call, action.fault);
  try {
    return await runS3Action(call, action.value);
  } catch (error) {
    if (call.request.signal.aborted) return UNHEARD;
    const { name, message } = reportFailure(call.site, call.request, error);
    const code = name === "ServiceUnavailable" ? "ServiceUnavailable" : "InternalError";
    return denied(call, { code, message });
  }
}

function originOf(site: ServerContext, s3: S3Context, request: HttpRequest): Origin {
  const seed = request.requestId;
  const { account } = site.broker;
  return {
    requestId: seed.replaceAll("-", "").slice(0, REQUEST_ID_DIGITS).toUpperCase(),
    hostId: Buffer.concat([sha256Bytes(seed), sha256Bytes(`${seed}/host`)]).toString("base64"),
    sourceIp: (request.remoteAddress ?? "127.0.0.1").replace(/^::ffff:/, ""),
    url: origin({ server: site, request }),
    principalId: `AWS:${site.senderId}`,
    ownerId: `A${sha256Hex(`owner/${account}`).slice(0, OWNER_ID_DIGITS).toUpperCase()}`,
    eventVersion: s3.eventVersion,
    eventBridgeQueue: s3.eventBridgeQueue,
    traceHeader: inheritedTraceHeader({ request }),
  };
}
