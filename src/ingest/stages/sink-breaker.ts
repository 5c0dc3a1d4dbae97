// Sink breaker: pauses receiving while the sink or the ledger is down (see policy/breaker.ts).
//   B1. The log says what failed and how: the last failure before each pause.

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
import type { Blame } from "../policy/error-table.ts";
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
  let down: Downtime = { blames: "sink", errorClass: "unavailable", reason: "" };

  function step(event: BreakerEvent): void {
    const previous = state.kind;
    const now = clock.now();
    state = stepBreaker(state, event, now);
    if (state.kind === previous) return;
    telemetry.gauge(METRICS.breakerOpen.name, state.kind === "closed" ? 0 : 1, { queue });
    if (state.kind === "closed") {
      telemetry.log("warn", `the ${down.blames} answers again; receiving continues`, { queue });
    } else if (state.kind === "open") {
      const { blames, errorClass: error_class, reason } = down;
      const pause_ms = state.until - now;
      telemetry.log("warn", messageOf(down), { queue, blames, error_class, reason, pause_ms }); // B1
    }
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
        const { blames, errorClass = "unavailable", reason = "" } = outcome;
        if (isDependency(blames)) down = { blames, errorClass, reason };
        step({ kind: "failed", blames, fraction: random.fraction() });
      }
    },
  };
}

/** The last failure that counts. */
interface Downtime {
  readonly blames: "sink" | "ledger";
  readonly errorClass: string;
  readonly reason: string;
}

function isDependency(blames: Blame): blames is Downtime["blames"] {
  return blames === "sink" || blames === "ledger";
}

function messageOf({ blames, errorClass, reason }: Downtime): string {
  const last = reason === "" ? errorClass : `${errorClass}: ${reason}`;
  return `the ${blames} is down, receiving is paused; its last failure was ${last}`;
}
