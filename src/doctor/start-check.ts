// Start check: the doctor's rules on the queue of a pipeline that starts, before a message is lost.

import { type DurationMs, days } from "../core/units.ts";
import { observedQueueFrom } from "./live/queue-attributes.ts";
import { type Finding, findingsOf } from "./rule.ts";
import { START_RULES } from "./rules/all-rules.ts";
import { EMPTY_SETUP } from "./setup.ts";

/** Settings of a queue; the facts of a QueueReceiver have this shape. */
export interface CheckedQueue {
  readonly arn: string;
  readonly visibilityMs: DurationMs;
  readonly retentionMs: DurationMs;
  readonly waitMs: DurationMs;
  readonly redrive: { readonly deadLetterArn: string; readonly maxReceiveCount: number } | null;
}

export interface StartCheckInput {
  readonly queue: CheckedQueue & { readonly name: string; readonly fifo: boolean };
  /** Null if the queue has no dead-letter queue, or its attributes cannot be read. */
  readonly deadLetters: CheckedQueue | null;
  readonly pipeline: {
    readonly attempts: number;
    readonly visibilityMs: DurationMs;
    readonly onPoison: "halt" | "skip";
  };
}

/** What is wrong with the queue of a pipeline. */
export function startFindings({
  queue,
  deadLetters,
  pipeline,
}: StartCheckInput): readonly Finding[] {
  const queues = [observedQueueFrom(queue)];
  if (deadLetters !== null && deadLetters.arn !== queue.arn) {
    const name = deadLetters.arn.split(":").at(-1) ?? "";
    queues.push(observedQueueFrom({ ...deadLetters, name, fifo: name.endsWith(".fifo") }));
  }
  return findingsOf(START_RULES, {
    ...EMPTY_SETUP,
    queues,
    pipeline: {
      ...pipeline,
      location: { name: queue.name },
      name: queue.name,
      queueName: queue.name,
      concurrency: 10,
      ledgerRetentionMs: days(45),
      bucket: null,
      prefix: "",
      columns: [],
      masked: [],
    },
  });
}
