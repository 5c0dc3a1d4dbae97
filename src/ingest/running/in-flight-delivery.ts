// Hold: a delivery in hand, from its receipt to its settlement.
//   H1. `signal` aborts when the delivery is lost or the consumer stops; nothing that is done for
//       it afterwards may be committed.
//   H2. It is alive only while its lease may be relied on, judged at the moment of asking: a
//       process that was frozen finds out before it writes.
//   H3. The lease is reckoned from when the queue was asked, which may be a whole long poll before
//       the delivery came. What is told of it, in logs, metrics and the ledger, is when it came.

import type { TraceContext } from "../../core/events/trace-context.ts";
import type { EpochMs } from "../../core/units.ts";
import type { LeaseRenewer } from "../../ports/lease-renewer.ts";
import type { Delivery } from "../../ports/queue-receiver.ts";

/** Why a delivery in hand may not be worked on any longer. */
export class LeaseLost extends Error {
  override readonly name = "LeaseLost";
}

/** The consumer is to stop at once. */
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
  /** The earliest moment at which the queue may have hidden it (H3). */
  readonly leaseSince: EpochMs;
  readonly receivedAt: EpochMs;
  readonly signal: AbortSignal;
  /** Known once the body was read. */
  trace: DeliveryTrace;
  alive(): boolean;
  /** Ends all work for it; the first reason counts. */
  abort(reason: Error): void;
  /** No longer ours to renew. */
  drop(): void;
}

/** Waits for `work`, but not beyond the abort of `signal`: what ignores it keeps no slot. */
export function untilAborted<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const giveUp = () => reject(signal.reason);
    if (signal.aborted) return giveUp();
    signal.addEventListener("abort", giveUp, { once: true });
    const over = () => signal.removeEventListener("abort", giveUp);
    work().then(resolve, reject).finally(over);
  });
}

/** Takes a delivery in hand: it is renewed from here on, whether or not its work has begun. */
export function trackDelivery(
  renewer: LeaseRenewer,
  received: {
    readonly delivery: Delivery;
    readonly leaseSince: EpochMs;
    readonly receivedAt: EpochMs;
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
    trace: NO_TRACE,
    signal: abort.signal,
    alive: () => !abort.signal.aborted && renewer.alive(receipt), // H2
    abort: (reason) => abort.abort(reason),
    drop: () => renewer.release(receipt),
  };
}
