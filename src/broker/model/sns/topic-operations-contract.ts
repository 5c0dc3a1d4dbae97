// TopicContract: everything that can be asked of the broker's topics, by name. The second half of
// operations.ts, under the same rules.
//   O1. Topics are named by their bare name and subscriptions by their id; the ARNs of callers end
//       at the wire. Attribute values stay AWS's strings from end to end.

import type { Result } from "../../../core/result.ts";
import type { DurationMs } from "../../../core/units.ts";
import type { Fault } from "../fault.ts";
import type { MessageAttribute } from "../operations.ts";

/** 1 signs with SHA-1, 2 with SHA-256. */
export type SignatureVersion = "1" | "2";

export interface PublishEntry {
  readonly body: string;
  /** What to send to single protocols instead of `body`, by protocol. */
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
  /** Scheme and host that links in notifications lead to: `http://localhost:4566`. */
  readonly origin: string;
  readonly traceHeader: string | null;
  /** Set where a fault was asked for on the way here: so much later its copies become visible. */
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

/** The key that notifications are signed with, and the certificate that vouches for it. */
export interface SigningIdentity {
  /** Hex digits that name the certificate in its URL. */
  readonly id: string;
  readonly certificatePem: string;
  readonly privateKeyPem: string;
}

/** One request to an http endpoint that is due. */
export interface PendingHttpMessage {
  readonly subscription: string;
  readonly seq: number;
  /** How often it was tried, this time included; a settlement must name it. */
  readonly attempt: number;
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly unsigned: SignatureVersion | null;
}

/** `rejected` is the endpoint's own fault and is not tried again, `failed` is. */
export type HttpDeliveryResult = "delivered" | "failed" | "rejected";

export interface TopicCounts {
  readonly name: string;
  readonly fifo: boolean;
  readonly confirmed: number;
  readonly pending: number;
  /** Since the start: copies that no subscriber and no dead-letter queue took. */
  readonly dropped: number;
  readonly archived: number;
  /** Requests to http endpoints that wait, for their turn or for another try. */
  readonly outgoing: number;
}

/** Name -> what goes in, what comes out. */
export interface TopicOperations {
  createTopic: {
    input: { name: string; attributes: Record<string, string>; tags: Record<string, string> };
    output: { name: string };
  };
  /** Deleting what is not there is done already. */
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
  /** Null stands for every topic. */
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
  /** The first identity that is kept stays for ever; the answer is the one that holds. */
  keepSigningIdentity: { input: SigningIdentity; output: SigningIdentity };
  findSigningIdentity: { input: null; output: SigningIdentity | null };
  /** Takes due messages to http endpoints; each must be settled, or is due again soon. */
  takePendingHttp: { input: { max: number }; output: { messages: PendingHttpMessage[] } };
  finishPendingHttp: {
    input: { subscription: string; seq: number; attempt: number; result: HttpDeliveryResult };
    output: null;
  };
  countTopics: { input: { prefix: string }; output: { topics: TopicCounts[] } };
}
