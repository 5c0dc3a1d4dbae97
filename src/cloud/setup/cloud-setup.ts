// CloudSetup: a complete setup as one value, from a file or from code. Names replace ARNs, and JSON
// that AWS expects as text (policies, filters) may be written as JSON.

import type { JsonObject } from "../../core/encoding/canonical-json.ts";

/** AWS's values are strings; numbers, booleans and objects are converted. */
export type AttributeValue = string | number | boolean | JsonObject;
export type AttributeValues = Readonly<Record<string, AttributeValue>>;
export type Tags = Readonly<Record<string, string>>;

export interface QueueSetup {
  readonly name: string;
  /** Default: derived from the name, with which it must agree. */
  readonly fifo?: boolean;
  readonly attributes?: AttributeValues;
  readonly tags?: Tags;
  readonly deadLetter?: { readonly queue: string; readonly maxReceiveCount: number };
}

export interface TopicSetup {
  readonly name: string;
  /** Default: derived from the name, with which it must agree. */
  readonly fifo?: boolean;
  readonly attributes?: AttributeValues;
  readonly tags?: Tags;
}

/** Subscribes a queue of the setup or an http(s) endpoint. */
export interface SubscriptionSetup {
  readonly topic: string;
  readonly queue?: string;
  readonly endpoint?: string;
  readonly raw?: boolean;
  readonly filterPolicy?: JsonObject;
  readonly filterPolicyScope?: "MessageAttributes" | "MessageBody";
  readonly deadLetter?: { readonly queue: string };
  readonly attributes?: AttributeValues;
}

/** Notifies a queue or a topic of the setup. */
export interface NotificationSetup {
  readonly id?: string;
  readonly queue?: string;
  readonly topic?: string;
  readonly events: readonly string[];
  readonly prefix?: string;
  readonly suffix?: string;
}

export interface BucketSetup {
  readonly name: string;
  readonly versioning?: "Enabled" | "Suspended";
  readonly tags?: Tags;
  readonly notifications?: readonly NotificationSetup[];
  readonly eventBridge?: boolean;
}

/** Resources to create. Applying a setup again changes nothing that exists. */
export interface CloudSetup {
  readonly $schema?: string;
  readonly queues?: readonly QueueSetup[];
  readonly topics?: readonly TopicSetup[];
  readonly subscriptions?: readonly SubscriptionSetup[];
  readonly buckets?: readonly BucketSetup[];
}
