// Target: where a producer sends to, and how often it tries.

import type { DurationMs } from "../core/units.ts";
import { durationMs, minutes, seconds } from "../core/units.ts";
import type { QueueSender } from "../ports/queue.ts";
import type { Random } from "../ports/random.ts";
import type { TopicPublisher } from "../ports/topic.ts";

export type Target = QueueSender | TopicPublisher;

/** Tries of one message before it is left to the relay. */
export const SEND_ATTEMPTS_MAX = 6;
const BACKOFF_MS_MIN = 100;
const BACKOFF_MS_MAX: DurationMs = seconds(5);

/**
 * How long a row is ours to send. Longer than all tries together, and shorter than the five minutes
 * in which a FIFO queue recognises a repetition.
 */
export const SEND_LEASE_MS: DurationMs = minutes(2);

/** Requests under way at once. */
export const BATCHES_IN_FLIGHT_MAX = 8;

/** Exponential, with jitter in its upper half. */
export function backoffMs(attempt: number, random: Random): DurationMs {
  const full = Math.min(BACKOFF_MS_MAX, BACKOFF_MS_MIN * 2 ** (attempt - 1));
  return durationMs(Math.ceil(full / 2 + (full / 2) * random.fraction()));
}
