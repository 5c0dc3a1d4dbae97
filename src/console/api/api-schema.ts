// API schema: the answers of the API, as types. Written by scripts/console-schema.ts
// from docs/reference/console-api.openapi.json; do not edit it. Its length is that of the
// API, so the limit for sources does not apply (Z3 of test/tidy/sizes.ts).

export interface ApiSchema {
  Session: {
    readonly version: string;
    readonly readOnly: boolean;
    readonly embedded: boolean;
    readonly pipelines: readonly {
      readonly name: string;
      readonly generation: number;
      readonly running: boolean;
    }[];
    readonly pollMs: number;
    readonly now: number;
    readonly traceUrl: string | null;
  };
  FlowMetrics: {
    readonly perSecond: number | null;
    readonly total: number | null;
    readonly backlog: number | null;
    readonly inFlight: number | null;
    readonly delayed: number | null;
    readonly oldestAgeMs: number | null;
    readonly retries: number | null;
    readonly retriesPerSecond: number | null;
    readonly duplicates: number | null;
    readonly deadLetters: number | null;
    readonly deadLettersMore: boolean;
    readonly watermark: number | null;
    readonly completeUpTo: number | null;
  };
  FlowNode: {
    readonly id: "bucket" | "topic" | "queue" | "pipeline" | "sink" | "dead-letters";
    readonly name: string;
    readonly title: string;
    readonly state: "ok" | "warning" | "error" | "unknown";
    readonly metrics: ApiSchema["FlowMetrics"];
  };
  FlowHop: { readonly from: string; readonly to: string; readonly perSecond: number | null };
  Problem: {
    readonly id: string;
    readonly severity: "error" | "warning";
    readonly node: string;
    readonly title: string;
    readonly detail: string;
    readonly fix: string;
    readonly view: "flow" | "queues" | "records" | "dead-letters" | "time" | "setup";
    readonly query: string;
  };
  Flow: {
    readonly at: number;
    readonly pipeline: string | null;
    readonly generation: number;
    readonly nodes: readonly ApiSchema["FlowNode"][];
    readonly hops: readonly ApiSchema["FlowHop"][];
    readonly problems: readonly ApiSchema["Problem"][];
    readonly paused: ApiSchema["Pause"] | null;
  };
  FlowHistory: {
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
  };
  QueueSummary: {
    readonly name: string;
    readonly fifo: boolean;
    readonly visible: number;
    readonly delayed: number;
    readonly inFlight: number;
    readonly oldestAgeMs: number | null;
    readonly role: "source" | "dead-letter" | "late" | null;
    readonly deadLetterQueue: string | null;
  };
  QueueList: {
    readonly queues: readonly ApiSchema["QueueSummary"][];
    readonly next: string | null;
  };
  MoveTask: {
    readonly status: string;
    readonly moved: number;
    readonly toMove: number;
    readonly startedAt: number;
    readonly destination: string | null;
    readonly failureReason: string | null;
  };
  Queue: {
    readonly name: string;
    readonly fifo: boolean;
    readonly visible: number;
    readonly delayed: number;
    readonly inFlight: number;
    readonly oldestAgeMs: number | null;
    readonly role: "source" | "dead-letter" | "late" | null;
    readonly deadLetterQueue: string | null;
    readonly sources: readonly string[];
    readonly attributes: Readonly<Record<string, string>>;
    readonly peekable: boolean;
    readonly moveTasks: readonly ApiSchema["MoveTask"][];
  };
  Message: {
    readonly seq: number;
    readonly messageId: string;
    readonly body: string;
    readonly truncated: boolean;
    readonly attributes: Readonly<
      Record<string, { readonly type: string; readonly value: string }>
    >;
    readonly groupId: string | null;
    readonly state: "visible" | "delayed" | "in-flight";
    readonly sentAt: number;
    readonly dueAt: number;
    readonly receiveCount: number;
    readonly object: { readonly bucket: string; readonly key: string } | null;
  };
  MessageList: {
    readonly queue: string;
    readonly messages: readonly ApiSchema["Message"][];
    readonly next: string | null;
  };
  Topic: {
    readonly name: string;
    readonly arn: string;
    readonly fifo: boolean;
    readonly subscriptions: readonly {
      readonly protocol: string;
      readonly endpoint: string;
      readonly arn: string;
    }[];
    readonly dropped: number;
    readonly pending: number;
  };
  TopicList: { readonly topics: readonly ApiSchema["Topic"][]; readonly next: string | null };
  Bucket: {
    readonly name: string;
    readonly createdAt: number;
    readonly isSource: boolean;
    readonly prefix: string;
  };
  BucketList: { readonly buckets: readonly ApiSchema["Bucket"][]; readonly next: string | null };
  ObjectSummary: {
    readonly key: string;
    readonly size: number;
    readonly etag: string;
    readonly lastModified: number;
  };
  ObjectList: {
    readonly bucket: string;
    readonly prefix: string;
    readonly folders: readonly string[];
    readonly objects: readonly ApiSchema["ObjectSummary"][];
    readonly next: string | null;
  };
  Outcome: "committed" | "dead-lettered" | "retrying" | "returned" | "in-progress";
  Failure: { readonly errorClass: string; readonly fingerprint: string; readonly message: string };
  RecordSummary: {
    readonly key: string;
    readonly pipeline: string;
    readonly generation: number;
    readonly name: string;
    readonly outcome: ApiSchema["Outcome"];
    readonly attempts: number;
    readonly fence: number;
    readonly lane: "live" | "late" | "too-late";
    readonly eventTime: number;
    readonly seenAt: number;
    readonly changedAt: number;
    readonly rows: number | null;
    readonly failure: ApiSchema["Failure"] | null;
  };
  RecordList: {
    readonly records: readonly ApiSchema["RecordSummary"][];
    readonly next: string | null;
    readonly complete: boolean;
    readonly looked: number;
  };
  TimelineEntry: {
    readonly at: number;
    readonly status:
      | "received"
      | "started"
      | "succeeded"
      | "failed"
      | "released"
      | "reopened"
      | "superseded";
    readonly fence: number;
    readonly owner: string | null;
    readonly failure: ApiSchema["Failure"] | null;
  };
  Run: {
    readonly id: string;
    readonly kind: "live" | "replay" | "backfill";
    readonly startedAt: number;
    readonly endedAt: number | null;
    readonly seenAt: number;
    readonly alive: boolean;
    readonly codeDigest: string;
    readonly configDigest: string;
    readonly environment: unknown;
    readonly parameters: unknown;
    readonly counts: unknown;
  };
  RunList: { readonly runs: readonly ApiSchema["Run"][]; readonly next: string | null };
  DeadLetter: {
    readonly key: string;
    readonly pipeline: string;
    readonly generation: number;
    readonly name: string;
    readonly queue: string;
    readonly messageId: string;
    readonly groupId: string | null;
    readonly object: { readonly bucket: string; readonly key: string } | null;
    readonly businessKey: string | null;
    readonly errorClass: string;
    readonly fingerprint: string;
    readonly message: string;
    readonly stack: string | null;
    readonly attempts: number;
    readonly receiveCount: number;
    readonly eventTime: number;
    readonly firstFailedAt: number;
    readonly lastFailedAt: number;
    readonly tookMs: number;
    readonly traceId: string | null;
    readonly payload: unknown;
    readonly deadLetterQueue: string | null;
  };
  Record: {
    readonly summary: ApiSchema["RecordSummary"];
    readonly timeline: readonly ApiSchema["TimelineEntry"][];
    readonly names: readonly string[];
    readonly kind: string;
    readonly object: {
      readonly bucket: string;
      readonly key: string;
      readonly versionId: string | null;
      readonly etag: string | null;
      readonly size: number | null;
      readonly sequencer: string | null;
    } | null;
    readonly source: string | null;
    readonly businessKey: string | null;
    readonly eventId: string | null;
    readonly messageId: string;
    readonly sentAt: number;
    readonly partition: string;
    readonly traceId: string | null;
    readonly watermark: number | null;
    readonly heldBy: { readonly owner: string; readonly until: number } | null;
    readonly tookMs: number | null;
    readonly quarantined: number;
    readonly effects: Readonly<Record<string, number>> | null;
    readonly digest: string | null;
    readonly superseded: boolean;
    readonly tooLate: { readonly to: string | null } | null;
    readonly duplicates: { readonly count: number; readonly lastAt: number } | null;
    readonly rememberedUntil: number;
    readonly run: ApiSchema["Run"] | null;
    readonly deadLetter: ApiSchema["DeadLetter"] | null;
    readonly edited: {
      readonly count: number;
      readonly messageId: string;
      readonly at: number;
    } | null;
    readonly text: readonly string[];
  };
  DeadLetterGroup: {
    readonly id: string;
    readonly errorClass: string;
    readonly fingerprint: string;
    readonly message: string;
    readonly count: number;
    readonly firstFailedAt: number;
    readonly lastFailedAt: number;
    readonly trend: {
      readonly from: number;
      readonly stepMs: number;
      readonly counts: readonly number[];
    };
    readonly sample: ApiSchema["DeadLetter"];
  };
  DeadLetterGroups: {
    readonly at: number;
    readonly groups: readonly ApiSchema["DeadLetterGroup"][];
    readonly total: number;
    readonly more: boolean;
    readonly next: string | null;
  };
  DeadLetterList: {
    readonly items: readonly ApiSchema["DeadLetter"][];
    readonly next: string | null;
  };
  Partition: {
    readonly name: string;
    readonly eventTime: number;
    readonly seenAt: number;
    readonly idle: boolean;
    readonly holds: boolean;
  };
  HeldRecord: {
    readonly key: string;
    readonly name: string;
    readonly eventTime: number;
    readonly heldAt: number;
    readonly lateQueue: string | null;
  };
  Window: {
    readonly from: number;
    readonly to: number;
    readonly status: "complete" | "open" | "future" | "problem";
    readonly records: number;
    readonly recordsMore: boolean;
    readonly deadLettered: number;
    readonly late: number;
    readonly held: number;
  };
  Time: {
    readonly at: number;
    readonly pipeline: string | null;
    readonly generation: number;
    readonly watermark: number | null;
    readonly completeUpTo: number | null;
    readonly heldBy: string | null;
    readonly looked: boolean;
    readonly partitions: readonly ApiSchema["Partition"][];
    readonly held: {
      readonly count: number;
      readonly more: boolean;
      readonly items: readonly ApiSchema["HeldRecord"][];
    };
    readonly windows: readonly ApiSchema["Window"][];
  };
  Finding: {
    readonly id: string;
    readonly severity: "error" | "warning" | "note";
    readonly subject: string;
    readonly message: string;
    readonly fix: string;
  };
  SetupCheck: {
    readonly at: number;
    readonly findings: readonly ApiSchema["Finding"][];
    readonly checked: number;
    readonly unknown: readonly string[];
  };
  DeadLetterFilter: {
    readonly errorClass?: string | undefined;
    readonly fingerprint?: string | undefined;
    readonly key?: string | undefined;
    readonly olderThanMs?: number | undefined;
    readonly newerThanMs?: number | undefined;
  };
  EditResult: {
    readonly messageId: string;
    readonly queue: string;
    readonly copyOf: string;
    readonly copyId: string;
  };
  HeldFilter: { readonly key?: string | undefined; readonly prefix?: string | undefined };
  JobItem: {
    readonly at: number;
    readonly key: string;
    readonly name: string;
    readonly step: string;
    readonly detail: string | null;
  };
  Job: {
    readonly id: string;
    readonly kind: "redrive" | "drop" | "release";
    readonly state: "running" | "done" | "stopped" | "failed";
    readonly dryRun: boolean;
    readonly startedAt: number;
    readonly endedAt: number | null;
    readonly total: number | null;
    readonly counts: Readonly<Record<string, number>>;
    readonly stoppedBecause: string | null;
    readonly error: string | null;
    readonly items: readonly ApiSchema["JobItem"][];
  };
  JobList: { readonly jobs: readonly ApiSchema["Job"][] };
  Pause: { readonly since: number; readonly by: string; readonly reason: string };
  PipelineState: {
    readonly pipeline: string;
    readonly generation: number;
    readonly paused: ApiSchema["Pause"] | null;
    readonly processes: readonly {
      readonly id: string;
      readonly startedAt: number;
      readonly seenAt: number;
    }[];
  };
  RetryResult: {
    readonly outcome:
      | "retried"
      | "visible"
      | "waits"
      | "missing"
      | "in-progress"
      | "committed"
      | "dead-lettered"
      | "held";
    readonly queue: string | null;
    readonly message: string;
  };
  Replay: {
    readonly run: string;
    readonly generation: number;
    readonly state:
      | "running"
      | "stopped"
      | "cancelled"
      | "failed"
      | "ready"
      | "promoted"
      | "complete"
      | "unknown";
    readonly into: "shadow" | "live";
    readonly from: number;
    readonly to: number;
    readonly prefix: string | null;
    readonly inputs: number;
    readonly missing: number;
    readonly createdAt: number;
    readonly codeDigest: string;
    readonly outcome: {
      readonly committed: number;
      readonly superseded: number;
      readonly failed: number;
      readonly failures: readonly { readonly uri: string; readonly reason: string }[];
    } | null;
    readonly tables: readonly { readonly table: string; readonly shadow: string }[];
  };
  ReplayList: { readonly replays: readonly ApiSchema["Replay"][]; readonly next: string | null };
  ReplayDiff: {
    readonly run: string;
    readonly hidden: boolean;
    readonly tables: readonly {
      readonly table: string;
      readonly added: number;
      readonly removed: number;
      readonly changed: number;
      readonly keptObjects: number;
      readonly samples: readonly {
        readonly kind: "added" | "removed" | "changed";
        readonly key: Readonly<Record<string, string | null>>;
        readonly live: Readonly<Record<string, string | null>> | null;
        readonly replayed: Readonly<Record<string, string | null>> | null;
      }[];
    }[];
  };
  Audit: {
    readonly id: string;
    readonly startedAt: number;
    readonly endedAt: number;
    readonly bucket: string;
    readonly prefix: string;
    readonly from: number | null;
    readonly to: number;
    readonly verdict: "complete" | "accounted" | "incomplete" | "undecided";
    readonly counts: {
      readonly committed: number;
      readonly superseded: number;
      readonly "dead-lettered": number;
      readonly held: number;
      readonly "in-flight": number;
      readonly waiting: number;
      readonly ignored: number;
      readonly gone: number;
      readonly unknown: number;
      readonly missing: number;
      readonly orphan: number;
      readonly double: number;
    };
    readonly digest: string;
    readonly exceptions: readonly {
      readonly key: string;
      readonly versionId: string | null;
      readonly status:
        | "committed"
        | "superseded"
        | "dead-lettered"
        | "held"
        | "in-flight"
        | "waiting"
        | "ignored"
        | "gone"
        | "unknown"
        | "missing"
        | "orphan"
        | "double";
      readonly reason: string;
    }[];
    readonly quarantined: { readonly sets: number; readonly rows: number };
    readonly sinkChecked: boolean;
  };
  AuditList: { readonly audits: readonly ApiSchema["Audit"][]; readonly next: string | null };
  Promotion: {
    readonly appliedObjects: number;
    readonly keptObjects: number;
    readonly messages: number;
  };
}
