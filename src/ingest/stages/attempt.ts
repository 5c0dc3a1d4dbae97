// Attempt: runs user code until it finishes, its lease is lost or its deadline passes.
//   E1. When the lease is lost or the deadline passes, the signal aborts and the attempt ends. Code
//       that ignores the signal keeps no slot, and anything it does after that is ignored. It
//       counts as running until it ends (W1 of running-work.ts).

import { TidegateError } from "../../core/errors.ts";
import { type InFlightDelivery, untilAborted } from "../running/in-flight-delivery.ts";
import type { Pipeline } from "../spec/define-pipeline.ts";
import { recordNameOf } from "../telemetry/record-log-fields.ts";
import type { RecordMask } from "../telemetry/record-mask.ts";
import type { Deadlines } from "./deadlines.ts";
import type { WorkRecord } from "./decode.ts";

/** The attempt did not finish in time. */
export class DeadlinePassed extends Error {
  override readonly name = "DeadlinePassed";
  readonly code = "ABORT_ERR";
}

export interface Attempt {
  readonly signal: AbortSignal;
  /** Runs `work`, and stops waiting for it when the signal aborts (E1). */
  run(work: () => Promise<void>): Promise<void>;
  /** Ends the attempt and aborts its signal. Returns a copy that later calls cannot change. */
  close<T>(result: readonly T[]): readonly T[];
}

/** Shared, because creating an error per record would cost more than the record. */
const OVER = new Error("the attempt is over");

const NO_RECORD = () => null;

/** Begins an attempt, which fails with `tooLong` at its deadline; `record` names its record. */
export function beginAttempt(
  inFlight: InFlightDelivery,
  deadlines: Deadlines,
  tooLong: () => Error,
  record: () => string | null = NO_RECORD,
): Attempt {
  const own = new AbortController();
  const follow = () => own.abort(inFlight.signal.reason);
  if (inFlight.signal.aborted) follow();
  inFlight.signal.addEventListener("abort", follow, { once: true });
  const end = deadlines.begin(() => own.abort(tooLong()));
  return {
    signal: own.signal,
    run: (work) =>
      untilAborted(own.signal, () => {
        const { delivery, running } = inFlight;
        const result = work();
        running?.watch(result, delivery.messageId, record); // E1
        return result;
      }),
    close(result) {
      end();
      inFlight.signal.removeEventListener("abort", follow);
      const all = result.slice();
      own.abort(OVER);
      return all;
    },
  };
}

/** Begins the attempt of a handler. */
export function beginHandling(
  { deadlines, masked }: { readonly deadlines: Deadlines; readonly masked: RecordMask },
  { timeoutMs }: Pipeline,
  record: WorkRecord,
  inFlight: InFlightDelivery,
): Attempt {
  const tooLong = () => new DeadlinePassed(`the handler took longer than ${timeoutMs} ms`);
  return beginAttempt(inFlight, deadlines, tooLong, () => recordNameOf(record, masked));
}

/** Runs work until the lease is lost or its timeout passes. */
export type TimeLimit = (
  inFlight: InFlightDelivery,
  work: (signal: AbortSignal) => Promise<void>,
) => Promise<void>;

/** The time limit of a sink, which counts as down beyond it (R2 of prepare.ts). */
export function createSinkLimit(deadlines: Deadlines, timeoutMs: number): TimeLimit {
  const message = `the sink took longer than ${timeoutMs} ms`;
  const tooLong = () => new TidegateError("TG_SINK_UNAVAILABLE", message);
  return (inFlight, work) => {
    const attempt = beginAttempt(inFlight, deadlines, tooLong);
    return attempt.run(async () => work(attempt.signal)).finally(() => attempt.close([]));
  };
}
