// Sink breaker: pauses receiving while the sink or the ledger is down (see policy/breaker.ts).

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
  /** 0 if receiving may continue; null until the batch in progress has a result. */
  pausedForMs(): DurationMs | null;
  /** A receive started. */
  onReceive(): void;
  /** A delivery was settled, or a receive returned no message. */
  onEnd(): void;
  onOutcome(outcome: RecordOutcome): void;
}

export function createSinkBreaker(
  ports: { readonly clock: Clock; readonly random: Random; readonly telemetry: Telemetry },
  queue: string,
): SinkBreaker {
  const { clock, random, telemetry } = ports;
  let state: BreakerState = CLOSED;

  function step(event: BreakerEvent): void {
    const previous = state.kind;
    state = stepBreaker(state, event, clock.now());
    if (state.kind === previous) return;
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
    onReceive: () => step({ kind: "received" }),
    onEnd: () => step({ kind: "ended" }),
    onOutcome(outcome) {
      if (outcome.kind === "done" && outcome.how === "committed") step({ kind: "succeeded" });
      else if (outcome.kind === "later") {
        step({ kind: "failed", blames: outcome.blames, fraction: random.fraction() });
      }
    },
  };
}
