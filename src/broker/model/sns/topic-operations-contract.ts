// TopicOperations: every operation on topics, by name. The second half of operations.ts, under the
// same rules.
//   O1. Topics are identified by name and subscriptions by id; the wire translates ARNs. Attribute
//       values stay AWS's strings throughout.

import type { Result } from "../../../core/result.ts";
import type { DurationMs } from "../../../core/units.ts";
import type { Fault } from "../fault.ts";
import type { MessageAttribute } from "../operations.ts";

/** 1 signs with SHA-1, 2 with SHA-256. */
export type SignatureVersion = "1" | "2";

export interface PublishEntry {
  readonly body: string;
  /** Texts for single protocols instead of `body`, by protocol. */
  readonly bodies: Readonly<Record<string, string>> | null;
  readonly subject: string | null;
  readonly attributes: Readonly<Record<string, MessageAttribute>> | null;
  /** UTF-8 bytes of the message as published plus names, types and values of the attributes. */
  readonly sizeBytes: number;
  readonly groupId: string | null;
  readonly dedupId: string | null;
}

export interface PublishInput {
  readonly topic: string;
  readonly entries: readonly PublishEntry[];
  readonly batch: boolean;
  /** Scheme and host of links in notifications: `http://localhost:4566`. */
  readonly origin: string;
  readonly traceHeader: string | null;
  /** Set by injected faults of a bucket: the copies become visible this much later. */
  readonly lateMs?: DurationMs | undefined;
}

export interface PublishedMessage {
  readonly messageId: string;
  /** 20 digits on FIFO topics, else null. */
  readonly sequenceNumber: string | null;
}

export interface SubscribeInput {
  readonly topic: string;
  readonly protocol: string;
  readonly endpoint: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly origin: string;
}

export interface SubscriptionView {
  readonly arn: string;
  readonly pending: boolean;
  readonly topicArn: string;
  readonly protocol: string;
  readonly endpoint: string;
}

/** The key that signs notifications, and its certificate. */
export interface SigningIdentity {
  /** Hex digits that name the certificate in its URL. */
  readonly id: string;
  readonly certificatePem: string;
  readonly privateKeyPem: string;
}

/** One request to an HTTP endpoint that is due. */
export interface PendingHttpMessage {
  readonly subscription: string;
  readonly seq: number;
  /** How often it was tried, this time included; the result must name it. */
  readonly attempt: number;
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly unsigned: SignatureVersion | null;
}

/** `rejected` is final; `failed` is retried. */
export type HttpDeliveryResult = "delivered" | "failed" | "rejected";

export interface TopicCounts {
  readonly name: string;
  readonly fifo: boolean;
  readonly confirmed: number;
  readonly pending: number;
  /** Since the start: copies that no subscriber and no dead-letter queue accepted. */
  readonly dropped: number;
  readonly archived: number;
  /** Requests to HTTP endpoints that wait for their turn or for a retry. */
  readonly outgoing: number;
}

/** Input and output of each operation. */
export interface TopicOperations {
  createTopic: {
    input: { name: string; attributes: Record<string, string>; tags: Record<string, string> };
    output: { name: string };
  };
  /** Deleting a missing topic succeeds. */
  deleteTopic: { input: { topic: string }; output: null };
  listTopics: {
    input: { token: string | null };
    output: { names: string[]; nextToken: string | null };
  };
  getTopicAttributes: {
    input: { topic: string };
    output: { attributes: Record<string, string> };
  };
  setTopicAttribute: { input: { topic: string; name: string; value: string }; output: null };
  subscribe: { input: SubscribeInput; output: SubscriptionView };
  confirmSubscription: {
    input: { token: string; authenticateOnUnsubscribe: boolean; authenticated: boolean };
    output: { arn: string };
  };
  unsubscribe: { input: { subscription: string; authenticated: boolean }; output: null };
  /** Null means every topic. */
  listSubscriptions: {
    input: { topic: string | null; token: string | null };
    output: { subscriptions: SubscriptionView[]; nextToken: string | null };
  };
  getSubscriptionAttributes: {
    input: { subscription: string };
    output: { attributes: Record<string, string> };
  };
  setSubscriptionAttribute: {
    input: { subscription: string; name: string; value: string };
    output: null;
  };
  publish: { input: PublishInput; output: { results: Result<PublishedMessage, Fault>[] } };
  tagTopic: { input: { topic: string; tags: Record<string, string> }; output: null };
  untagTopic: { input: { topic: string; keys: string[] }; output: null };
  listTopicTags: { input: { topic: string }; output: { tags: Record<string, string> } };
  addTopicPermission: {
    input: { topic: string; label: string; accounts: string[]; actions: string[] };
    output: null;
  };
  removeTopicPermission: { input: { topic: string; label: string }; output: null };
  /** The first identity wins; the result is the stored one. */
  keepSigningIdentity: { input: SigningIdentity; output: SigningIdentity };
  findSigningIdentity: { input: null; output: SigningIdentity | null };
  /** Takes due messages for HTTP endpoints; each must be finished, or is due again soon. */
  takePendingHttp: { input: { max: number }; output: { messages: PendingHttpMessage[] } };
  finishPendingHttp: {
    input: { subscription: string; seq: number; attempt: number; result: HttpDeliveryResult };
    output: null;
  };
  countTopics: { input: { prefix: string }; output: { topics: TopicCounts[] } };
}
