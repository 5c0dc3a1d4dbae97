// S3 call: the request as an action sees it, and the type of an action.

import type { EpochMs } from "../../../core/units.ts";
import type { BlobStore } from "../../../ports/broker/blob-store.ts";
import type { HttpReply, HttpRequest } from "../../../ports/http/http.ts";
import type { OperationResult } from "../../model/operations.ts";
import type { Origin, S3Input, S3OperationName } from "../../model/s3/s3-operations.ts";
import type { RequestCaller } from "../auth/access-key.ts";
import type { VerifiedSignature } from "../auth/signature-v4.ts";
import type { ServerContext } from "../protocol/call.ts";

/** State shared by all requests. */
export interface S3Context {
  readonly blobs: BlobStore;
  readonly now: () => EpochMs;
  /** The eventVersion of events. */
  readonly eventVersion: string;
  readonly eventBridgeQueue: string | null;
  /** The name below which hosts are buckets: "tidegate" for bucket.tidegate. Null for none. */
  readonly baseHost: string | null;
}

export interface S3Call {
  readonly server: ServerContext;
  readonly s3: S3Context;
  readonly request: HttpRequest;
  readonly caller: RequestCaller;
  /** What the signatures of chunks continue from; null if chunks are not signed. */
  readonly signed: VerifiedSignature | null;
  /** Empty if the request does not name a bucket. */
  readonly bucket: string;
  readonly key: string;
  readonly query: URLSearchParams;
  readonly origin: Origin;
}

export interface S3Action {
  readonly name: string;
  readonly method: "GET" | "HEAD" | "PUT" | "POST" | "DELETE";
  readonly at: "service" | "bucket" | "object";
  /** Query parameters that must all be present; they distinguish actions. */
  readonly query?: readonly string[];
  /** A header that must be present. */
  readonly header?: string;
  run(call: S3Call): Promise<HttpReply> | HttpReply;
}

/** Submits an operation to the broker. */
export function ask<K extends S3OperationName>(
  call: S3Call,
  name: K,
  input: S3Input<K>,
): Promise<OperationResult<K>> {
  return call.server.broker.submit(name, input);
}

/** The version that a request names, or null for the current one. */
export function versionOf(call: S3Call): string | null {
  return call.query.get("versionId");
}
