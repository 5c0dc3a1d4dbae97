// Retry: how long to wait before a retry.
//   Y1. Full jitter: a delay is anything from zero to the bound, so that records that failed
//       together are not redelivered together.
//   Y2. The queue does the waiting, by visibility timeout. No worker sleeps, so a delay costs no
//       slot and no lease.
//   Y3. SQS hides a message for at most twelve hours after its receive. The caller that sets a
//       delay subtracts the time that has passed since.
//   Y4. Randomness is a fraction in [0, 1) that the caller draws. Every result is a whole, finite,
//       non-negative number of milliseconds, for any input.
//   Y5. A lease ends by the clock of its ledger. A clock that is set back meanwhile makes it look
//       far away, so a busy record waits no longer than any process of the pipeline takes a lease.

import { SQS_VISIBILITY_MS_MAX } from "../../core/limits.ts";
import { type DurationMs, durationMs, minutes, seconds } from "../../core/units.ts";
import type { ErrorClassifier } from "./error-class.ts";

export interface RetrySettings {
  /** Attempts before a record is dead-lettered. */
  readonly attempts: number;
  readonly baseMs: DurationMs;
  readonly capMs: DurationMs;
  /** Null: only the built-in table of error classes decides. */
  readonly classify: ErrorClassifier | null;
}

/** Margin below the limit of SQS, which starts before the response arrives. */
export const VISIBILITY_MARGIN_MS: DurationMs = minutes(1);
/** The longest delay that a queue can apply (Y3). */
export const DELAY_MS_MAX: DurationMs = durationMs(SQS_VISIBILITY_MS_MAX - VISIBILITY_MARGIN_MS);

/** Duplicates of a record in progress are redelivered within this time after its lease. */
export const BUSY_JITTER_MS: DurationMs = seconds(2);

export const POLL_BACKOFF_MS_MIN: DurationMs = seconds(0.2);
export const POLL_BACKOFF_MS_MAX: DurationMs = seconds(30);

/** 2^40 exceeds every cap; larger exponents would overflow to Infinity. */
const DOUBLINGS_MAX = 40;

/** The delay after failed attempt number `attempt`, which is 1 for the first (Y1). */
export function retryDelayMs(
  settings: Pick<RetrySettings, "baseMs" | "capMs">,
  attempt: number,
  fraction: number,
): DurationMs {
  const bound = doubled(settings.baseMs, attempt - 1, settings.capMs);
  return bounded(bound * fractionOf(fraction), DELAY_MS_MAX);
}

/**
 * The delay of a record that another worker has claimed, until that lease expires. If the lease is
 * renewed meanwhile, the record is delayed again. None of this counts as an attempt.
 */
export function busyDelayMs(remainingMs: number, fraction: number): DurationMs {
  const jitter = BUSY_JITTER_MS * fractionOf(fraction);
  return bounded(Math.ceil(Math.max(0, remainingMs) + jitter), DELAY_MS_MAX);
}

/** Beyond twice the timeout of a handler: what a backfill adds to it, and some more. */
const BATCH_MARGIN_MS: DurationMs = minutes(1);

/** The longest lease of a pipeline: that of a consumer, or of a batch (Y5). */
export function longestLeaseMs(pipeline: {
  readonly visibilityMs: DurationMs;
  readonly timeoutMs: DurationMs;
}): DurationMs {
  const { visibilityMs, timeoutMs } = pipeline;
  return durationMs(Math.max(visibilityMs, 2 * timeoutMs + BATCH_MARGIN_MS));
}

/**
 * The delay after `failures` failed polls in a row. Unlike the delays of records it has a minimum:
 * the only poller must not call an unreachable queue in a hot loop.
 */
export function pollBackoffMs(failures: number, fraction: number): DurationMs {
  const bound = doubled(POLL_BACKOFF_MS_MIN, failures, POLL_BACKOFF_MS_MAX);
  const span = bound - POLL_BACKOFF_MS_MIN;
  return bounded(POLL_BACKOFF_MS_MIN + span * fractionOf(fraction), POLL_BACKOFF_MS_MAX);
}

/** The part of `delayMs` that SQS still grants to a delivery received `heldMs` ago (Y3). */
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

/** A whole number from 0 to `max`; NaN becomes 0 (Y4). */
function bounded(value: number, max: number): DurationMs {
  const whole = Number.isNaN(value) ? 0 : Math.floor(Math.min(max, Math.max(0, value)));
  return durationMs(whole);
}
