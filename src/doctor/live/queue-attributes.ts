// Queue attributes: what SQS says about a queue, as the doctor's facts. Missing attributes are
// defaults of SQS, except that servers which do not know encryption say nothing about it.

import { QUEUE_FACT_ATTRIBUTES, queueFactsOf } from "../../core/queue-facts.ts";
import { policyStatements } from "../policy-document.ts";
import type { ObservedQueue, RedriveAllowance, RedriveTarget } from "../setup.ts";

/** The attributes to request. */
export const DOCTOR_ATTRIBUTES = [
  ...QUEUE_FACT_ATTRIBUTES,
  "FifoQueue",
  "KmsMasterKeyId",
  "SqsManagedSseEnabled",
  "DeduplicationScope",
  "RedriveAllowPolicy",
  "Policy",
] as const;

type Attributes = Readonly<Record<string, string | undefined>>;

export function observedQueueOf(attributes: Attributes): ObservedQueue {
  const facts = queueFactsOf(attributes);
  const name = facts.arn.split(":").at(-1) ?? "";
  const { KmsMasterKeyId, SqsManagedSseEnabled, DeduplicationScope, Policy } = attributes;
  const { FifoQueue, RedriveAllowPolicy } = attributes;
  return {
    location: { name },
    name,
    arn: facts.arn,
    fifo: FifoQueue === "true",
    visibilityMs: facts.visibilityMs,
    retentionMs: facts.retentionMs,
    waitMs: facts.waitMs,
    redrive: facts.redrive,
    redriveAllow: redriveAllowanceOf(RedriveAllowPolicy),
    kmsKey: KmsMasterKeyId || null,
    sqsKey: SqsManagedSseEnabled === undefined ? undefined : SqsManagedSseEnabled === "true",
    dedupPerGroup: DeduplicationScope === "messageGroup",
    policy: policyStatements(Policy),
  };
}

/** The facts of a queue that is read through the port of a pipeline. */
export function observedQueueFrom(queue: {
  readonly name: string;
  readonly fifo: boolean;
  readonly arn: string;
  readonly visibilityMs: ObservedQueue["visibilityMs"];
  readonly retentionMs: ObservedQueue["retentionMs"];
  readonly waitMs: ObservedQueue["waitMs"];
  readonly redrive: RedriveTarget | null;
}): ObservedQueue {
  const { name, fifo, arn, visibilityMs, retentionMs, waitMs, redrive } = queue;
  return {
    location: { name },
    name,
    arn,
    fifo,
    visibilityMs,
    retentionMs,
    waitMs,
    redrive,
    redriveAllow: undefined,
    kmsKey: undefined,
    sqsKey: undefined,
    dedupPerGroup: undefined,
    policy: undefined,
  };
}

/** A RedriveAllowPolicy; undefined if it cannot be read. */
export function redriveAllowanceOf(policy: unknown): RedriveAllowance | null | undefined {
  if (policy === undefined || policy === null || policy === "") return null;
  let value = policy as { redrivePermission?: unknown; sourceQueueArns?: unknown };
  if (typeof policy === "string") {
    try {
      value = JSON.parse(policy) as typeof value;
    } catch {
      return undefined;
    }
  }
  const { redrivePermission: permission, sourceQueueArns: sources = [] } = value;
  if (permission !== "allowAll" && permission !== "denyAll" && permission !== "byQueue") {
    return undefined;
  }
  if (!Array.isArray(sources) || !sources.every((each) => typeof each === "string")) {
    return undefined;
  }
  return { permission, sources };
}
