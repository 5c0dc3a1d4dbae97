// Sink breaker: keeps the receiver from pulling while sink or ledger are down (policy/breaker.ts).

import { type DurationMs, durationMs } from "../../core/units.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Random } from "../../ports/random.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import {
  type BreakerEvent,
  type BreakerState,
  CLOSED,
  mayReceive,
  nextChangeAt,
  stepBreaker,
} from "../policy/breaker.ts";
import { CONSUMER_METRICS as METRICS } from "../telemetry/metrics.ts";
import type { RecordOutcome } from "./outcome.ts";

export interface SinkBreaker {
  kind(): BreakerState["kind"];
  /** 0 when receiving may go on, null when only news of the batch under way can tell. */
  pausedForMs(): DurationMs | null;
  /** A batch was asked for. */
  asked(): void;
  /** A delivery was settled, or a receive brought nothing. */
  ended(): void;
  heard(outcome: RecordOutcome): void;
}

export function createSinkBreaker(
  ports: { readonly clock: Clock; readonly random: Random; readonly telemetry: Telemetry },
  queue: string,
): SinkBreaker {
  const { clock, random, telemetry } = ports;
  let state: BreakerState = CLOSED;

  function step(event: BreakerEvent): void {
    const former = state.kind;
    state = stepBreaker(state, event, clock.now());
    if (state.kind === former) return;
    telemetry.gauge(METRICS.breakerOpen.name, state.kind === "closed" ? 0 : 1, { queue });
    const message =
      state.kind === "closed"
        ? "the sink is back; receiving continues"
        : "the sink is down; receiving is paused until it recovers";
    if (state.kind !== "half-open") telemetry.log("warn", message, { queue });
  }

  return {
    kind: () => state.kind,
    pausedForMs() {
      const now = clock.now();
      if (mayReceive(state, now)) return durationMs(0);
      const at = nextChangeAt(state);
      return at === null ? null : durationMs(Math.max(1, at - now));
    },
    asked: () => step({ kind: "received" }),
    ended: () => step({ kind: "ended" }),
    heard(outcome) {
      if (outcome.kind === "done" && outcome.how === "committed") step({ kind: "succeeded" });
      else if (outcome.kind === "later") {
        step({ kind: "failed", blames: outcome.blames, fraction: random.fraction() });
      }
    },
  };
}
