// The S3 protocol: REST with XML. The method and the address select an action; query parameters
// distinguish actions that share both.
//   T1. Every response has the two ids of its request; the events of the request have the same ids.
//   T2. Without keys, signatures are not checked, so pages of other sites must not be able to call.

import { sha256Bytes, sha256Hex } from "../../../core/encoding/hash.ts";
import { isForeignPage } from "../../../core/foreign-page.ts";
import type { HttpReply, HttpRequest } from "../../../ports/http/http.ts";
import type { Origin } from "../../model/s3/s3-operations.ts";
import { hideMissing, refuseS3 } from "../auth/s3-access.ts";
import { identify } from "../auth/s3-caller.ts";
import { runS3Action } from "../faults/s3-injection.ts";
import type { ServerContext } from "../protocol/call.ts";
import { reportFailure } from "../protocol/failure.ts";
import { origin } from "../sqs/queue-url.ts";
import { inheritedTraceHeader } from "../sqs/send-entry.ts";
import { answerPreflight, corsHeaders } from "./configs/cors.ts";
import { checkParameters } from "./parameters/check-parameters.ts";
import { withQueryHeaders } from "./parameters/query-headers.ts";
import { checkPresigned } from "./presigned.ts";
import { readAddress } from "./s3-address.ts";
import type { S3Call, S3Context } from "./s3-call.ts";
import { denied, refusal } from "./s3-errors.ts";
import { findAction } from "./s3-routes.ts";

const REQUEST_ID_DIGITS = 16;
const OWNER_ID_DIGITS = 13;
/** The client has disconnected, so this reply is never sent. */
const DISCONNECTED: HttpReply = { status: 400, headers: [], body: "" };

export async function answerS3(
  server: ServerContext,
  s3: S3Context,
  request: HttpRequest,
): Promise<HttpReply> {
  const query = new URLSearchParams(request.query);
  const address = readAddress(request, s3.baseHost);
  const unaddressed = callOf(server, s3, request, query);
  const { origin } = unaddressed;
  const ids = ["x-amz-request-id", origin.requestId, "x-amz-id-2", origin.hostId]; // T1
  const reply = address.ok
    ? await answer({ ...unaddressed, ...address.value })
    : denied(unaddressed, address.fault);
  return { ...reply, headers: [...ids, ...reply.headers] };
}

async function answer(call: S3Call): Promise<HttpReply> {
  if (call.request.method === "OPTIONS") return answerPreflight(call);
  if (call.request.headers.origin === undefined) return answerCaller(call, isForeignPage);
  const cors = await corsHeaders(call);
  const reply = await answerCaller(call, cors === null ? isForeignPage : () => false);
  return cors === null ? reply : { ...reply, headers: [...reply.headers, ...cors] };
}

/** Whether a page of another site, which no rule of the bucket allows, may use a bucket. */
export async function allowsOrigin(
  server: ServerContext,
  s3: S3Context,
  request: HttpRequest,
): Promise<boolean> {
  if (request.method === "OPTIONS") return true; // A preflight changes nothing.
  const address = readAddress(request, s3.baseHost);
  if (!address.ok) return false;
  const query = new URLSearchParams(request.query);
  const call = callOf(server, s3, request, query);
  return (await corsHeaders({ ...call, ...address.value })) !== null;
}

/** A call without an address, of everybody. */
function callOf(
  server: ServerContext,
  s3: S3Context,
  request: HttpRequest,
  query: URLSearchParams,
): S3Call {
  const origin = originOf(server, s3, request);
  const caller = server.everybody;
  return { server, s3, request, caller, signed: null, bucket: "", key: "", query, origin };
}

async function answerCaller(
  call: S3Call,
  isRefused: (request: HttpRequest) => boolean,
): Promise<HttpReply> {
  if (isRefused(call.request)) {
    const foreign = refusal("AccessDenied", "A page of another site may not call this endpoint."); // T2
    return denied(call, foreign.fault);
  }
  const expired = checkPresigned(call);
  if (expired !== null) return denied(call, expired.fault);
  const identified = identify(call);
  if (!identified.ok) return denied(call, identified.fault);
  const request = withQueryHeaders(call.request, call.query);
  if (!request.ok) return denied(call, request.fault);
  return request.value === call.request
    ? runAction(identified.value)
    : runAction({ ...identified.value, request: request.value });
}

async function runAction(call: S3Call): Promise<HttpReply> {
  const action = findAction(call);
  if (!action.ok) return denied(call, action.fault);
  const refused = checkParameters(call, action.value);
  if (refused !== null) return denied(call, refused.fault);
  try {
    const missing = refuseS3(call, action.value);
    if (missing !== null) return denied(call, missing.fault);
    return hideMissing(call, action.value, await runS3Action(call, action.value));
  } catch (error) {
    if (call.request.signal.aborted) return DISCONNECTED;
    const { name, message } = reportFailure(call.server, call.request, error);
    const code = name === "ServiceUnavailable" ? "ServiceUnavailable" : "InternalError";
    return denied(call, { code, message });
  }
}

function originOf(server: ServerContext, s3: S3Context, request: HttpRequest): Origin {
  const seed = request.requestId;
  const { account } = server.broker;
  return {
    requestId: seed.replaceAll("-", "").slice(0, REQUEST_ID_DIGITS).toUpperCase(),
    hostId: Buffer.concat([sha256Bytes(seed), sha256Bytes(`${seed}/host`)]).toString("base64"),
    sourceIp: (request.remoteAddress ?? "127.0.0.1").replace(/^::ffff:/, ""),
    url: origin({ server, request }),
    principalId: `AWS:${server.everybody.userId}`,
    ownerId: `A${sha256Hex(`owner/${account}`).slice(0, OWNER_ID_DIGITS).toUpperCase()}`,
    eventVersion: s3.eventVersion,
    eventBridgeQueue: s3.eventBridgeQueue,
    traceHeader: inheritedTraceHeader({ request }),
  };
}
