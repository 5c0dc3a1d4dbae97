// S3 call: what an action sees of the request it answers, and what an action is.

import type { EpochMs } from "../../../core/units.ts";
import type { BlobStore } from "../../../ports/blob-store.ts";
import type { HttpReply, HttpRequest } from "../../../ports/http.ts";
import type { OperationResult } from "../../model/operations.ts";
import type { Origin, S3Input, S3OperationName } from "../../model/s3/s3-operations.ts";
import type { ServerContext } from "../protocol/call.ts";

/** What stays the same from request to request. */
export interface S3Context {
  readonly blobs: BlobStore;
  readonly now: () => EpochMs;
  /** What events say of their own form. */
  readonly eventVersion: string;
  readonly eventBridgeQueue: string | null;
}

export interface S3Call {
  readonly site: ServerContext;
  readonly s3: S3Context;
  readonly request: HttpRequest;
  /** Empty when the request names none. */
  readonly bucket: string;
  readonly key: string;
  readonly query: URLSearchParams;
  readonly origin: Origin;
}

export interface S3Action {
  readonly name: string;
  readonly method: "GET" | "HEAD" | "PUT" | "POST" | "DELETE";
  readonly at: "service" | "bucket" | "object";
  /** Parameters of the query, all of which must be there: they tell actions apart. */
  readonly query?: readonly string[];
  /** A header that must be there. */
  readonly header?: string;
  run(call: S3Call): Promise<HttpReply> | HttpReply;
}

/** Runs one operation of the broker. */
export function ask<K extends S3OperationName>(
  call: S3Call,
  name: K,
  input: S3Input<K>,
): Promise<OperationResult<K>> {
  return call.site.broker.submit(name, input);
}

/** The version that a request names, or null for the current one. */
export function versionOf(call: S3Call): string | null {
  return call.query.get("versionId");
}
