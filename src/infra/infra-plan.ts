// Infra plan: the AWS resources of one pipeline, with their names and settings, as plain data.
//   P1. Terraform, IAM policies, alarms and `infra diff` are all made from this value.
//   P2. Names come from the pipeline's name, as in `tidegate dev`, so that the same file finds its
//       queue on AWS and on the embedded cloud.
//   P3. What AWS would refuse, or would lose messages by, is rejected here with the fix. One error
//       reports every problem.

import { TidegateError } from "../core/errors.ts";
import { SQS_VISIBILITY_MS_MAX } from "../core/limits.ts";
import { nameProblems, stemOf } from "./infra-names.ts";

/** What a pipeline file says that decides its resources. */
export interface PipelineFacts {
  readonly name: string;
  /** Null if the pipeline reads messages, or objects of any bucket. */
  readonly bucket: string | null;
  readonly prefix: string;
  readonly contents?: "messages" | "objects";
  /** Name, URL or ARN; null for one named after the pipeline. */
  readonly queue: string | null;
  /** Name, URL or ARN of the queue of `eventTime.late`; null without one. */
  readonly lateQueue?: string | null;
  /** Where messages are archived; null or absent: they are not. */
  readonly archive?: ArchivePlace | null;
  readonly visibilityMs: number;
  /** Receives before SQS itself moves a message, for a standard or a FIFO queue. */
  readonly maxReceiveCount: { readonly standard: number; readonly fifo: number };
}

export interface ArchivePlace {
  readonly bucket: string;
  readonly prefix: string;
}

export type ComputeKind = "none" | "ecs" | "lambda";

/** What the AWS resources of a pipeline should be like. */
export interface InfraOptions {
  /** Whether events reach the queue through a topic. Default: for buckets. */
  readonly via?: "topic" | "queue" | undefined;
  readonly ledger?: "dynamodb" | "postgres" | undefined;
  /** Whether a DynamoDB ledger has the indexes that lists of records need. */
  readonly listing?: boolean | undefined;
  /** Whether producers get an outbox table. Default: for messages with a DynamoDB ledger. */
  readonly outbox?: boolean | undefined;
  /** Encrypts with a customer key instead of keys that the services manage. */
  readonly kms?: boolean | undefined;
  /** Bucket for payloads that are larger than a message. */
  readonly claimChecks?: string | undefined;
  readonly alarms?: boolean | undefined;
  readonly compute?: ComputeKind | undefined;
  /** Whether the consumer starts one ECS task per message. */
  readonly dispatch?: boolean | undefined;
  /** Whether the consumer may list the bucket, for `tidegate backfill`. */
  readonly backfill?: boolean | undefined;
  /** `s3://bucket/prefix`, each a place in which the consumer writes objects. */
  readonly outputs?: readonly string[] | undefined;
  /** Replaces the pipeline's name in the names of resources. */
  readonly prefix?: string | undefined;
}

/** The AWS resources of a pipeline, by name. */
export interface InfraPlan {
  readonly pipeline: string;
  /** What names of roles, tables and alarms start with. */
  readonly stem: string;
  readonly fifo: boolean;
  readonly bucket: { readonly name: string; readonly prefix: string } | null;
  readonly topic: string | null;
  readonly queue: string;
  /** The account in the URL or ARN of the pipeline's queue; null for a name. */
  readonly queueAccount: string | null;
  readonly deadLetterQueue: string;
  /** Not created: another pipeline, or nothing yet, consumes it. */
  readonly lateQueue: string | null;
  readonly visibilitySeconds: number;
  readonly maxReceiveCount: number;
  readonly ledger: "dynamodb" | "postgres";
  readonly ledgerTable: string | null;
  readonly listing: boolean;
  readonly outboxTable: string | null;
  readonly claimCheckBucket: string | null;
  /** Not created: the bucket of archived messages may be shared. */
  readonly archive: ArchivePlace | null;
  readonly kms: boolean;
  readonly alarms: boolean;
  readonly compute: ComputeKind;
  readonly dispatch: boolean;
  readonly backfill: boolean;
  /** `bucket` or `bucket/prefix`, without a slash at the end. Not created: they are yours. */
  readonly outputs: readonly string[];
}

/** How long one invocation of a Lambda function may take, unless its variable is changed. */
export const LAMBDA_TIMEOUT_SECONDS = 120;
/** AWS advises a visibility timeout of at least six function timeouts. */
export const LAMBDA_VISIBILITY_FACTOR = 6;
const FIFO_SUFFIX = ".fifo";

/** The resources of a pipeline; throws TG_CONFIG_INVALID if AWS could not provide them (P3). */
export function planInfra(facts: PipelineFacts, options: InfraOptions = {}): InfraPlan {
  const { bucket, prefix } = facts;
  const stem = stemOf(options.prefix ?? facts.name);
  const queue = facts.queue === null ? `${stem}-events` : lastPart(facts.queue);
  const fifo = queue.endsWith(FIFO_SUFFIX);
  const suffix = fifo ? FIFO_SUFFIX : "";
  const { via = bucket === null ? "queue" : "topic", ledger = "dynamodb" } = options;
  const { outbox = bucket === null && ledger === "dynamodb", compute = "none" } = options;
  const plan: InfraPlan = {
    pipeline: facts.name,
    stem,
    fifo,
    bucket: bucket === null ? null : { name: bucket, prefix },
    topic: via === "queue" ? null : `${stem}-${bucket === null ? "messages" : "objects"}${suffix}`,
    queue,
    queueAccount: /\b(\d{12})[/:]/.exec(facts.queue ?? "")?.[1] ?? null,
    deadLetterQueue: `${stem}-dead-letters${suffix}`,
    lateQueue: facts.lateQueue ? lastPart(facts.lateQueue) : null,
    visibilitySeconds: visibilitySeconds(facts.visibilityMs, compute),
    maxReceiveCount: fifo ? facts.maxReceiveCount.fifo : facts.maxReceiveCount.standard,
    ledger,
    ledgerTable: ledger === "dynamodb" ? `${stem}-ledger` : null,
    listing: options.listing ?? false,
    outboxTable: outbox ? `${stem}-outbox` : null,
    claimCheckBucket: options.claimChecks ?? null,
    archive: facts.archive ?? null,
    kms: options.kms ?? false,
    alarms: options.alarms ?? true,
    compute,
    dispatch: options.dispatch ?? false,
    backfill: options.backfill ?? false,
    outputs: (options.outputs ?? []).flatMap((url) => outputOf(url) ?? []),
  };
  const outputs = outputProblems(options.outputs ?? [], plan);
  const problems = [...planProblems(plan), ...outputs, ...nameProblems(plan)];
  if (bucket === null && facts.contents === "objects") {
    problems.unshift("the pipeline reads objects of any bucket; name one in source.bucket");
  }
  if (problems.length > 0) throw new TidegateError("TG_CONFIG_INVALID", problems.join("; "));
  return plan; // P1
}

function visibilitySeconds(visibilityMs: number, compute: ComputeKind): number {
  const own = Math.ceil(visibilityMs / 1_000);
  const least = compute === "lambda" ? LAMBDA_TIMEOUT_SECONDS * LAMBDA_VISIBILITY_FACTOR : 0;
  return Math.min(Math.max(own, least), SQS_VISIBILITY_MS_MAX / 1_000);
}

/** Combinations that AWS does not support. */
function planProblems(plan: InfraPlan): string[] {
  const { bucket, fifo, queue, claimCheckBucket, listing, ledgerTable, dispatch, compute } = plan;
  const problems: string[] = [];
  if (bucket !== null && fifo) {
    problems.push(
      `source.queue is ${queue}, but S3 cannot notify a FIFO queue or topic; use a standard queue`,
    );
  }
  if (bucket !== null && /[*?$]/.test(bucket.prefix)) {
    problems.push(
      `source.prefix is "${bucket.prefix}", but IAM reads *, ? and $ as patterns; choose another`,
    );
  }
  if (plan.archive !== null && /[*?$]/.test(plan.archive.prefix)) {
    problems.push(
      `archive.prefix is "${plan.archive.prefix}", but IAM reads *, ? and $ as patterns; choose another`,
    );
  }
  if (bucket !== null && claimCheckBucket !== null) {
    problems.push(
      "--claim-checks is for pipelines of messages; this pipeline reads objects of a bucket",
    );
  }
  if (listing && ledgerTable === null) {
    problems.push("--listing is for a DynamoDB ledger; PostgreSQL always lists");
  }
  if (bucket === null && plan.backfill) {
    problems.push("--backfill lists the objects of a bucket; this pipeline reads messages");
  }
  if (dispatch && compute === "lambda") {
    problems.push("dispatch needs a process that waits for tasks; compute has to be ecs or none");
  }
  return problems;
}

const OUTPUT = /^s3:\/\/([^/]+)(?:\/(.*?))?\/?$/s;

/** `bucket/prefix`; null for a text that is not a URL of S3. */
function outputOf(url: string): string | null {
  const [, bucket, prefix = ""] = OUTPUT.exec(url) ?? [];
  if (bucket === undefined) return null;
  return prefix === "" ? bucket : `${bucket}/${prefix}`;
}

/** Outputs that no policy can name, or that the pipeline would read again. */
function outputProblems(urls: readonly string[], { bucket }: InfraPlan): string[] {
  const source = bucket === null ? null : `${bucket.name}/${bucket.prefix}`;
  return urls.flatMap((url) => {
    const name = outputOf(url);
    if (name === null) return [`--outputs has "${url}"; write s3://bucket/prefix`];
    if (/[*?$]/.test(name)) {
      return [`--outputs has "${url}", but IAM reads *, ? and $ as patterns; choose another`];
    }
    const isRead = source !== null && (source.startsWith(`${name}/`) || name.startsWith(source));
    if (!isRead && `${name}/` !== source) return [];
    return [`--outputs has "${url}", which the pipeline reads; choose another prefix or bucket`];
  });
}

/** The queue name at the end of a URL or an ARN. */
function lastPart(queue: string): string {
  return queue.split(/[/:]/).at(-1) ?? queue;
}
