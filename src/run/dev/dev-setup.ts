// Dev set-up: what the embedded cloud must have for a pipeline to run on it, as a set-up value.
//   D1. It is what one would make on AWS: bucket -> topic -> queue, with a dead-letter queue behind
//       it as the back-stop for crashes, where the runtime puts its own dead letters as well.
//   D2. Names follow from the pipeline's name, so that the next start finds everything again.
//   D3. The bucket keeps versions. Without them, an object that is overwritten before its event was
//       worked off can no longer be read as the event tells of it.

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
}

const FIFO_SUFFIX = ".fifo";
const LONGEST_SUFFIX = "-dead-letters.fifo";
const STEM_CHARACTERS_MAX = SQS_QUEUE_NAME_CHARACTERS_MAX - LONGEST_SUFFIX.length;
/** Well above the attempts that a pipeline makes by itself. */
const RECEIVES_MAX = 25;
/** A FIFO group that halts is looked at again and again, which must not move its head away. */
const HALTED_RECEIVES_MAX = 1_000;
const DEAD_LETTER_RETENTION_MS = days(14);
const WAIT_MS = seconds(20);

/** What everything is called (D2). */
export function devNames({ name, source }: Pipeline): DevNames {
  const stem = name.replaceAll(".", "-").slice(0, STEM_CHARACTERS_MAX);
  const queue = source.queue === null ? `${stem}-events` : lastPart(source.queue);
  const fifo = queue.endsWith(FIFO_SUFFIX);
  if (fifo && source.bucket !== null) {
    const reason = "S3 notifies no FIFO queue; name a standard queue, or none";
    throw new TidegateError("TG_CONFIG_INVALID", `source.queue is ${queue}, but ${reason}`);
  }
  return {
    bucket: source.bucket,
    topic: source.bucket === null ? null : `${stem}-objects`,
    queue,
    deadLetterQueue: `${stem}-dead-letters${fifo ? FIFO_SUFFIX : ""}`,
  };
}

/** The set-up that a pipeline needs (D1). */
export function devSetup(pipeline: Pipeline): CloudSetup {
  const { bucket, topic, queue, deadLetterQueue } = devNames(pipeline);
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
  if (bucket === null || topic === null) return { queues };
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

/** The name in a URL; a name is its own. */
function lastPart(queue: string): string {
  return queue.split("/").at(-1) ?? queue;
}
