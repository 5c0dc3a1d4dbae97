// Console views: the console's answers about the session, the flow and the embedded cloud.
// docs/reference/console-api.openapi.json describes each field; tests compare answers with it.

import type { PauseView } from "./console-control-views.ts";

export interface SessionView {
  readonly version: string;
  /** Whether actions are refused; start with --allow-actions to allow them. */
  readonly readOnly: boolean;
  /** Whether there is an embedded cloud, with topics, buckets, peeks and uploads. */
  readonly embedded: boolean;
  readonly pipelines: readonly {
    readonly name: string;
    readonly generation: number;
    /** Whether this process runs the pipeline. */
    readonly running: boolean;
  }[];
  /** How often to ask for /flow; an answer is computed at most once in this time, for all clients. */
  readonly pollMs: number;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** Address of a trace viewer; `{traceId}` stands for the id. */
  readonly traceUrl: string | null;
}

/** Null means: this node has no such number, or it is not known. */
export interface FlowMetrics {
  /** Events per second through this node, over the last 10 seconds. */
  readonly perSecond: number | null;
  /** Events since the server started. */
  readonly total: number | null;
  /** Messages that wait, visible and delayed. */
  readonly backlog: number | null;
  readonly inFlight: number | null;
  readonly delayed: number | null;
  /** Age of the oldest message that waits. */
  readonly oldestAgeMs: number | null;
  /** Failed attempts that will be retried, since the server started. */
  readonly retries: number | null;
  readonly retriesPerSecond: number | null;
  /** Duplicates that were suppressed, since the server started. */
  readonly duplicates: number | null;
  /** Dead letters in the ledger. */
  readonly deadLetters: number | null;
  /** Whether there are more dead letters than the number says. */
  readonly deadLettersMore: boolean;
  /** Event time of the watermark. */
  readonly watermark: number | null;
  /** Every record before this event time is settled. */
  readonly completeUpTo: number | null;
}

export interface FlowNode {
  readonly id: "bucket" | "topic" | "queue" | "pipeline" | "sink" | "dead-letters";
  readonly name: string;
  /** What it is, in one or two words. */
  readonly title: string;
  readonly state: "ok" | "warning" | "error" | "unknown";
  readonly metrics: FlowMetrics;
}

export interface FlowHop {
  readonly from: string;
  readonly to: string;
  readonly perSecond: number | null;
}

export interface FlowProblem {
  /** Stable; the same problem has the same id in each answer. */
  readonly id: string;
  readonly severity: "error" | "warning";
  /** The node it belongs to. */
  readonly node: string;
  /** One clause, readable within two seconds. */
  readonly title: string;
  readonly detail: string;
  /** What to do, as an imperative. */
  readonly fix: string;
  /** The view that shows more. */
  readonly view: "flow" | "queues" | "records" | "dead-letters" | "time" | "setup";
  /** Query of that view, for example `outcome=retrying`; may be empty. */
  readonly query: string;
}

export interface Flow {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly pipeline: string | null;
  readonly generation: number;
  readonly nodes: readonly FlowNode[];
  readonly hops: readonly FlowHop[];
  readonly problems: readonly FlowProblem[];
  /** An operator's order to receive nothing; null while the pipeline may receive. */
  readonly paused: PauseView | null;
}

/** Aligned columns: values[i] belongs to times[i]. */
export interface FlowHistory {
  readonly stepMs: number;
  readonly times: readonly number[];
  readonly series: readonly {
    readonly name:
      | "received"
      | "applied"
      | "retries"
      | "deadLetters"
      | "backlog"
      | "inFlight"
      | "oldestAgeMs"
      | "watermarkLagMs";
    readonly title: string;
    readonly unit: "per second" | "count" | "ms";
    readonly values: readonly (number | null)[];
  }[];
}

export interface QueueSummary {
  readonly name: string;
  readonly fifo: boolean;
  readonly visible: number;
  readonly delayed: number;
  readonly inFlight: number;
  readonly oldestAgeMs: number | null;
  readonly role: "source" | "dead-letter" | "late" | null;
  /** Name of its dead-letter queue. */
  readonly deadLetterQueue: string | null;
}

export interface QueuePage {
  readonly queues: readonly QueueSummary[];
  /** Pass it as `cursor` to get the next page; null on the last page. */
  readonly next: string | null;
}

export interface MoveTaskState {
  readonly status: string;
  readonly moved: number;
  readonly toMove: number;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly destination: string | null;
  readonly failureReason: string | null;
}

export interface QueueDetails {
  readonly name: string;
  readonly fifo: boolean;
  readonly visible: number;
  readonly delayed: number;
  readonly inFlight: number;
  readonly oldestAgeMs: number | null;
  readonly role: "source" | "dead-letter" | "late" | null;
  readonly deadLetterQueue: string | null;
  /** Queues whose dead letters come here. */
  readonly sources: readonly string[];
  readonly attributes: Readonly<Record<string, string>>;
  /** False on AWS: SQS cannot show messages without receiving them. */
  readonly peekable: boolean;
  /** Redrives of this queue, newest first. */
  readonly moveTasks: readonly MoveTaskState[];
}

export interface PeekedText {
  /** Order in the queue. */
  readonly seq: number;
  readonly messageId: string;
  /** Masked; long bodies are cut. */
  readonly body: string;
  readonly truncated: boolean;
  readonly attributes: Readonly<
    Record<
      string,
      {
        readonly type: string;
        readonly value: string;
      }
    >
  >;
  readonly groupId: string | null;
  readonly state: "visible" | "delayed" | "in-flight";
  /** Milliseconds since 1970. */
  readonly sentAt: number;
  /** When a hidden message becomes visible. */
  readonly dueAt: number;
  readonly receiveCount: number;
  readonly object: {
    readonly bucket: string;
    readonly key: string;
  } | null;
}

export interface MessagePage {
  readonly queue: string;
  readonly messages: readonly PeekedText[];
  /** Pass it as `cursor` to get the next page; null on the last page. */
  readonly next: string | null;
}

export interface TopicView {
  readonly name: string;
  readonly arn: string;
  readonly fifo: boolean;
  readonly subscriptions: readonly {
    readonly protocol: string;
    readonly endpoint: string;
    readonly arn: string;
  }[];
  /** Deliveries that were given up. */
  readonly dropped: number;
  /** Deliveries to HTTP endpoints that wait. */
  readonly pending: number;
}

export interface TopicPage {
  readonly topics: readonly TopicView[];
  /** Pass it as `cursor` to get the next page; null on the last page. */
  readonly next: string | null;
}

export interface BucketView {
  readonly name: string;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  /** Whether the pipeline reads this bucket. */
  readonly isSource: boolean;
  /** The prefix that the pipeline reads; empty for all. */
  readonly prefix: string;
}

export interface BucketPage {
  readonly buckets: readonly BucketView[];
  /** Pass it as `cursor` to get the next page; null on the last page. */
  readonly next: string | null;
}

export interface ObjectSummaryView {
  readonly key: string;
  readonly size: number;
  readonly etag: string;
  /** Milliseconds since 1970. */
  readonly lastModified: number;
}

export interface ObjectPage {
  readonly bucket: string;
  readonly prefix: string;
  readonly folders: readonly string[];
  readonly objects: readonly ObjectSummaryView[];
  /** Pass it as `cursor` to get the next page; null on the last page. */
  readonly next: string | null;
}
