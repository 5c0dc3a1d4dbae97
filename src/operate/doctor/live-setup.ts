// Live setup: queues and what sends to them, read from AWS or a compatible endpoint.
//   I1. Nothing is changed: all calls are reads.
//   I2. The queues that were asked for have to answer. What surrounds them is read if the caller
//       may read it; a note says what could not be read.
//   I3. The embedded cloud enforces no policies and needs no encryption by default, so an endpoint
//       on this machine is not checked for them.

import type { QueueConfiguration, S3Client, TopicConfiguration } from "@aws-sdk/client-s3";
import type { SNSClient } from "@aws-sdk/client-sns";
import type { SQSClient } from "@aws-sdk/client-sqs";
import { asked } from "../../aws/request-deadline.ts";
import { reasonOf, TidegateError } from "../../core/errors.ts";
import { parseQueueArn } from "../../core/queue-arn.ts";
import { DOCTOR_ATTRIBUTES, observedQueueOf } from "../../doctor/live/queue-attributes.ts";
import { policyStatements } from "../../doctor/policy-document.ts";
import {
  EMPTY_SETUP,
  type ObservedBucket,
  type ObservedNotification,
  type ObservedQueue,
  type ObservedSubscription,
  type Setup,
} from "../../doctor/setup.ts";
import { clientOptions, type Server } from "../../run/open/find-server.ts";
import { isLoopbackUrl } from "../../run/open/store-url.ts";

/** Subscriptions of a topic beyond these are not read. */
const SUBSCRIPTIONS_MAX = 100;

export interface LiveQueueOptions {
  /** Names, URLs or ARNs of queues. */
  readonly queues: readonly string[];
  /** The bucket of a pipeline. */
  readonly bucket: string | null;
  readonly server: Server;
}

export interface LiveReading {
  readonly setup: Setup;
  readonly notes: readonly string[];
}

export async function readLiveSetup(options: LiveQueueOptions): Promise<LiveReading> {
  const { SQSClient, S3Client, SNSClient } = await loadClients();
  const { server } = options;
  const sqsOptions = clientOptions("SQS", server);
  const sqs = new SQSClient(sqsOptions);
  const sns = new SNSClient(clientOptions("SNS", server));
  const s3Options = clientOptions("S3", server);
  const s3 = new S3Client({ ...s3Options, forcePathStyle: "endpoint" in s3Options });
  const local = isLoopbackUrl(sqsOptions.endpoint); // I3
  try {
    return await new LiveReader({ sqs, sns, s3 }, local).read(options);
  } finally {
    for (const client of [sqs, sns, s3]) client.destroy();
  }
}

async function loadClients() {
  try {
    const [sqs, sns, s3] = await Promise.all([
      import("@aws-sdk/client-sqs"),
      import("@aws-sdk/client-sns"),
      import("@aws-sdk/client-s3"),
    ]);
    return { ...sqs, SNSClient: sns.SNSClient, S3Client: s3.S3Client };
  } catch (cause) {
    if ((cause as { code?: string }).code !== "ERR_MODULE_NOT_FOUND") throw cause;
    const packages = "@aws-sdk/client-sqs @aws-sdk/client-sns @aws-sdk/client-s3";
    const message = `live queues need the AWS SDK: npm install ${packages}`;
    throw new TidegateError("TG_CONFIG_INVALID", message, { cause });
  }
}

interface Clients {
  readonly sqs: SQSClient;
  readonly sns: SNSClient;
  readonly s3: S3Client;
}

class LiveReader {
  readonly #clients: Clients;
  readonly #local: boolean;
  readonly #notes: string[] = [];

  constructor(clients: Clients, local: boolean) {
    this.#clients = clients;
    this.#local = local;
  }

  async read({ queues: names, bucket }: LiveQueueOptions): Promise<LiveReading> {
    const queues: ObservedQueue[] = [];
    for (const name of names) {
      const queue = await this.#queue(name);
      if (!queues.some(({ arn }) => arn === queue.arn)) queues.push(queue);
      const target = queue.redrive?.deadLetterArn;
      if (target === undefined || queues.some(({ arn }) => arn === target)) continue;
      const dead = await this.#queue(target).catch(() => null); // TGD002 reports it.
      if (dead !== null) queues.push(dead);
    }
    const sources = queues.flatMap(({ policy }) => sourcesIn(policy));
    const own = bucket === null ? [] : [bucket];
    const bucketNames = [...new Set([...own, ...sources.flatMap(bucketIn)])];
    const buckets = await this.#all(bucketNames, (name) => this.#bucket(name));
    const notifications = buckets.flatMap((each) => each.notifications);
    const topicArns = notifications.flatMap(({ kind, targetArn }) => {
      return kind === "topic" ? [targetArn] : [];
    });
    const topics = new Set([...topicArns, ...sources.filter((arn) => arn.includes(":sns:"))]);
    const subscriptions = await this.#all([...topics], (arn) => this.#subscriptions(arn));
    const setup: Setup = {
      ...EMPTY_SETUP,
      queues,
      buckets: buckets.map(({ bucket: each }) => each),
      notifications,
      subscriptions: subscriptions.flat(),
    };
    return { setup, notes: this.#notes };
  }

  /** What could be read; a note says what could not (I2). */
  async #all<T>(names: readonly string[], read: (name: string) => Promise<T>): Promise<T[]> {
    const results = await Promise.all(
      names.map((name) =>
        read(name).catch((error: unknown) => {
          this.#notes.push(`${name} was not checked: ${reasonOf(error)}`);
          return null;
        }),
      ),
    );
    return results.filter((result) => result !== null);
  }

  async #queue(name: string): Promise<ObservedQueue> {
    const { GetQueueAttributesCommand } = await import("@aws-sdk/client-sqs");
    const { findQueueUrl } = await import("../../aws/sqs/open-sqs-queue.ts");
    const { sqs } = this.#clients;
    try {
      const QueueUrl = await findQueueUrl({ client: sqs, queue: name });
      const command = new GetQueueAttributesCommand({
        QueueUrl,
        AttributeNames: [...DOCTOR_ATTRIBUTES],
      });
      const { Attributes = {} } = await asked(name, (abortSignal) =>
        sqs.send(command, { abortSignal }),
      );
      const queue = observedQueueOf(Attributes);
      return this.#local ? { ...queue, policy: queue.policy ?? undefined } : queue; // I3
    } catch (error) {
      throw withAccount(error, name);
    }
  }

  async #bucket(name: string) {
    const { GetBucketNotificationConfigurationCommand, GetBucketVersioningCommand } = await import(
      "@aws-sdk/client-s3"
    );
    const { s3 } = this.#clients;
    const Bucket = name;
    const configuration = await s3.send(new GetBucketNotificationConfigurationCommand({ Bucket }));
    const { Status } = await s3.send(new GetBucketVersioningCommand({ Bucket }));
    const bucket: ObservedBucket = {
      location: { name },
      name,
      arn: `arn:aws:s3:::${name}`,
      versioned: Status === "Enabled",
      policy: this.#local ? undefined : await this.#bucketPolicy(name), // I3
    };
    const { TopicConfigurations = [], QueueConfigurations = [] } = configuration;
    return {
      bucket,
      notifications: [
        ...TopicConfigurations.map((each) => notificationOf(name, "topic", each, each.TopicArn)),
        ...QueueConfigurations.map((each) => notificationOf(name, "queue", each, each.QueueArn)),
      ],
    };
  }

  async #bucketPolicy(Bucket: string): Promise<ObservedBucket["policy"]> {
    const { GetBucketPolicyCommand } = await import("@aws-sdk/client-s3");
    try {
      const { Policy } = await this.#clients.s3.send(new GetBucketPolicyCommand({ Bucket }));
      return policyStatements(Policy);
    } catch (error) {
      return (error as Error).name === "NoSuchBucketPolicy" ? null : undefined;
    }
  }

  async #subscriptions(topicArn: string): Promise<ObservedSubscription[]> {
    const { GetSubscriptionAttributesCommand, ListSubscriptionsByTopicCommand } = await import(
      "@aws-sdk/client-sns"
    );
    const { sns } = this.#clients;
    const listed = await sns.send(new ListSubscriptionsByTopicCommand({ TopicArn: topicArn }));
    const some = (listed.Subscriptions ?? []).slice(0, SUBSCRIPTIONS_MAX);
    return Promise.all(
      some.map(async ({ SubscriptionArn, Protocol = "", Endpoint = "" }) => {
        const answer = await sns.send(new GetSubscriptionAttributesCommand({ SubscriptionArn }));
        const { FilterPolicy, RedrivePolicy } = answer.Attributes ?? {};
        return {
          location: { name: SubscriptionArn ?? topicArn },
          topicArn,
          protocol: Protocol,
          endpoint: Endpoint,
          filtered: FilterPolicy !== undefined && FilterPolicy !== "",
          deadLetterArn: this.#local ? undefined : targetIn(RedrivePolicy), // I3
        };
      }),
    );
  }
}

function notificationOf(
  bucket: string,
  kind: "topic" | "queue",
  given: QueueConfiguration | TopicConfiguration,
  targetArn = "",
): ObservedNotification {
  const rules = given.Filter?.Key?.FilterRules ?? [];
  const ruleOf = (name: string) => {
    return rules.find((rule) => rule.Name?.toLowerCase() === name)?.Value ?? "";
  };
  return {
    location: { name: bucket },
    bucket,
    kind,
    targetArn,
    prefix: ruleOf("prefix"),
    suffix: ruleOf("suffix"),
    events: given.Events ?? [],
    configuration: bucket,
  };
}

function targetIn(policy: string | undefined): string | null {
  if (policy === undefined || policy === "") return null;
  return (JSON.parse(policy) as { deadLetterTargetArn?: string }).deadLetterTargetArn ?? null;
}

/** The topics and buckets that a queue policy names. */
function sourcesIn(policy: ObservedQueue["policy"]): readonly string[] {
  return (policy ?? []).flatMap(({ conditions }) => conditions?.["aws:sourcearn"] ?? []);
}

function bucketIn(arn: string): readonly string[] {
  const [, name] = /^arn:[\w-]+:s3:::([^/*?]+)$/.exec(arn) ?? [];
  return name === undefined ? [] : [name];
}

/** A queue of another account that may not be read is named as such. */
function withAccount(error: unknown, name: string): unknown {
  if (!(error instanceof TidegateError) || error.code !== "TG_QUEUE_REFUSED") return error;
  const account = parseQueueArn(name)?.account ?? /\/(\d{12})\/[^/]+$/.exec(name)?.[1];
  if (account === undefined) return error;
  const message = `cannot read the queue ${name} of account ${account}: ${error.message}`;
  return new TidegateError(error.code, message, { cause: error });
}
