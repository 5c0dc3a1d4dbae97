// Dev setup: what the embedded cloud needs to run a pipeline, as a setup value.
//   D1. It is what you would create on AWS: bucket -> topic -> queue, with a dead-letter queue. The
//       redrive policy moves messages there after crashes; the runtime sends dead letters there.
//   D2. Names are derived from the pipeline's name, so that the next start finds everything again.
//   D3. The bucket is versioned. Otherwise an object that is overwritten before its event is
//       processed can no longer be read in the version that the event names.

import type { CloudSetup, QueueSetup } from "../../cloud/setup/cloud-setup.ts";
import { TidegateError } from "../../core/errors.ts";
import { SQS_QUEUE_NAME_CHARACTERS_MAX } from "../../core/limits.ts";
import { days, seconds } from "../../core/units.ts";
import type { Pipeline } from "../../ingest/spec/define-pipeline.ts";

export interface DevNames {
  readonly bucket: string | null;
  readonly topic: string | null;
  readonly queue: string;
  readonly deadLetterQueue: string;
  /** Null without a queue in `eventTime.late`. */
  readonly lateQueue: string | null;
}

const FIFO_SUFFIX = ".fifo";
const LONGEST_SUFFIX = "-dead-letters.fifo";
const STEM_CHARACTERS_MAX = SQS_QUEUE_NAME_CHARACTERS_MAX - LONGEST_SUFFIX.length;
/** Well above the attempts of a pipeline. */
const RECEIVES_MAX = 25;
/** A halted FIFO group is received again and again; its first message must stay in the queue. */
const HALTED_RECEIVES_MAX = 1_000;
const DEAD_LETTER_RETENTION_MS = days(14);
const WAIT_MS = seconds(20);

/** The names of all resources (D2). */
export function devNames({ name, source, eventTime: { late } }: Pipeline): DevNames {
  const stem = name.replaceAll(".", "-").slice(0, STEM_CHARACTERS_MAX);
  const queue = source.queue === null ? `${stem}-events` : lastPart(source.queue);
  const fifo = queue.endsWith(FIFO_SUFFIX);
  if (fifo && source.bucket !== null) {
    const reason = "but S3 cannot notify a FIFO queue; use a standard queue, or leave it out";
    throw new TidegateError("TG_CONFIG_INVALID", `source.queue is ${queue}, ${reason}`);
  }
  return {
    bucket: source.bucket,
    topic: source.bucket === null ? null : `${stem}-objects`,
    queue,
    deadLetterQueue: `${stem}-dead-letters${fifo ? FIFO_SUFFIX : ""}`,
    lateQueue: typeof late === "object" ? lastPart(late.queue) : null,
  };
}

/** The setup that a pipeline needs (D1). */
export function devSetup(pipeline: Pipeline): CloudSetup {
  const { bucket, topic, queue, deadLetterQueue, lateQueue } = devNames(pipeline);
  const queues: QueueSetup[] = [
    {
      name: deadLetterQueue,
      attributes: { MessageRetentionPeriod: inSeconds(DEAD_LETTER_RETENTION_MS) },
    },
    {
      name: queue,
      attributes: { ReceiveMessageWaitTimeSeconds: inSeconds(WAIT_MS) },
      deadLetter: { queue: deadLetterQueue, maxReceiveCount: receivesMax(pipeline, queue) },
    },
  ];
  const isNew = lateQueue !== null && lateQueue !== queue && lateQueue !== deadLetterQueue;
  if (isNew) {
    const attributes = { MessageRetentionPeriod: inSeconds(DEAD_LETTER_RETENTION_MS) };
    queues.push({ name: lateQueue, attributes });
  }
  if (bucket === null || topic === null) {
    const { archive } = pipeline;
    return archive === null ? { queues } : { queues, buckets: [{ name: archive.bucket }] };
  }
  const { prefix } = pipeline.source;
  return {
    queues,
    topics: [{ name: topic }],
    subscriptions: [{ topic, queue, raw: true }],
    buckets: [
      {
        name: bucket,
        versioning: "Enabled", // D3
        notifications: [
          {
            id: "tidegate-dev",
            topic,
            events: ["s3:ObjectCreated:*", "s3:ObjectRemoved:*"],
            ...(prefix !== "" && { prefix }),
          },
        ],
      },
    ],
  };
}

function receivesMax(pipeline: Pipeline, queue: string): number {
  const halts = queue.endsWith(FIFO_SUFFIX) && pipeline.onPoison === "halt";
  return halts ? HALTED_RECEIVES_MAX : Math.max(RECEIVES_MAX, 2 * pipeline.retry.attempts);
}

function inSeconds(spanMs: number): number {
  return Math.ceil(spanMs / 1_000);
}

/** The queue name at the end of a URL. */
function lastPart(queue: string): string {
  return queue.split("/").at(-1) ?? queue;
}
