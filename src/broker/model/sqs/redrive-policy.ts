// RedrivePolicy: where a queue's failed messages go, and whose failed messages a queue accepts.

import {
  SQS_RECEIVE_COUNT_SETTING_MAX,
  SQS_RECEIVE_COUNT_SETTING_MIN,
  SQS_REDRIVE_ALLOW_SOURCES_MAX,
} from "../../../core/limits.ts";
import { type Result, succeed } from "../../../core/result.ts";
import type { Fault } from "../fault.ts";
import { invalidValue } from "./queue-faults.ts";

export interface RedrivePolicy {
  readonly targetArn: string;
  readonly maxReceiveCount: number;
}

export interface RedriveAllow {
  readonly permission: "allowAll" | "denyAll" | "byQueue";
  readonly sources: readonly string[];
}

/** Null if the text is not a JSON object. */
export function parseObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    const plain = typeof value === "object" && value !== null && !Array.isArray(value);
    return plain ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

export function parseRedrivePolicy(text: string): Result<RedrivePolicy, Fault> {
  const bad = (reason: string) => invalidValue(text, "RedrivePolicy", reason);
  const policy = parseObject(text);
  if (policy === null) return bad("Redrive policy is not a valid JSON map.");
  const targetArn = policy.deadLetterTargetArn;
  if (targetArn === undefined) {
    return bad("Redrive policy does not contain mandatory attribute: deadLetterTargetArn.");
  }
  const count = policy.maxReceiveCount;
  if (count === undefined) {
    return bad("Redrive policy does not contain mandatory attribute: maxReceiveCount.");
  }
  if (typeof targetArn !== "string") return bad("Invalid value for deadLetterTargetArn.");
  const digits = typeof count === "string" && /^\d+$/.test(count);
  const maxReceiveCount = typeof count === "number" || digits ? Number(count) : Number.NaN;
  const whole = Number.isInteger(maxReceiveCount);
  const low = maxReceiveCount < SQS_RECEIVE_COUNT_SETTING_MIN;
  if (!whole || low || maxReceiveCount > SQS_RECEIVE_COUNT_SETTING_MAX) {
    return bad(
      `Invalid value for maxReceiveCount: ${String(count)}, valid values are from ` +
        `${SQS_RECEIVE_COUNT_SETTING_MIN} to ${SQS_RECEIVE_COUNT_SETTING_MAX} both inclusive.`,
    );
  }
  return succeed({ targetArn, maxReceiveCount });
}

/** As GetQueueAttributes returns it: the count is a number, whatever type it was set as. */
export function formatRedrivePolicy(policy: RedrivePolicy): string {
  return JSON.stringify({
    deadLetterTargetArn: policy.targetArn,
    maxReceiveCount: policy.maxReceiveCount,
  });
}

/** Whether `given` equals `stored`, which `formatRedrivePolicy` wrote. */
export function repeatsRedrivePolicy(given: string, stored: string | undefined): boolean {
  const policy = parseRedrivePolicy(given);
  return policy.ok && formatRedrivePolicy(policy.value) === stored;
}

export function parseRedriveAllow(text: string): Result<RedriveAllow, Fault> {
  const bad = (reason: string) => invalidValue(text, "RedriveAllowPolicy", reason);
  const policy = parseObject(text);
  if (policy === null) return bad("Redrive allow policy is not a valid JSON map.");
  const permission = policy.redrivePermission;
  if (permission !== "allowAll" && permission !== "denyAll" && permission !== "byQueue") {
    return bad(
      "Amazon SQS can't create the redrive allow policy. Use allowAll, denyAll or byQueue.",
    );
  }
  const given = policy.sourceQueueArns ?? undefined; // AWS treats null as absent.
  const sources: unknown[] = Array.isArray(given) ? given : [];
  if (given !== undefined && !Array.isArray(given)) return bad("sourceQueueArns must be a list.");
  if (sources.some((arn) => typeof arn !== "string")) {
    return bad("sourceQueueArns must be a list of queue ARNs.");
  }
  if (permission !== "byQueue" && sources.length > 0) {
    return bad(`sourceQueueArns can't be given with ${permission}.`);
  }
  if (permission === "byQueue" && sources.length === 0) {
    return bad("byQueue needs at least one of sourceQueueArns.");
  }
  if (sources.length > SQS_REDRIVE_ALLOW_SOURCES_MAX) {
    return bad(`At most ${SQS_REDRIVE_ALLOW_SOURCES_MAX} sourceQueueArns can be given.`);
  }
  return succeed({ permission, sources: sources as string[] });
}

/** As GetQueueAttributes returns it, whatever spaces or nulls it was set with. */
export function formatRedriveAllow({ permission, sources }: RedriveAllow): string {
  return JSON.stringify({
    redrivePermission: permission,
    ...(sources.length > 0 && { sourceQueueArns: sources }),
  });
}

/** Whether the queue with this policy accepts the dead letters of `sourceArn`. */
export function allowsSource(allow: RedriveAllow, sourceArn: string): boolean {
  if (allow.permission === "allowAll") return true;
  return allow.permission === "byQueue" && allow.sources.includes(sourceArn);
}
