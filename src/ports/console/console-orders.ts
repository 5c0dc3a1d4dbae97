// Console orders: the actions that the console's API accepts, and the jobs that carry them out.
// docs/reference/console-api.openapi.json describes each field.

/** A filter without fields selects all. */
export interface DeadLetterChoice {
  readonly errorClass?: string | undefined;
  /** Start of the fingerprint. */
  readonly fingerprint?: string | undefined;
  readonly key?: string | undefined;
  readonly olderThanMs?: number | undefined;
  readonly newerThanMs?: number | undefined;
}

export interface RedriveOrder {
  readonly filter: DeadLetterChoice;
  readonly dryRun?: boolean | undefined;
  readonly perSecond?: number | undefined;
  readonly limit?: number | undefined;
  readonly followSeconds?: number | undefined;
  /** Repeated failures after which it may stop. */
  readonly stopAfter?: number | undefined;
  /** Share of repeated failures above which it stops. */
  readonly stopPercent?: number | undefined;
}

export interface DropOrder {
  readonly filter: DeadLetterChoice;
  readonly dryRun?: boolean | undefined;
  /** Required unless it is a dry run: the number of dead letters that the dry run found. */
  readonly confirmCount?: number | undefined;
}

export interface EditOrder {
  /** Record key of the dead letter. */
  readonly key: string;
  /** The new message body. */
  readonly body: string;
}

/** The copy is a new record with its own key; the dead letter stays until it is dropped. */
export interface EditedView {
  readonly messageId: string;
  readonly queue: string;
  readonly copyOf: string;
  /** Stored with the new record: search for it in /records. */
  readonly copyId: string;
}

/** Which held records; without a field, all of them. */
export interface HeldChoice {
  /** Only the record with this key or name. */
  readonly key?: string | undefined;
  /** Only records whose name starts with it. */
  readonly prefix?: string | undefined;
}

export interface ReleaseOrder {
  readonly filter: HeldChoice;
  readonly dryRun?: boolean | undefined;
  /** How many records the filter matches; not needed for a dry run. */
  readonly confirmCount?: number | undefined;
}

export interface SendOrder {
  readonly body: string;
  readonly groupId?: string | undefined;
  readonly deduplicationId?: string | undefined;
  readonly delaySeconds?: number | undefined;
  readonly attributes?: Readonly<Record<string, string>> | undefined;
}

export interface SentView {
  readonly messageId: string;
}

export interface DoneView {
  readonly done: boolean;
}

export interface UploadedView {
  readonly bucket: string;
  readonly key: string;
  readonly etag: string;
  readonly size: number;
}

export interface ConsoleJobItem {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly key: string;
  readonly name: string;
  /** planned, sent, reopened, committed, failed again, missing, refused and so on. */
  readonly step: string;
  readonly detail: string | null;
}

export interface ConsoleJob {
  readonly id: string;
  readonly kind: "redrive" | "drop" | "release";
  readonly state: "running" | "done" | "stopped" | "failed";
  readonly dryRun: boolean;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  /** Milliseconds since 1970. */
  readonly endedAt: number | null;
  /** Dead letters that the filter matched at the start. */
  readonly total: number | null;
  /** Items by step. */
  readonly counts: Readonly<Record<string, number>>;
  readonly stoppedBecause: string | null;
  readonly error: string | null;
  /** The latest 200, newest first. */
  readonly items: readonly ConsoleJobItem[];
}

export interface JobPage {
  readonly jobs: readonly ConsoleJob[];
}
