// Console record views: the console's answers about records, dead letters, time and runs.
// docs/reference/console-api.openapi.json describes each field; tests compare answers with it.

import type { JsonValue } from "../../core/encoding/canonical-json.ts";

/** The words of `tidegate records list`. */
export type OutcomeWord = "committed" | "dead-lettered" | "retrying" | "returned" | "in-progress";

export interface FailureView {
  readonly errorClass: string;
  readonly fingerprint: string;
  readonly message: string;
}

export interface RecordSummary {
  /** Record key; the path of /records/{key}. */
  readonly key: string;
  readonly pipeline: string;
  readonly generation: number;
  /** s3://bucket/key, business key or event id; masked. */
  readonly name: string;
  readonly outcome: OutcomeWord;
  readonly attempts: number;
  /** Fencing token of the latest claim. */
  readonly fence: number;
  readonly lane: "live" | "late" | "too-late";
  /** Milliseconds since 1970. */
  readonly eventTime: number;
  /** Milliseconds since 1970. */
  readonly seenAt: number;
  /** Milliseconds since 1970. */
  readonly changedAt: number;
  /** Effects that the commit wrote. */
  readonly rows: number | null;
  readonly failure: FailureView | null;
}

export interface RecordPageView {
  readonly records: readonly RecordSummary[];
  /** Pass it as `cursor` to get the next page; null on the last page. */
  readonly next: string | null;
  /** False if a search looked at a part of the records only; `next` continues it. */
  readonly complete: boolean;
  /** Records that were looked at. */
  readonly looked: number;
}

export interface TimelineEntry {
  /** Milliseconds since 1970. */
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
  readonly failure: FailureView | null;
}

export interface RunView {
  readonly id: string;
  readonly kind: "live" | "replay" | "backfill";
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  /** Milliseconds since 1970. */
  readonly endedAt: number | null;
  /** Latest heartbeat. */
  readonly seenAt: number;
  readonly alive: boolean;
  readonly codeDigest: string;
  readonly configDigest: string;
  /** Any JSON value, masked. */
  readonly environment: JsonValue;
  /** Any JSON value, masked. */
  readonly parameters: JsonValue;
  /** Any JSON value, masked. */
  readonly counts: JsonValue;
}

export interface RunPageView {
  readonly runs: readonly RunView[];
  /** Pass it as `cursor` to get the next page; null on the last page. */
  readonly next: string | null;
}

export interface DeadLetterView {
  readonly key: string;
  readonly pipeline: string;
  readonly generation: number;
  readonly name: string;
  readonly queue: string;
  readonly messageId: string;
  readonly groupId: string | null;
  readonly object: {
    readonly bucket: string;
    readonly key: string;
  } | null;
  readonly businessKey: string | null;
  readonly errorClass: string;
  readonly fingerprint: string;
  readonly message: string;
  readonly stack: string | null;
  readonly attempts: number;
  readonly receiveCount: number;
  /** Milliseconds since 1970. */
  readonly eventTime: number;
  /** Milliseconds since 1970. */
  readonly firstFailedAt: number;
  /** Milliseconds since 1970. */
  readonly lastFailedAt: number;
  readonly tookMs: number;
  readonly traceId: string | null;
  /** Any JSON value, masked. */
  readonly payload: JsonValue;
  /** Queue that has the message; null while it is in its own queue. */
  readonly deadLetterQueue: string | null;
}

/** What `tidegate why` says, as data and as text. */
export interface RecordHistory {
  readonly summary: RecordSummary;
  /** Oldest first. */
  readonly timeline: readonly TimelineEntry[];
  readonly names: readonly string[];
  /** What the record was decoded from. */
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
  /** Milliseconds since 1970. */
  readonly sentAt: number;
  readonly partition: string;
  readonly traceId: string | null;
  /** The watermark when the lane was decided. */
  readonly watermark: number | null;
  readonly heldBy: {
    readonly owner: string;
    /** Milliseconds since 1970. */
    readonly until: number;
  } | null;
  readonly tookMs: number | null;
  /** Rows that the commit left in quarantine. */
  readonly quarantined: number;
  /** Effects by name. */
  readonly effects: Readonly<Record<string, number>> | null;
  readonly digest: string | null;
  readonly superseded: boolean;
  readonly tooLate: {
    readonly to: string | null;
  } | null;
  readonly duplicates: {
    readonly count: number;
    /** Milliseconds since 1970. */
    readonly lastAt: number;
  } | null;
  /** Milliseconds since 1970. */
  readonly rememberedUntil: number;
  readonly run: RunView | null;
  readonly deadLetter: DeadLetterView | null;
  readonly edited: {
    /** Edited copies that were sent as new records. */
    readonly count: number;
    /** Message of the latest copy; search for it in /records. */
    readonly messageId: string;
    readonly at: number;
  } | null;
  /** The lines that `tidegate why` prints. */
  readonly text: readonly string[];
}

export interface DeadLetterGroupView {
  /** The path of /dead-letters/{group}/items. */
  readonly id: string;
  readonly errorClass: string;
  readonly fingerprint: string;
  /** Of the newest one. */
  readonly message: string;
  readonly count: number;
  /** Milliseconds since 1970. */
  readonly firstFailedAt: number;
  /** Milliseconds since 1970. */
  readonly lastFailedAt: number;
  /** Failures per hour, oldest first; the last hour is the current one. */
  readonly trend: {
    /** Milliseconds since 1970. */
    readonly from: number;
    readonly stepMs: number;
    readonly counts: readonly number[];
  };
  readonly sample: DeadLetterView;
}

export interface DeadLetterGroupPage {
  /** When they were counted. */
  readonly at: number;
  readonly groups: readonly DeadLetterGroupView[];
  readonly total: number;
  /** Whether there are more dead letters than were counted so far; ask again. */
  readonly more: boolean;
  /** Pass it as `cursor` to get the next page; null on the last page. */
  readonly next: string | null;
}

export interface DeadLetterPage {
  readonly items: readonly DeadLetterView[];
  /** Pass it as `cursor` to get the next page; null on the last page. */
  readonly next: string | null;
}

export interface PartitionView {
  readonly name: string;
  /** Highest event time seen. */
  readonly eventTime: number;
  /** When it last moved. */
  readonly seenAt: number;
  /** Idle partitions do not hold the watermark back. */
  readonly idle: boolean;
  /** Whether it holds the watermark back. */
  readonly holds: boolean;
}

export interface HeldView {
  readonly key: string;
  readonly name: string;
  /** Milliseconds since 1970. */
  readonly eventTime: number;
  /** Milliseconds since 1970. */
  readonly heldAt: number;
  readonly lateQueue: string | null;
}

export interface TimeWindow {
  /** Milliseconds since 1970. */
  readonly from: number;
  /** Milliseconds since 1970. */
  readonly to: number;
  /** complete: before completeUpTo. problem: has dead letters or held records. */
  readonly status: "complete" | "open" | "future" | "problem";
  readonly records: number;
  readonly recordsMore: boolean;
  readonly deadLettered: number;
  readonly late: number;
  readonly held: number;
}

export interface TimeView {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly pipeline: string | null;
  readonly generation: number;
  /** Milliseconds since 1970. */
  readonly watermark: number | null;
  /** Milliseconds since 1970. */
  readonly completeUpTo: number | null;
  /** What holds completeUpTo back, in one clause. */
  readonly heldBy: string | null;
  /** Whether queued messages were looked at. */
  readonly looked: boolean;
  readonly partitions: readonly PartitionView[];
  readonly held: {
    readonly count: number;
    readonly more: boolean;
    readonly items: readonly HeldView[];
  };
  /** Hours, oldest first. */
  readonly windows: readonly TimeWindow[];
}

export interface FindingView {
  /** Rule, as in `tidegate doctor explain ID`. */
  readonly id: string;
  readonly severity: "error" | "warning" | "note";
  readonly subject: string;
  readonly message: string;
  readonly fix: string;
}

export interface SetupCheck {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly findings: readonly FindingView[];
  /** Rules that could be checked. */
  readonly checked: number;
  /** What could not be checked, and why. */
  readonly unknown: readonly string[];
}
