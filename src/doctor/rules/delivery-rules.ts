// Delivery rules: topics, buckets, pipes and functions between the source and the consumer.

import type { Rule } from "../rule.ts";
import type { ObservedNotification, ObservedQueue, Setup } from "../setup.ts";
import { consumedQueues } from "./consumed-queues.ts";
import { nameIn } from "./words.ts";

export const queueAt = ({ queues }: Setup, arn: string): ObservedQueue | undefined =>
  queues.find((queue) => queue.arn === arn);
const isFifo = (arn: string) => arn.endsWith(".fifo");

export const DELIVERY_RULES: readonly Rule[] = [
  {
    id: "TGD030",
    name: "fifo-topic-filtered",
    title: "Filter policy on a FIFO topic",
    severity: "error",
    risk: "loss",
    consequence:
      "Delivery becomes at most once: a message that the filter rejects is gone, and later sends of its id are dropped as duplicates.",
    fix: "Remove the filter policy and filter in the consumer, or use one topic per kind of message.",
    check: ({ subscriptions }) =>
      subscriptions.flatMap(({ location, topicArn, filtered }) => {
        if (!isFifo(topicArn) || filtered !== true) return [];
        const message =
          `the subscription to FIFO topic ${nameIn(topicArn)} has a filter policy, so delivery is ` +
          `at most once; remove the filter policy and filter in the consumer`;
        return [{ location, message }];
      }),
  },
  {
    id: "TGD031",
    name: "standard-for-order",
    title: "Standard queue where order is needed",
    severity: "error",
    risk: "order",
    consequence:
      "A standard queue delivers in any order. MessageGroupId only makes it fair between tenants.",
    fix: "Use a FIFO queue, or a consumer that does not depend on order.",
    check: (setup) => [...orderlessSubscriptions(setup), ...orderlessSends(setup)],
  },
  {
    id: "TGD032",
    name: "standard-topic-to-fifo-queue",
    title: "FIFO queue on a standard topic",
    severity: "error",
    risk: "loss",
    consequence: "SNS refuses the subscription, so nothing arrives.",
    fix: "Use a FIFO topic, or a standard queue.",
    check: ({ subscriptions }) =>
      subscriptions.flatMap(({ location, topicArn, protocol, endpoint }) => {
        if (topicArn === "" || protocol !== "sqs") return [];
        if (isFifo(topicArn) || !isFifo(endpoint)) return [];
        const message =
          `FIFO queue ${nameIn(endpoint)} is subscribed to standard topic ${nameIn(topicArn)}, ` +
          `which SNS refuses; use a FIFO topic or a standard queue`;
        return [{ location, message }];
      }),
  },
  {
    id: "TGD033",
    name: "bucket-to-fifo",
    title: "Bucket that notifies a FIFO queue or topic",
    severity: "error",
    risk: "loss",
    consequence: "S3 refuses the configuration, so no event is sent.",
    fix: "Notify a standard queue or topic; send to a FIFO queue from EventBridge or a producer.",
    check: (setup) => [
      ...setup.notifications.flatMap(({ location, bucket, targetArn }) => {
        if (!isFifo(targetArn)) return [];
        const message =
          `bucket ${bucket} notifies ${nameIn(targetArn)}, but S3 cannot notify FIFO queues and ` +
          `topics; use a standard one`;
        return [{ location, message }];
      }),
      ...consumedQueues(setup).flatMap(({ queue, pipeline }) => {
        if (pipeline === null || pipeline.bucket === null || !queue.fifo) return [];
        const message =
          `pipeline ${pipeline.name} reads bucket ${pipeline.bucket} through FIFO queue ` +
          `${queue.name}, which S3 cannot notify; use a standard queue`;
        return [{ location: pipeline.location, message }];
      }),
    ],
  },
  {
    id: "TGD034",
    name: "subscription-without-dead-letters",
    title: "Subscription without a dead-letter queue",
    severity: "note",
    risk: "loss",
    consequence: "SNS drops a message that it may not deliver, for example after a policy change.",
    fix: "Set a RedrivePolicy on the subscription.",
    check: ({ subscriptions }) =>
      subscriptions.flatMap(({ location, protocol, endpoint, topicArn, deadLetterArn }) => {
        if (protocol !== "sqs" || deadLetterArn !== null) return [];
        const message =
          `the subscription of ${nameIn(endpoint)} to ${nameIn(topicArn)} has no dead-letter ` +
          `queue, so SNS drops what it may not deliver; set a RedrivePolicy on it`;
        return [{ location, message }];
      }),
  },
  {
    id: "TGD035",
    name: "bucket-unversioned",
    title: "Bucket without versioning",
    severity: "warning",
    risk: "loss",
    consequence:
      "Two writes at once may cause one notification, and an overwritten object cannot be replayed.",
    fix: "Enable versioning on the bucket.",
    check: (setup) =>
      setup.buckets.flatMap(({ location, name, versioned }) => {
        const notifies = setup.notifications.some(({ bucket }) => bucket === name);
        if (versioned !== false || !(notifies || setup.pipeline?.bucket === name)) return [];
        const message =
          `bucket ${name} keeps no versions, so an object that is overwritten before its event is ` +
          `processed is lost; set its versioning to Enabled`;
        return [{ location, message }];
      }),
  },
  {
    id: "TGD036",
    name: "notification-overwritten",
    title: "Two notification configurations for one bucket",
    severity: "error",
    risk: "loss",
    consequence: "A bucket has one configuration: the last one applied replaces the other.",
    fix: "Put all notifications of a bucket into one aws_s3_bucket_notification.",
    check: ({ notifications }) => {
      const first = new Map<string, string>();
      return notifications.flatMap(({ location, bucket, configuration }) => {
        const other = first.get(bucket) ?? configuration;
        first.set(bucket, other);
        if (other === configuration) return [];
        const message =
          `bucket ${bucket} has the notification configurations ${other} and ${configuration}, ` +
          `and the last one applied replaces the other; put all notifications into one`;
        return [{ location, message }];
      });
    },
  },
  {
    id: "TGD037",
    name: "notifications-overlap",
    title: "One object event on two ways to the consumer",
    severity: "warning",
    risk: "double effect",
    consequence: "S3 refuses overlapping filters, or the same event arrives twice.",
    fix: "Give each notification its own prefix or suffix.",
    check: ({ notifications }) =>
      notifications.flatMap((one, at) => {
        const other = notifications.slice(0, at).find((earlier) => overlaps(earlier, one));
        if (other === undefined || other.configuration !== one.configuration) return [];
        const message =
          `bucket ${one.bucket} notifies both ${nameIn(other.targetArn)} and ` +
          `${nameIn(one.targetArn)} of the same objects, which S3 refuses or which arrives twice; ` +
          `use prefixes that do not overlap`;
        return [{ location: one.location, message }];
      }),
  },
  {
    id: "TGD038",
    name: "pipe-to-ecs",
    title: "EventBridge pipe that starts ECS tasks",
    severity: "error",
    risk: "loss",
    consequence:
      "The pipe deletes the message as soon as the task is started. A task that crashes loses its message.",
    fix: "Let the task receive its message, extend its timeout while it runs, and delete it at the end.",
    check: ({ pipes }) =>
      pipes.flatMap(({ location, sourceArn, target }) => {
        if (target !== "ecs") return [];
        const message =
          `pipe ${location.name} starts an ECS task per message of ${nameIn(sourceArn)} and deletes ` +
          `the message when the task starts, so a crashed task loses it; let the task receive and ` +
          `delete its message`;
        return [{ location, message }];
      }),
  },
  {
    id: "TGD039",
    name: "function-fails-whole-batch",
    title: "Lambda function that cannot report partial failures",
    severity: "error",
    risk: "double effect",
    consequence: "One failed message makes Lambda process the whole batch again.",
    fix: "Set function_response_types to ReportBatchItemFailures and return batchItemFailures.",
    check: ({ mappings }) =>
      mappings.flatMap(({ location, queueArn, batchSize, reportsFailures }) => {
        if (queueArn === "" || reportsFailures !== false) return [];
        if (batchSize === undefined || batchSize <= 1) return [];
        const message =
          `the function that reads ${nameIn(queueArn)} does not report partial failures, so one ` +
          `failed message repeats the whole batch; set ReportBatchItemFailures`;
        return [{ location, message }];
      }),
  },
];

function orderlessSubscriptions({ subscriptions }: Setup) {
  return subscriptions.flatMap(({ location, topicArn, protocol, endpoint }) => {
    if (endpoint === "" || protocol !== "sqs") return [];
    if (!isFifo(topicArn) || isFifo(endpoint)) return [];
    const message =
      `standard queue ${nameIn(endpoint)} is subscribed to FIFO topic ${nameIn(topicArn)}, so ` +
      `order and deduplication are lost; use a FIFO queue`;
    return [{ location, message }];
  });
}

function orderlessSends({ code, queues }: Setup) {
  if (queues.length === 0 || queues.some(({ fifo }) => fifo)) return [];
  const names = queues.map(({ name }) => name).join(", ");
  return code
    .filter(({ pattern }) => pattern === "sends-groups")
    .map(({ location }) => ({
      location,
      message:
        `a MessageGroupId is sent, but no queue is FIFO (${names}), so messages of a group arrive ` +
        `in any order; use a FIFO queue`,
    }));
}

function overlaps(one: ObservedNotification, two: ObservedNotification): boolean {
  if (one.bucket !== two.bucket) return false;
  const prefixes = one.prefix.startsWith(two.prefix) || two.prefix.startsWith(one.prefix);
  const suffixes = one.suffix.endsWith(two.suffix) || two.suffix.endsWith(one.suffix);
  const kinds = one.events.some((event) => two.events.some((other) => sameEvents(event, other)));
  return prefixes && suffixes && kinds;
}

function sameEvents(one: string, two: string): boolean {
  const stem = (event: string) => event.replace(/\*$/, "");
  return one.startsWith(stem(two)) || two.startsWith(stem(one));
}
