// Target: where a producer sends to, and how often it retries.

import type { DurationMs } from "../core/units.ts";
import { durationMs, minutes, seconds } from "../core/units.ts";
import type { QueueSender } from "../ports/queue.ts";
import type { Random } from "../ports/random.ts";
import type { TopicPublisher } from "../ports/topic.ts";

export type Target = QueueSender | TopicPublisher;

/** Attempts per message before it is left to the relay. */
export const SEND_ATTEMPTS_MAX = 6;
const BACKOFF_MS_MIN = 100;
const BACKOFF_MS_MAX: DurationMs = seconds(5);

/**
 * Lease of a row that is being sent. It is longer than all attempts together, and shorter than the
 * five minutes in which a FIFO queue deduplicates.
 */
export const SEND_LEASE_MS: DurationMs = minutes(2);

/** Requests in flight. */
export const BATCHES_IN_FLIGHT_MAX = 8;

/** Exponential backoff, with jitter in its upper half. */
export function backoffMs(attempt: number, random: Random): DurationMs {
  const full = Math.min(BACKOFF_MS_MAX, BACKOFF_MS_MIN * 2 ** (attempt - 1));
  return durationMs(Math.ceil(full / 2 + (full / 2) * random.fraction()));
}
