// S3 injection: an action of S3 under the faults that were asked for.
//   I1. A request that names no bucket (ListBuckets) is never hit.
//   I2. What is refused is refused before a byte of the body is read.

import type { HttpReply } from "../../../ports/http.ts";
import { fires, refusalFor } from "../../engine/fault-injection.ts";
import type { S3Action, S3Call } from "../s3/s3-call.ts";
import { denied } from "../s3/s3-errors.ts";

/** Runs an action; where no fault was asked for, nothing else. */
export function runS3Action(call: S3Call, action: S3Action): Promise<HttpReply> | HttpReply {
  const { faults } = call.server.broker;
  if (!faults.active || call.bucket === "") return action.run(call); // I1
  const aim = { service: "bucket", name: call.bucket, actions: [action.name] } as const;
  const refused = refusalFor(faults, aim);
  if (refused === null) {
    const dropped = fires(faults, "drop-acknowledgement", aim);
    return dropped ? runUnheard(call, action) : action.run(call);
  }
  const { name, message } = refused.fault; // I2
  if (name !== "Throttled") return denied(call, { code: "ServiceUnavailable", message });
  return denied(call, { code: "SlowDown", message: "Please reduce your request rate." });
}

async function runUnheard(call: S3Call, action: S3Action): Promise<HttpReply> {
  return { ...(await action.run(call)), dropped: true };
}
