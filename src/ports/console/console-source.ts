// Console source: where the console's API gets its answers from. `run` implements it on a ledger
// and on the embedded cloud or AWS; the console knows neither.
//   C1. Every answer is bounded: a list has a page size, a count has a limit and says so.
//   C2. Every answer is masked by the pipeline's masks before it leaves the source.
//   C3. A method that is null does not exist behind this source, for example topics on AWS.

import type { AuditSummary } from "../audit.ts";
import type { HttpReply, HttpRequest } from "../http/http.ts";
import type { LedgerScope } from "../record.ts";
import type {
  AuditPageView,
  PipelineStateView,
  PromotionView,
  ReplayDiffView,
  ReplayPageView,
  ReplayView,
  RetryView,
} from "./console-control-views.ts";
import type {
  ConsoleJobItem,
  DeadLetterChoice,
  DropOrder,
  EditedView,
  EditOrder,
  HeldChoice,
  RedriveOrder,
  ReleaseOrder,
  SendOrder,
  SentView,
} from "./console-orders.ts";
import type {
  DeadLetterGroupPage,
  DeadLetterPage,
  OutcomeWord,
  RecordHistory,
  RecordPageView,
  RunPageView,
  SetupCheck,
  TimeView,
} from "./console-record-views.ts";
import type {
  BucketPage,
  MessagePage,
  ObjectPage,
  QueueDetails,
  QueuePage,
  TopicPage,
} from "./console-views.ts";

/** One page of any list of the console. */
export interface PageRequest {
  /** `next` of the previous page; null for the first. */
  readonly cursor: string | null;
  readonly limit: number;
}

/** Counters and gauges of one moment; null if a value is not known. */
export interface FlowFacts {
  readonly bucket: string | null;
  readonly topic: string | null;
  readonly queue: QueueFigures | null;
  readonly deadLetters: QueueFigures | null;
  /** What the sink is, in a word or two; null if it is not known. */
  readonly sink: string | null;
  /** Of the running pipeline; null if it runs elsewhere. */
  readonly consumer: ConsumerFigures | null;
  /** Dead letters in the ledger, as far as they are counted. */
  readonly parked: { readonly count: number; readonly more: boolean } | null;
  readonly watermark: number | null;
  readonly completeUpTo: number | null;
  /** What holds `completeUpTo` back, in one clause. */
  readonly heldBy: string | null;
  /** An operator's order to receive nothing. */
  readonly paused: PipelineStateView["paused"];
  /** Why the embedded cloud's store fails, and since when; null while it works, and on AWS. */
  readonly outage: { readonly since: number; readonly reason: string } | null;
  /** Sentences about sources that did not answer. */
  readonly failures: readonly string[];
}

export interface QueueFigures {
  readonly name: string;
  readonly visible: number;
  readonly delayed: number;
  readonly inFlight: number;
  readonly oldestAgeMs: number | null;
}

/** Totals since the consumer started, and its state. */
export interface ConsumerFigures {
  readonly received: number;
  readonly committed: number;
  readonly duplicates: number;
  readonly retried: number;
  readonly deadLettered: number;
  /** Deliveries that left the queue for good. */
  readonly settled: number;
  readonly inFlight: number;
  readonly breaker: "closed" | "open" | "half-open";
}

export interface RecordSearch extends PageRequest {
  readonly search: string | null;
  readonly outcome: OutcomeWord | null;
  readonly since: number | null;
  /** Exclusive. */
  readonly until: number | null;
  /** `s3://bucket/prefix` */
  readonly prefix: string | null;
}

/** A pipeline that the console shows. */
export interface ShownPipeline {
  readonly name: string;
  readonly generation: number;
  /** Whether this process runs it. */
  readonly running: boolean;
}

/** The steps of a job; each says what happened to one record. */
export type JobSteps = AsyncIterable<Omit<ConsoleJobItem, "at">>;

export interface ConsoleReads {
  pipelines(): Promise<readonly ShownPipeline[]>;
  /** Cheap: called every few seconds. `looked` is false while no page is open. */
  flow(scope: LedgerScope | null, looked: boolean): Promise<FlowFacts>;
  records(scope: LedgerScope, search: RecordSearch): Promise<RecordPageView>;
  record(scope: LedgerScope, key: string): Promise<RecordHistory | null>;
  deadLetterGroups(scope: LedgerScope, page: PageRequest): Promise<DeadLetterGroupPage>;
  deadLetters(scope: LedgerScope, group: string, page: PageRequest): Promise<DeadLetterPage | null>;
  time(scope: LedgerScope): Promise<TimeView>;
  runs(scope: LedgerScope, page: PageRequest): Promise<RunPageView>;
  setupCheck(scope: LedgerScope | null): Promise<SetupCheck>;
  pipelineState(scope: LedgerScope): Promise<PipelineStateView>;
  replays(scope: LedgerScope, page: PageRequest): Promise<ReplayPageView>;
  replay(scope: LedgerScope, run: string): Promise<ReplayView | null>;
  /** Null without such a replay. */
  replayDiff(scope: LedgerScope, run: string): Promise<ReplayDiffView | null>;
  audits(scope: LedgerScope, page: PageRequest): Promise<AuditPageView>;
  audit(scope: LedgerScope, id: string): Promise<AuditSummary | null>;
}

/** Queues, topics and buckets; null where the source has none (C3). */
export interface ConsoleCloud {
  queues(prefix: string, page: PageRequest): Promise<QueuePage>;
  queue(name: string): Promise<QueueDetails | null>;
  readonly messages: ((name: string, page: PageRequest) => Promise<MessagePage | null>) | null;
  readonly topics: ((prefix: string, page: PageRequest) => Promise<TopicPage>) | null;
  readonly buckets: ((page: PageRequest) => Promise<BucketPage>) | null;
  readonly objects:
    | ((bucket: string, prefix: string, page: PageRequest) => Promise<ObjectPage | null>)
    | null;
  send(name: string, order: SendOrder): Promise<SentView | null>;
  purge(name: string): Promise<boolean>;
  /** Starts a message move task of SQS. */
  redrive(name: string, perSecond: number | null): Promise<boolean>;
  /** Puts the body of `request` under a key; null without buckets. */
  readonly upload:
    | ((bucket: string, key: string, request: HttpRequest) => Promise<HttpReply>)
    | null;
}

export interface ConsoleActions {
  /** How many dead letters a filter matches. */
  countDeadLetters(scope: LedgerScope, filter: DeadLetterChoice): Promise<number>;
  redrive(
    scope: LedgerScope,
    order: RedriveOrder,
    signal: AbortSignal,
  ): JobSteps & { readonly stopped: () => string | null };
  drop(scope: LedgerScope, order: DropOrder, signal: AbortSignal): JobSteps;
  /** How many held records a release would send back. */
  countHeld(scope: LedgerScope, filter: HeldChoice): Promise<number>;
  release(scope: LedgerScope, order: ReleaseOrder, signal: AbortSignal): JobSteps;
  /** Null if the ledger has no such dead letter. */
  edit(scope: LedgerScope, order: EditOrder): Promise<EditedView | null>;
}

/** Orders that need the ledger only. */
export interface ConsoleControls {
  pause(scope: LedgerScope, reason: string): Promise<PipelineStateView>;
  resume(scope: LedgerScope): Promise<PipelineStateView>;
  /** Null if the ledger has no such record. */
  retry(scope: LedgerScope, key: string): Promise<RetryView | null>;
  promote(scope: LedgerScope, run: string): Promise<PromotionView>;
  dropReplay(scope: LedgerScope, run: string): Promise<void>;
}

export interface ConsoleSource {
  readonly embedded: boolean;
  readonly version: string;
  readonly reads: ConsoleReads;
  readonly cloud: ConsoleCloud;
  /** Whether every action is refused. */
  readonly readOnly: boolean;
  /** Null without a ledger to act on. */
  readonly actions: ConsoleActions | null;
  /** Null without a ledger that may be written. */
  readonly controls: ConsoleControls | null;
  close(): Promise<void>;
}

/** A file of the built page. */
export interface PageFile {
  readonly type: string;
  readonly body: string;
}

/** The built page: a file by its path below /_tidegate/console/, or why there is none. */
export interface PageFiles {
  read(path: string): Promise<PageFile | { readonly missing: string } | null>;
}
