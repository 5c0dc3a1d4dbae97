// When finished: how a pipeline notices that it has nothing more to do.

import { durationMs, seconds } from "../core/units.ts";
import type { Consumer } from "../ingest/running/consumer.ts";
import { systemPorts } from "../platform/index.ts";
import type { Queue } from "../ports/queue-receiver.ts";
import type { FilledSettings } from "./config.ts";

/** How often a queue is checked for being empty. */
const IDLE_POLL_MS = durationMs(25);
/** How often `exitWhenIdle` checks; every check is a request to SQS. */
const EXIT_POLL_MS = seconds(1);

/** Resolves when nothing is queued or in flight. */
export async function untilIdle(
  queue: Queue,
  consumer: Consumer,
  signal?: AbortSignal,
): Promise<void> {
  for (;;) {
    signal?.throwIfAborted();
    await consumer.idle();
    const { visible, hidden, delayed } = await queue.facts();
    const { inFlight, waiting } = consumer.snapshot();
    if (visible + hidden + delayed + inFlight + waiting === 0) return;
    await systemPorts.clock.sleep(IDLE_POLL_MS, signal);
  }
}

/** Resolves with the first limit that the pipeline reaches; never, if it has none. */
export function whenFinished(
  { once, maxMessages, exitWhenIdle }: FilledSettings,
  consumer: Consumer,
  queue: Queue,
): Promise<string> {
  const limits: Promise<string>[] = [];
  if (once === true) limits.push(consumer.emptied.then(() => emptiedBy(consumer)));
  if (maxMessages !== undefined) {
    limits.push(consumer.finished.then(() => receivedText(maxMessages)));
  }
  if (exitWhenIdle === true) {
    limits.push(untilEmptyTwice(queue, consumer).then(() => "the queue is empty"));
  }
  return limits.length === 0 ? new Promise<never>(() => undefined) : Promise.race(limits);
}

function receivedText(count: number): string {
  return count === 1 ? "1 message was received" : `${count} messages were received`;
}

function emptiedBy(consumer: Consumer): string {
  const { paused } = consumer.snapshot();
  return paused === null ? "the queue returned no message" : "the pipeline is paused";
}

/** SQS reports the depth of a queue with a delay, so one look is not enough. */
async function untilEmptyTwice(queue: Queue, consumer: Consumer): Promise<void> {
  for (let emptyLooks = 0; emptyLooks < 2; ) {
    await systemPorts.clock.sleep(EXIT_POLL_MS);
    const facts = await queue.facts().catch(() => null);
    const { inFlight, waiting } = consumer.snapshot();
    const isEmpty =
      facts !== null && facts.visible + facts.hidden + facts.delayed + inFlight + waiting === 0;
    emptyLooks = isEmpty ? emptyLooks + 1 : 0;
  }
}
