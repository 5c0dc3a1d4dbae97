// Setup: what the doctor knows about queues, topics, buckets, permissions, alarms and code. The
// collectors build it; the rules read nothing else.
//   S1. `undefined` means unknown: a collector could not read the value. A rule never reports an
//       unknown value. `null` means that the setting is absent.
//   S2. ARNs identify resources. Collectors invent one where the real one is not known yet, so that
//       references between resources can be followed.

import type { DurationMs } from "../core/units.ts";
import type { ObservedStatement } from "./policy-document.ts";

/** Where a finding is: a resource by its name, and the file and line that define it. */
export interface Location {
  readonly name: string;
  readonly file?: string;
  /** Counted from 1. */
  readonly line?: number;
}

export interface RedriveTarget {
  readonly deadLetterArn: string;
  /** Null if the policy has none. */
  readonly maxReceiveCount: number | null | undefined;
}

export interface ObservedQueue {
  readonly location: Location;
  readonly name: string;
  readonly arn: string;
  readonly fifo: boolean;
  readonly visibilityMs: DurationMs | undefined;
  readonly retentionMs: DurationMs | undefined;
  readonly waitMs: DurationMs | undefined;
  readonly redrive: RedriveTarget | null | undefined;
  /** Who may use it as a dead-letter queue; null allows every queue of the account. */
  readonly redriveAllow: RedriveAllowance | null | undefined;
  /** Id, alias or ARN of the KMS key. */
  readonly kmsKey: string | null | undefined;
  /** Encryption with a key that SQS owns (SSE-SQS). */
  readonly sqsKey: boolean | undefined;
  readonly dedupPerGroup: boolean | undefined;
  readonly policy: readonly ObservedStatement[] | null | undefined;
}

export interface RedriveAllowance {
  readonly permission: "allowAll" | "denyAll" | "byQueue";
  readonly sources: readonly string[];
}

export interface ObservedTopic {
  readonly location: Location;
  readonly name: string;
  readonly arn: string;
  readonly fifo: boolean;
  readonly kmsKey: string | null | undefined;
}

export interface ObservedSubscription {
  readonly location: Location;
  readonly topicArn: string;
  readonly protocol: string;
  readonly endpoint: string;
  readonly filtered: boolean | undefined;
  readonly deadLetterArn: string | null | undefined;
}

export interface ObservedNotification {
  readonly location: Location;
  readonly bucket: string;
  readonly kind: "queue" | "topic" | "function" | "eventbridge";
  readonly targetArn: string;
  readonly prefix: string;
  readonly suffix: string;
  readonly events: readonly string[];
  /** Address of the configuration it belongs to: a bucket has at most one. */
  readonly configuration: string;
}

export interface ObservedBucket {
  readonly location: Location;
  readonly name: string;
  readonly arn: string;
  readonly versioned: boolean | undefined;
  readonly policy: readonly ObservedStatement[] | null | undefined;
}

/** A KMS key that the setup defines; keys of AWS have no entry. */
export interface ObservedKey {
  readonly location: Location;
  /** Its ARN, its id and its aliases. */
  readonly names: readonly string[];
  readonly policy: readonly ObservedStatement[] | null | undefined;
}

/** A policy that is attached to a role or a user. */
export interface ObservedGrant {
  readonly location: Location;
  readonly statements: readonly ObservedStatement[];
}

export interface ObservedAlarm {
  readonly location: Location;
  readonly namespace: string | null | undefined;
  readonly metric: string | null | undefined;
  readonly queueName: string | null | undefined;
  readonly operator: string | null | undefined;
  readonly threshold: number | null | undefined;
  readonly hasActions: boolean | undefined;
  /** Whether its description has a link. */
  readonly hasRunbook: boolean | undefined;
}

/** A Lambda function that SQS invokes. */
export interface ObservedMapping {
  readonly location: Location;
  readonly queueArn: string;
  readonly timeoutMs: DurationMs | undefined;
  /** Messages per call at most. */
  readonly batchSize: number | undefined;
  readonly reportsFailures: boolean | undefined;
}

/** An EventBridge pipe. */
export interface ObservedPipe {
  readonly location: Location;
  readonly sourceArn: string;
  readonly target: "ecs" | "other" | undefined;
  /** Whether it starts its target without waiting for the result. */
  readonly forgets: boolean | undefined;
}

/** A policy that changes the number of tasks. */
export interface ObservedScaling {
  readonly location: Location;
  readonly by: "cpu" | "memory" | "other";
}

/** A container image of a task or a function. */
export interface ObservedImage {
  readonly location: Location;
  readonly image: string;
}

/** The settings of a pipeline file. */
export interface ObservedPipeline {
  readonly location: Location;
  readonly name: string;
  readonly attempts: number;
  readonly visibilityMs: DurationMs;
  readonly onPoison: "halt" | "skip";
  readonly concurrency: number;
  readonly ledgerRetentionMs: DurationMs;
  readonly bucket: string | null;
  readonly prefix: string;
  /** Name of its queue; null if the file does not say. */
  readonly queueName: string | null;
  /** Columns of its tables. */
  readonly columns: readonly string[];
  readonly masked: readonly string[];
}

/** A pattern that the code reader recognised; the rule of the same name reports it. */
export interface CodePattern {
  readonly pattern: string;
  readonly location: Location;
  /** What the code does there, as the start of a clause. */
  readonly detail: string;
}

export interface Setup {
  readonly queues: readonly ObservedQueue[];
  readonly topics: readonly ObservedTopic[];
  readonly subscriptions: readonly ObservedSubscription[];
  readonly buckets: readonly ObservedBucket[];
  readonly notifications: readonly ObservedNotification[];
  readonly keys: readonly ObservedKey[];
  readonly grants: readonly ObservedGrant[];
  /** Undefined if no source of the setup can have alarms. */
  readonly alarms: readonly ObservedAlarm[] | undefined;
  readonly dashboards: number | undefined;
  /** Queues that something else than a queue sends its failures to. */
  readonly failureArns: readonly string[];
  readonly mappings: readonly ObservedMapping[];
  /** Whether mappings of functions are known, here or in another setup. */
  readonly functions: boolean;
  readonly pipes: readonly ObservedPipe[];
  readonly scalings: readonly ObservedScaling[];
  /** Whether a service behind a load balancer may be the one that scales. */
  readonly servesRequests: boolean;
  readonly images: readonly ObservedImage[];
  readonly pipeline: ObservedPipeline | null;
  readonly code: readonly CodePattern[];
}

export const EMPTY_SETUP: Setup = {
  queues: [],
  topics: [],
  subscriptions: [],
  buckets: [],
  notifications: [],
  keys: [],
  grants: [],
  alarms: undefined,
  dashboards: undefined,
  failureArns: [],
  mappings: [],
  functions: false,
  pipes: [],
  scalings: [],
  servesRequests: false,
  images: [],
  pipeline: null,
  code: [],
};

/** The facts of several collectors, as one setup. */
export function joinSetups(setups: readonly Setup[]): Setup {
  const alarms = setups.flatMap((setup) => (setup.alarms === undefined ? [] : [setup.alarms]));
  const boards = setups.flatMap(({ dashboards }) => (dashboards === undefined ? [] : [dashboards]));
  return {
    queues: setups.flatMap(({ queues }) => queues),
    topics: setups.flatMap(({ topics }) => topics),
    subscriptions: setups.flatMap(({ subscriptions }) => subscriptions),
    buckets: setups.flatMap(({ buckets }) => buckets),
    notifications: setups.flatMap(({ notifications }) => notifications),
    keys: setups.flatMap(({ keys }) => keys),
    grants: setups.flatMap(({ grants }) => grants),
    alarms: alarms.length === 0 ? undefined : alarms.flat(),
    dashboards: boards.length === 0 ? undefined : boards.reduce((sum, count) => sum + count, 0),
    failureArns: setups.flatMap(({ failureArns }) => failureArns),
    mappings: setups.flatMap(({ mappings }) => mappings),
    functions: setups.some(({ functions, mappings }) => functions || mappings.length > 0),
    pipes: setups.flatMap(({ pipes }) => pipes),
    scalings: setups.flatMap(({ scalings }) => scalings),
    servesRequests: setups.some(({ servesRequests }) => servesRequests),
    images: setups.flatMap(({ images }) => images),
    pipeline: setups.find(({ pipeline }) => pipeline !== null)?.pipeline ?? null,
    code: setups.flatMap(({ code }) => code),
  };
}
