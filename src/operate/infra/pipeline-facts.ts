// Pipeline facts: what a pipeline file says that decides its AWS resources.

import { SQS_RECEIVE_COUNT_SETTING_MAX } from "../../core/limits.ts";
import { receivesLeast } from "../../doctor/rules/dead-letter-rules.ts";
import type { PipelineFacts } from "../../infra/infra-plan.ts";
import type { Pipeline } from "../../ingest/spec/define-pipeline.ts";

export function pipelineFacts(pipeline: Pipeline): PipelineFacts {
  const { name, source, visibilityMs, retry, onPoison, eventTime } = pipeline;
  const { late } = eventTime;
  const receives = receivesLeast(retry.attempts);
  return {
    name,
    bucket: source.bucket,
    prefix: source.prefix,
    contents: source.contents,
    queue: source.queue,
    lateQueue: typeof late === "object" ? late.queue : null,
    archive: pipeline.archive,
    visibilityMs,
    // A halted group is received again and again, and its first message must stay in the queue.
    maxReceiveCount: {
      standard: receives,
      fifo: onPoison === "halt" ? SQS_RECEIVE_COUNT_SETTING_MAX : receives,
    },
  };
}
