// Bucket steps: the buckets of a setup. Versioning and notifications are separate steps, so that an
// interrupted setup can continue.
//   K1. The broker generates missing notification ids, so those are not compared.

import type { Broker } from "../../broker/engine/broker.ts";
import type { BucketRecord } from "../../broker/model/s3/bucket.ts";
import type {
  NotificationConfig,
  NotificationTarget,
} from "../../broker/model/s3/notification-config.ts";
import type { S3Fault } from "../../broker/model/s3/s3-fault.ts";
import type { Origin } from "../../broker/model/s3/s3-operations.ts";
import { canonicalJson } from "../../core/encoding/canonical-json.ts";
import type { Result } from "../../core/result.ts";
import type { BucketSetup, NotificationSetup } from "./cloud-setup.ts";
import {
  firstDifference,
  type SetupContext,
  type SetupStep,
  setupQueueArn,
  setupTopicArn,
} from "./setup-step.ts";

export function bucketSteps(buckets: readonly BucketSetup[], context: SetupContext): SetupStep[] {
  return buckets.flatMap((bucket, index) => {
    const path = `/buckets/${index}`;
    const steps = [bucketStep(bucket, path, context)];
    if (bucket.versioning !== undefined) steps.push(versioningStep(bucket, path));
    if (bucket.notifications !== undefined || bucket.eventBridge !== undefined) {
      steps.push(notificationStep(bucket, path, context));
    }
    return steps;
  });
}

function bucketStep(
  { name, tags }: BucketSetup,
  path: string,
  { region }: SetupContext,
): SetupStep {
  return {
    path,
    label: `the bucket "${name}"`,
    exists: async (broker) => (await find(broker, name)) !== null,
    async differs(broker) {
      const current = await find(broker, name);
      return current === null
        ? "it was deleted"
        : firstDifference("tag", tags ?? {}, current.tags ?? {});
    },
    async make(broker) {
      const input = { bucket: name, region, tags: tags === undefined ? null : { ...tags } };
      return reasonOf(await broker.submit("createBucket", input));
    },
  };
}

function versioningStep({ name, versioning = "Enabled" }: BucketSetup, path: string): SetupStep {
  return {
    path: `${path}/versioning`,
    label: `the versioning of the bucket "${name}"`,
    exists: async (broker) => ((await find(broker, name))?.versioning ?? null) !== null,
    async differs(broker) {
      const current = (await find(broker, name))?.versioning;
      return current === versioning ? null : `it is ${current}, not ${versioning}`;
    },
    make: async (broker) =>
      reasonOf(await broker.submit("setBucketVersioning", { bucket: name, versioning })),
  };
}

function notificationStep(bucket: BucketSetup, path: string, context: SetupContext): SetupStep {
  const { name, notifications = [], eventBridge = false } = bucket;
  const config = { targets: notifications.map((each) => targetOf(each, context)), eventBridge };
  const read = async (broker: Broker) => (await find(broker, name))?.notification ?? null;
  return {
    path: `${path}/notifications`,
    label: `the notifications of the bucket "${name}"`,
    async exists(broker) {
      const current = await read(broker);
      return current !== null && (current.targets.length > 0 || current.eventBridge);
    },
    async differs(broker) {
      const current = await read(broker);
      if (current !== null && fingerprint(current, config) === fingerprint(config, config))
        return null;
      return "the bucket has other notifications";
    },
    async make(broker) {
      if (config.targets.length === 0 && !eventBridge) return null;
      const input = { bucket: name, config, validate: true, origin: originOf(context) };
      return reasonOf(await broker.submit("setBucketNotification", input));
    },
  };
}

async function find(broker: Broker, bucket: string): Promise<BucketRecord | null> {
  const outcome = await broker.submit("findBucket", { bucket });
  return outcome.ok ? outcome.value.bucket : null;
}

/** Why the operation was refused; null if it succeeded. */
function reasonOf(result: Result<unknown, S3Fault>): string | null {
  if (result.ok) return null;
  const { message, fields = {} } = result.fault;
  const details = Object.values(fields).join(", ");
  return details === "" ? message : `${message} (${details})`;
}

function targetOf(notification: NotificationSetup, context: SetupContext): NotificationTarget {
  const { id = "", queue, topic = "", events, prefix, suffix } = notification;
  const rules = [
    ...(prefix === undefined ? [] : [{ name: "Prefix", value: prefix } as const]),
    ...(suffix === undefined ? [] : [{ name: "Suffix", value: suffix } as const]),
  ];
  return queue === undefined
    ? { kind: "topic", id, arn: setupTopicArn(context, topic), events, rules }
    : { kind: "queue", id, arn: setupQueueArn(context, queue), events, rules };
}

/** Configurations with the same fingerprint are equivalent; order does not matter (K1). */
function fingerprint(config: NotificationConfig, chosen: NotificationConfig): string {
  const ids = new Set(chosen.targets.map(({ id }) => id));
  const targets = config.targets.map(({ kind, id, arn, events, rules }) =>
    canonicalJson({
      kind,
      id: ids.has(id) ? id : "",
      arn,
      events: [...events].sort(),
      rules: rules.map(({ name, value }) => `${name}=${value}`).sort(),
    }),
  );
  return canonicalJson({ targets: targets.sort(), eventBridge: config.eventBridge });
}

const REQUEST_ID_DIGITS = 16;

/** The origin in events that no client caused. */
function originOf(context: SetupContext): Origin {
  const requestId = context.newId().replaceAll("-", "").slice(0, REQUEST_ID_DIGITS).toUpperCase();
  return {
    requestId,
    hostId: context.newId(),
    sourceIp: "127.0.0.1",
    url: context.origin,
    principalId: "AWS:tidegate",
    ownerId: "tidegate",
    eventVersion: context.s3EventVersion,
    eventBridgeQueue: context.eventBridgeQueue,
  };
}
