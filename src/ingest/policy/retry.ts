// Retry: how long to wait before something is tried again.
//   Y1. Full jitter: anything from nothing to the bound, so that records that failed together do
//       not come back together.
//   Y2. Waiting is done by the queue, as visibility, never by a worker that sleeps: what is waited
//       for costs no slot and no lease.
//   Y3. SQS hides a message for twelve hours from its receive and no longer, so whoever sets a
//       delay takes off what has passed since.
//   Y4. Chance comes in as a fraction in [0, 1), drawn by the caller. Every answer is a whole,
//       finite number of milliseconds from 0, whatever comes in.

import { SQS_VISIBILITY_MS_MAX } from "../../core/limits.ts";
import { type DurationMs, durationMs, minutes, seconds } from "../../core/units.ts";

export interface RetrySettings {
  /** How often a record is tried before it is given up on. */
  readonly attempts: number;
  readonly baseMs: DurationMs;
  readonly capMs: DurationMs;
}

/** What we ask for stays this far below SQS's bound, which counts from before we had the answer. */
export const VISIBILITY_MARGIN_MS: DurationMs = minutes(1);
/** The longest wait that can be had from a queue at all (Y3). */
export const DELAY_MS_MAX: DurationMs = durationMs(SQS_VISIBILITY_MS_MAX - VISIBILITY_MARGIN_MS);

/** Duplicates of what is at work come back spread over this long after its lease. */
export const BUSY_JITTER_MS: DurationMs = seconds(2);

export const POLL_BACKOFF_MS_MIN: DurationMs = seconds(0.2);
export const POLL_BACKOFF_MS_MAX: DurationMs = seconds(30);

/** From here on 2^n is beyond every cap; larger exponents would end in Infinity. */
const DOUBLINGS_MAX = 40;

/** The wait after failed attempt number `attempt`, which is 1 for the first (Y1). */
export function retryDelayMs(
  settings: Pick<RetrySettings, "baseMs" | "capMs">,
  attempt: number,
  fraction: number,
): DurationMs {
  const bound = doubled(settings.baseMs, attempt - 1, settings.capMs);
  return bounded(bound * fractionOf(fraction), DELAY_MS_MAX);
}

/**
 * The wait of a record that another worker has, until that one's lease has run out. A lease that
 * is renewed in the meantime gives another such wait, which is not an attempt.
 */
export function busyDelayMs(remainingMs: number, fraction: number): DurationMs {
  const jitter = BUSY_JITTER_MS * fractionOf(fraction);
  return bounded(Math.ceil(Math.max(0, remainingMs) + jitter), DELAY_MS_MAX);
}

/**
 * The wait after `failures` polls in a row that failed. It has a floor, unlike the waits of
 * records: a poller is one, and a queue that cannot be reached must not be asked in a hot loop.
 */
export function pollBackoffMs(failures: number, fraction: number): DurationMs {
  const bound = doubled(POLL_BACKOFF_MS_MIN, failures, POLL_BACKOFF_MS_MAX);
  const span = bound - POLL_BACKOFF_MS_MIN;
  return bounded(POLL_BACKOFF_MS_MIN + span * fractionOf(fraction), POLL_BACKOFF_MS_MAX);
}

/** As much of `delayMs` as SQS still grants to a delivery that was received `heldMs` ago (Y3). */
export function grantedDelayMs(delayMs: number, heldMs: number): DurationMs {
  const held = Number.isFinite(heldMs) ? Math.max(0, heldMs) : SQS_VISIBILITY_MS_MAX;
  return bounded(delayMs, Math.max(0, DELAY_MS_MAX - held));
}

function doubled(base: number, doublings: number, cap: number): number {
  const times = Math.min(DOUBLINGS_MAX, Math.max(0, Number.isNaN(doublings) ? 0 : doublings));
  return Math.min(Math.max(0, cap), Math.max(0, base) * 2 ** times);
}

function fractionOf(fraction: number): number {
  return Number.isNaN(fraction) ? 0 : Math.min(1, Math.max(0, fraction));
}

/** A whole number from 0 to `most`; NaN is no wait (Y4). */
function bounded(value: number, most: number): DurationMs {
  const whole = Number.isNaN(value) ? 0 : Math.floor(Math.min(most, Math.max(0, value)));
  return durationMs(whole);
}
