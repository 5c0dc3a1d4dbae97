// Bucket steps: the buckets of a set-up; versioning and notifications are steps of their own, so
// that a set-up that was cut short goes on where it was.
//   K1. Ids of notifications that nobody chose are made up by the broker, and so never compared.

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

export function bucketSteps(buckets: readonly BucketSetup[], site: SetupContext): SetupStep[] {
  return buckets.flatMap((bucket, index) => {
    const path = `/buckets/${index}`;
    const steps = [bucketStep(bucket, path, site)];
    if (bucket.versioning !== undefined) steps.push(versioningStep(bucket, path));
    if (bucket.notifications !== undefined || bucket.eventBridge !== undefined) {
      steps.push(notificationStep(bucket, path, site));
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
    isThere: async (broker) => (await find(broker, name)) !== null,
    async differs(broker) {
      const found = await find(broker, name);
      return found === null ? "it is gone" : firstDifference("tag", tags ?? {}, found.tags ?? {});
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
    isThere: async (broker) => ((await find(broker, name))?.versioning ?? null) !== null,
    async differs(broker) {
      const found = (await find(broker, name))?.versioning;
      return found === versioning ? null : `it is ${found}, not ${versioning}`;
    },
    make: async (broker) =>
      reasonOf(await broker.submit("setBucketVersioning", { bucket: name, versioning })),
  };
}

function notificationStep(bucket: BucketSetup, path: string, site: SetupContext): SetupStep {
  const { name, notifications = [], eventBridge = false } = bucket;
  const config = { targets: notifications.map((each) => targetOf(each, site)), eventBridge };
  const read = async (broker: Broker) => (await find(broker, name))?.notification ?? null;
  return {
    path: `${path}/notifications`,
    label: `the notifications of the bucket "${name}"`,
    async isThere(broker) {
      const found = await read(broker);
      return found !== null && (found.targets.length > 0 || found.eventBridge);
    },
    async differs(broker) {
      const found = await read(broker);
      if (found !== null && fingerprint(found, config) === fingerprint(config, config)) return null;
      return "the bucket has other notifications";
    },
    async make(broker) {
      if (config.targets.length === 0 && !eventBridge) return null;
      const input = { bucket: name, config, validate: true, origin: originOf(site) };
      return reasonOf(await broker.submit("setBucketNotification", input));
    },
  };
}

async function find(broker: Broker, bucket: string): Promise<BucketRecord | null> {
  const outcome = await broker.submit("findBucket", { bucket });
  return outcome.ok ? outcome.value.bucket : null;
}

/** The reason for a refusal, or null. */
function reasonOf(result: Result<unknown, S3Fault>): string | null {
  if (result.ok) return null;
  const { message, fields = {} } = result.fault;
  const details = Object.values(fields).join(", ");
  return details === "" ? message : `${message} (${details})`;
}

function targetOf(notification: NotificationSetup, site: SetupContext): NotificationTarget {
  const { id = "", queue, topic = "", events, prefix, suffix } = notification;
  const rules = [
    ...(prefix === undefined ? [] : [{ name: "Prefix", value: prefix } as const]),
    ...(suffix === undefined ? [] : [{ name: "Suffix", value: suffix } as const]),
  ];
  return queue === undefined
    ? { kind: "topic", id, arn: setupTopicArn(site, topic), events, rules }
    : { kind: "queue", id, arn: setupQueueArn(site, queue), events, rules };
}

/** Two configurations with the same fingerprint do the same; order does not matter (K1). */
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

/** Whom events tell of that no client has caused. */
function originOf(site: SetupContext): Origin {
  const requestId = site.newId().replaceAll("-", "").slice(0, REQUEST_ID_DIGITS).toUpperCase();
  return {
    requestId,
    hostId: site.newId(),
    sourceIp: "127.0.0.1",
    url: site.origin,
    principalId: "AWS:tidegate",
    ownerId: "tidegate",
    eventVersion: site.s3EventVersion,
    eventBridgeQueue: site.eventBridgeQueue,
  };
}
