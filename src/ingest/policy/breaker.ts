// Breaker: the circuit breaker that stops receiving while the sink or the ledger is down. Messages
// then wait in the queue, which costs no attempt, and do not fail one after the other.
//
//   closed ──FAILURES_TO_OPEN in a row──> open ──pause is over──> half-open
//     ^                                    ^                        │
//     └───────────────success──────────────┼────────────────────────┤
//                                          └──────failure───────────┘
//
//   K1. Only failures that blame the sink or the ledger count, and only those of commits and ledger
//       calls do. A failed handler blames its record (F8 of fail.ts), which says nothing about the
//       sink: bad records neither open nor close the breaker.
//   K2. Half-open lets one batch through. The next one waits until that batch has a result.
//   K3. Each pause in a row is longer than the previous one, up to PAUSE_MS_MAX. Pauses have
//       jitter, so that many processes do not retry at the same time.
//   K4. A pause whose end is further away than any pause lasts is over: the clock was set back.

import { unreachable } from "../../core/assert.ts";
import { addMs, type DurationMs, durationMs, type EpochMs, seconds } from "../../core/units.ts";
import type { Blame } from "./error-table.ts";

export const FAILURES_TO_OPEN = 5;
export const PAUSE_MS_MIN: DurationMs = seconds(1);
export const PAUSE_MS_MAX: DurationMs = seconds(60);
const PAUSES_COUNTED_MAX = 16;

export type BreakerState =
  | { readonly kind: "closed"; readonly failures: number }
  /** `pauses` counts the pauses since the breaker was last closed, this one included. */
  | { readonly kind: "open"; readonly until: EpochMs; readonly pauses: number }
  | { readonly kind: "half-open"; readonly probing: boolean; readonly pauses: number };

export type BreakerEvent =
  /** A receive started. */
  | { readonly kind: "received" }
  /** A record was committed. */
  | { readonly kind: "succeeded" }
  | { readonly kind: "failed"; readonly blames: Blame; readonly fraction: number }
  /** A batch ended: it was empty, or all its deliveries are settled. */
  | { readonly kind: "ended" };

export const CLOSED: BreakerState = { kind: "closed", failures: 0 };

/** Whether a receive may start at `now`. */
export function mayReceive(state: BreakerState, now: EpochMs): boolean {
  switch (state.kind) {
    case "closed":
      return true;
    case "open":
      return now >= state.until || state.until > addMs(now, PAUSE_MS_MAX); // K4
    case "half-open":
      return !state.probing; // K2
    default:
      return unreachable(state);
  }
}

/** When the result of `mayReceive` changes by time alone; null if only an event changes it. */
export function nextChangeAt(state: BreakerState): EpochMs | null {
  return state.kind === "open" ? state.until : null;
}

export function stepBreaker(state: BreakerState, event: BreakerEvent, now: EpochMs): BreakerState {
  switch (event.kind) {
    case "received":
      if (state.kind === "closed" || !mayReceive(state, now)) return state;
      return { kind: "half-open", probing: true, pauses: state.pauses };
    case "succeeded":
      // While open, this is a late result from before the pause: the pause continues.
      return state.kind === "open" ? state : CLOSED;
    case "failed":
      return afterFailure(state, event, now);
    case "ended":
      return state.kind === "half-open" ? { ...state, probing: false } : state;
    default:
      return unreachable(event);
  }
}

function afterFailure(
  state: BreakerState,
  { blames, fraction }: { readonly blames: Blame; readonly fraction: number },
  now: EpochMs,
): BreakerState {
  if (blames !== "sink" && blames !== "ledger") return state; // K1
  if (state.kind === "open") return state;
  if (state.kind === "closed" && state.failures + 1 < FAILURES_TO_OPEN) {
    return { kind: "closed", failures: state.failures + 1 };
  }
  const pauses = state.kind === "closed" ? 1 : Math.min(state.pauses + 1, PAUSES_COUNTED_MAX);
  return { kind: "open", until: addMs(now, pauseMs(pauses, fraction)), pauses };
}

/** A duration between half of the bound and the bound, which doubles with each pause (K3). */
export function pauseMs(pauses: number, fraction: number): DurationMs {
  const bound = Math.min(PAUSE_MS_MAX, PAUSE_MS_MIN * 2 ** Math.min(pauses, PAUSES_COUNTED_MAX));
  return durationMs(Math.floor((bound / 2) * (1 + fraction)));
}
