// S3 injection: runs an action of S3 with injected faults.
//   I1. A request that names no bucket (ListBuckets) is never affected.
//   I2. A request is refused before a byte of its body is read.

import type { HttpReply } from "../../../ports/http/http.ts";
import { injectedS3Refusal, runUnderFaults } from "../../engine/request-faults.ts";
import type { S3Action, S3Call } from "../s3/s3-call.ts";
import { denied } from "../s3/s3-errors.ts";

/** Runs an action; without faults, nothing else. */
export function runS3Action(call: S3Call, action: S3Action): Promise<HttpReply> | HttpReply {
  const { faults } = call.server.broker;
  if (!faults.active || call.bucket === "") return action.run(call); // I1
  const target = { service: "bucket", name: call.bucket, actions: [action.name] } as const;
  return runUnderFaults<HttpReply>(faults, target, () => action.run(call), {
    refused: (kind) => denied(call, injectedS3Refusal(kind).fault), // I2
    dropped: (reply) => ({ ...reply, dropped: true }),
  });
}
