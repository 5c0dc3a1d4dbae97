// Operations: every operation of the broker, by name. The wire uses only these; the engine runs
// each as one atomic step.
//   O1. Queues are identified by name; the wire translates URLs and ARNs. Attribute values that
//       contain ARNs (RedrivePolicy) are parsed by the model, because they are stored.
//   O2. Times are milliseconds; the wire translates seconds. Queue attributes are the exception:
//       they are AWS's strings throughout.

import type { Result } from "../../core/result.ts";
import type { DurationMs, EpochMs } from "../../core/units.ts";
import type { Fault } from "./fault.ts";
import type { S3Fault } from "./s3/s3-fault.ts";
import type { S3OperationName, S3Operations } from "./s3/s3-operations.ts";
import type { SignatureVersion, TopicOperations } from "./sns/topic-operations-contract.ts";

/** A message attribute as sent: `value` is text, or base64 for a Binary data type. */
export interface MessageAttribute {
  readonly type: string;
  readonly value: string;
}

export interface SendEntry {
  readonly body: string;
  /** UTF-8 bytes of the body plus names, types and values of the attributes. */
  readonly sizeBytes: number;
  readonly attributes: Readonly<Record<string, MessageAttribute>> | null;
  /** Set by topics: the attributes as JSON, which all copies of a message share. */
  readonly attributesText?: string | undefined;
  readonly traceHeader: string | null;
  readonly groupId: string | null;
  readonly dedupId: string | null;
  /** Null: the queue's delay. */
  readonly delayMs: DurationMs | null;
  /** Set by topics: the body is a notification that must still be signed. */
  readonly unsigned?: SignatureVersion | undefined;
  /** Set by injected faults of a topic or bucket: the message becomes visible this much later. */
  readonly lateMs?: DurationMs | undefined;
}

export interface SendInput {
  readonly queue: string;
  readonly entries: readonly SendEntry[];
  /** A batch reports refused entries one by one; a single send refuses the request. */
  readonly batch: boolean;
}

export interface SentMessage {
  readonly messageId: string;
  /** 20 digits on FIFO queues, else null. */
  readonly sequenceNumber: string | null;
}

export interface ReceiveInput {
  readonly queue: string;
  readonly max: number;
  /** Null: the queue's wait time. */
  readonly waitMs: DurationMs | null;
  /** Null: the queue's visibility timeout. */
  readonly visibilityMs: DurationMs | null;
  readonly attemptId: string | null;
}

export interface ReceivedCopy {
  readonly messageId: string;
  readonly receiptHandle: string;
  readonly body: string;
  readonly attributes: Readonly<Record<string, MessageAttribute>> | null;
  readonly traceHeader: string | null;
  readonly groupId: string | null;
  readonly dedupId: string | null;
  readonly sequenceNumber: string | null;
  readonly sentAt: EpochMs;
  readonly firstReceivedAt: EpochMs;
  readonly receiveCount: number;
  /** ARN of the queue a dead letter came from. */
  readonly sourceArn: string | null;
  /** The body is a notification without its signature; the engine fills it in. */
  readonly unsigned?: SignatureVersion | undefined;
}

export interface VisibilityEntry {
  readonly handle: string;
  readonly visibilityMs: DurationMs;
}

export interface PageInput {
  readonly limit: number;
  /** From the previous page, or null for the first. */
  readonly token: string | null;
}

export interface QueueCounts {
  readonly name: string;
  readonly fifo: boolean;
  readonly visible: number;
  readonly delayed: number;
  readonly inFlight: number;
  /** When the oldest message was sent, or null if the queue is empty. */
  readonly oldestSentAt: EpochMs | null;
}

export interface PeekedMessage {
  readonly seq: number;
  readonly messageId: string;
  readonly body: string;
  readonly attributes: Readonly<Record<string, MessageAttribute>> | null;
  readonly groupId: string | null;
  readonly state: "visible" | "delayed" | "in-flight";
  readonly sentAt: EpochMs;
  readonly dueAt: EpochMs;
  readonly receiveCount: number;
  /** As in a delivery. */
  readonly unsigned?: SignatureVersion | undefined;
}

export type MoveTaskStatus = "RUNNING" | "COMPLETED" | "CANCELLING" | "CANCELLED" | "FAILED";

export interface MoveTaskView {
  readonly handle: string;
  readonly status: MoveTaskStatus;
  readonly sourceArn: string;
  readonly destinationArn: string | null;
  readonly perSecondMax: number | null;
  readonly moved: number;
  readonly toMove: number;
  readonly failureReason: string | null;
  readonly startedAt: EpochMs;
}

/** Input and output of each operation. */
export interface Operations extends S3Operations, TopicOperations {
  createQueue: {
    input: { name: string; attributes: Record<string, string>; tags: Record<string, string> };
    output: { name: string };
  };
  deleteQueue: { input: { queue: string }; output: null };
  /** Refused if the queue does not exist. */
  findQueue: { input: { queue: string }; output: { name: string } };
  listQueues: {
    input: { prefix: string; page: PageInput | null };
    output: { names: string[]; nextToken: string | null };
  };
  /** `names` may contain "All"; an unknown name is refused. */
  getQueueAttributes: {
    input: { queue: string; names: string[] };
    output: { attributes: Record<string, string> };
  };
  setQueueAttributes: {
    input: { queue: string; attributes: Record<string, string> };
    output: null;
  };
  purgeQueue: { input: { queue: string }; output: null };
  tagQueue: { input: { queue: string; tags: Record<string, string> }; output: null };
  untagQueue: { input: { queue: string; keys: string[] }; output: null };
  listQueueTags: { input: { queue: string }; output: { tags: Record<string, string> } };
  addPermission: {
    input: { queue: string; label: string; accounts: string[]; actions: string[] };
    output: null;
  };
  removePermission: { input: { queue: string; label: string }; output: null };
  send: { input: SendInput; output: { results: Result<SentMessage, Fault>[] } };
  receive: { input: ReceiveInput; output: { deliveries: ReceivedCopy[] } };
  /** Results are in the order of `handles`; null means success. */
  delete: { input: { queue: string; handles: string[] }; output: { faults: (Fault | null)[] } };
  changeVisibility: {
    input: { queue: string; entries: VisibilityEntry[] };
    output: { faults: (Fault | null)[] };
  };
  listDeadLetterSources: {
    input: { queue: string; page: PageInput | null };
    output: { names: string[]; nextToken: string | null };
  };
  startMoveTask: {
    input: { sourceArn: string; destinationArn: string | null; perSecondMax: number | null };
    output: { handle: string };
  };
  listMoveTasks: {
    input: { sourceArn: string; limit: number };
    output: { tasks: MoveTaskView[] };
  };
  cancelMoveTask: { input: { handle: string }; output: { moved: number } };
  /** For the admin: shows messages without receiving them. */
  countQueues: { input: { prefix: string }; output: { queues: QueueCounts[] } };
  /** For the admin: makes a message visible that a receive has hidden. */
  reveal: { input: { queue: string; seq: number }; output: { revealed: boolean } };
  peek: {
    input: { queue: string; afterSeq: number; limit: number };
    output: { messages: PeekedMessage[]; nextAfterSeq: number | null };
  };
}

export type OperationName = keyof Operations;
export type OperationInput<K extends OperationName> = Operations[K]["input"];
export type OperationOutput<K extends OperationName> = Operations[K]["output"];

type OperationFaults = { [K in OperationName]: K extends S3OperationName ? S3Fault : Fault };
export type OperationFault<K extends OperationName> = OperationFaults[K];
export type OperationResult<K extends OperationName> = Result<
  OperationOutput<K>,
  OperationFault<K>
>;
