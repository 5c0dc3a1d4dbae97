// Gaps: what a foreign server cannot do, by name. Tests skip it with the reason, and fail once the
// server can. docs/guides/foreign-servers.md has the same rows.

import type { TestContext } from "vitest";
import type { ForeignServer } from "./foreign-servers.ts";

export interface Gap {
  readonly server: ForeignServer;
  /** The guarantee that does not hold. */
  readonly guarantee: string;
  readonly reason: string;
}

/** Guarantees of objects and tables; the others are names of queue checks. */
export const VERSIONS_IN_ORDER = "the newer version of an object wins";
export const ATOMIC_WRITES = "concurrent conditional writes to a DynamoDB table are atomic";

export const GAPS: readonly Gap[] = [
  {
    server: "ElasticMQ",
    guarantee: "a message can be deleted again",
    reason: "a second delete is refused; Tidegate takes the message for gone, which it is",
  },
  {
    server: "ElasticMQ",
    guarantee: "a queue keeps messages for its retention period",
    reason: "MessageRetentionPeriod is ignored; `run` reports that dead letters expire early",
  },
  {
    server: "ElasticMQ",
    guarantee: "a message of one mebibyte is accepted",
    reason: "its limit is 256 KiB, as that of SQS was",
  },
  {
    server: "moto",
    guarantee: "a delivery has the trace header it was sent with",
    reason: "AWSTraceHeader is not returned; the attribute traceparent is",
  },
  {
    server: "moto",
    guarantee: "a moved message names its source queue",
    reason: "DeadLetterQueueSourceArn is missing; dead letters that Tidegate sent have a dossier",
  },
  {
    server: "moto",
    guarantee: VERSIONS_IN_ORDER,
    reason: "its events have no sequencer, so that versions have no order",
  },
  {
    server: "moto",
    guarantee: ATOMIC_WRITES,
    reason: "a cancelled transaction undoes other writes of that time; send one request at a time",
  },
];

/** Runs a check; if it is a gap of the server, its failure skips the test. */
export async function checkUnlessGap(
  server: ForeignServer,
  guarantee: string,
  check: () => Promise<void>,
  context: Pick<TestContext, "skip">,
): Promise<void> {
  const gap = GAPS.find((gap) => gap.server === server && gap.guarantee === guarantee);
  if (gap === undefined) return await check();
  const failed = await check().then(
    () => false,
    () => true,
  );
  if (!failed) throw new Error(`${server} can do it now: remove "${guarantee}" from the gaps`);
  context.skip(`${server} cannot do it: ${gap.reason}`);
}
