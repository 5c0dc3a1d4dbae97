// QueueSettings: a queue's attributes in our units. The record keeps AWS's strings.

import {
  SQS_MESSAGE_BYTES_SETTING_MAX,
  SQS_RETENTION_MS_DEFAULT,
  SQS_VISIBILITY_MS_DEFAULT,
} from "../../../core/limits.ts";
import { type DurationMs, durationMs, seconds } from "../../../core/units.ts";
import type { RedriveAllow, RedrivePolicy } from "./redrive-policy.ts";
import { parseRedriveAllow, parseRedrivePolicy } from "./redrive-policy.ts";

export interface QueueSettings {
  readonly fifo: boolean;
  readonly contentBasedDedup: boolean;
  readonly visibilityMs: DurationMs;
  readonly delayMs: DurationMs;
  readonly retentionMs: DurationMs;
  readonly receiveWaitMs: DurationMs;
  readonly messageBytesMax: number;
  readonly redrive: RedrivePolicy | null;
  readonly redriveAllow: RedriveAllow;
}

/** Reads attributes that were validated when they were set. */
export function queueSettingsOf(attributes: Readonly<Record<string, string>>): QueueSettings {
  const span = (name: string, fallback: DurationMs): DurationMs =>
    attributes[name] === undefined ? fallback : seconds(Number(attributes[name]));
  const redrive = attributes.RedrivePolicy;
  const allow = attributes.RedriveAllowPolicy;
  const policy = redrive === undefined ? null : parseRedrivePolicy(redrive);
  const allowed = allow === undefined ? null : parseRedriveAllow(allow);
  return {
    fifo: attributes.FifoQueue === "true",
    contentBasedDedup: attributes.ContentBasedDeduplication === "true",
    visibilityMs: span("VisibilityTimeout", SQS_VISIBILITY_MS_DEFAULT),
    delayMs: span("DelaySeconds", durationMs(0)),
    retentionMs: span("MessageRetentionPeriod", SQS_RETENTION_MS_DEFAULT),
    receiveWaitMs: span("ReceiveMessageWaitTimeSeconds", durationMs(0)),
    messageBytesMax: Number(attributes.MaximumMessageSize ?? SQS_MESSAGE_BYTES_SETTING_MAX),
    redrive: policy?.ok ? policy.value : null,
    redriveAllow: allowed?.ok ? allowed.value : { permission: "allowAll", sources: [] },
  };
}
