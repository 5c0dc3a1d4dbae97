// In-flight delivery: a delivery from its receipt to its settlement.
//   H1. `signal` aborts when the lease is lost or the consumer stops; work done after that must not
//       be committed.
//   H2. `alive` checks the lease at the moment of the call, so a process that was frozen notices
//       before it writes.
//   H3. The lease starts when the receive call started, which may be a whole long poll before the
//       delivery arrived. Logs, metrics and the ledger have the time of arrival.

import type { TraceContext } from "../../core/events/trace-context.ts";
import type { EpochMs } from "../../core/units.ts";
import type { LeaseRenewer } from "../../ports/lease-renewer.ts";
import type { Delivery } from "../../ports/queue-receiver.ts";
import type { RunningWork } from "./running-work.ts";

/** Why work on a delivery in flight must stop. */
export class LeaseLost extends Error {
  override readonly name = "LeaseLost";
}

/** The consumer stops immediately. */
export class Stopping extends Error {
  override readonly name = "Stopping";
}

export interface DeliveryTrace {
  readonly context: TraceContext | null;
  readonly traceId: string | null;
}

const NO_TRACE: DeliveryTrace = { context: null, traceId: null };

export interface InFlightDelivery {
  readonly delivery: Delivery;
  /** The earliest time at which the queue may have hidden it (H3). */
  readonly leaseSince: EpochMs;
  readonly receivedAt: EpochMs;
  readonly signal: AbortSignal;
  /** The user's code that runs for it and for others; null: it is not watched. */
  readonly running: RunningWork | null;
  /** Set once the body is decoded. */
  trace: DeliveryTrace;
  /** The span of the receive that returned it; null without tracing. */
  readonly receive: TraceContext | null;
  /** The process span of its last record; null before it, or without tracing. */
  processed: TraceContext | null;
  alive(): boolean;
  /** Aborts all work on it; the first reason counts. */
  abort(reason: Error): void;
  /** Stops renewing it. */
  drop(): void;
}

/** Waits for `work` until `signal` aborts, so work that ignores the signal keeps no slot. */
export function untilAborted<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) return abort();
    signal.addEventListener("abort", abort, { once: true });
    const unsubscribe = () => signal.removeEventListener("abort", abort);
    work().then(resolve, reject).finally(unsubscribe);
  });
}

/** Starts renewing a delivery, whether or not its work has begun. */
export function trackDelivery(
  renewer: LeaseRenewer,
  received: {
    readonly delivery: Delivery;
    readonly leaseSince: EpochMs;
    readonly receivedAt: EpochMs;
    readonly receive?: TraceContext | null;
    readonly running?: RunningWork;
  },
): InFlightDelivery {
  const { delivery, leaseSince } = received;
  const { receipt } = delivery;
  const abort = new AbortController();
  renewer.track({ receipt, since: leaseSince }, (reason) => {
    abort.abort(new LeaseLost(reason)); // H1
  });
  return {
    ...received,
    receive: received.receive ?? null,
    running: received.running ?? null,
    processed: null,
    trace: NO_TRACE,
    signal: abort.signal,
    alive: () => !abort.signal.aborted && renewer.alive(receipt), // H2
    abort: (reason) => abort.abort(reason),
    drop: () => renewer.release(receipt),
  };
}
