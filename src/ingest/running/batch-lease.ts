// Batch lease: the lease of deliveries that the caller holds for a known time, such as those of a
// Lambda invocation. Nothing renews it, so nothing has to be asked.
//   F1. A delivery is held until the end of its batch, by both clocks (T1 of lease-term.ts). A
//       process that was frozen in between notices before it writes.
//   F2. A claim lasts at least until the end of all batches in progress, so that it needs no
//       renewal. After a crash it ends soon, and long before the queue redelivers the message.

import { type DurationMs, durationMs, epochMs, seconds } from "../../core/units.ts";
import type { Clock } from "../../ports/clock.ts";
import type { LeaseRenewer } from "../../ports/lease-renewer.ts";
import { hasCome, type Moment } from "../policy/lease-term.ts";

/** Beyond the end of a batch, for clocks that differ a little (F2). */
const CLAIM_MARGIN_MS: DurationMs = seconds(1);

export interface BatchLease {
  /** As the port of the stages. It renews nothing. */
  readonly renewer: LeaseRenewer;
  /** Begins a batch; `workMs` is how long its deliveries are held, `totalMs` how long it lasts. */
  begin(time: { readonly workMs: DurationMs; readonly totalMs: DurationMs }): HeldBatch;
  /** How long a claim made now has to last (F2). */
  claimMs(): DurationMs;
}

export interface HeldBatch {
  /** The deliveries that are tracked from now on belong to this batch. */
  hold(receipts: readonly string[]): void;
  end(): void;
}

export function createBatchLease(clock: Clock): BatchLease {
  const ends = new Map<string, Moment>();
  /** The ends of all batches in progress, on the steady clock. */
  const open = new Set<{ readonly endAt: number }>();
  const now = (): Moment => ({ wall: clock.now(), steady: clock.monotonic() });
  return {
    renewer: {
      track: () => undefined,
      attach: () => undefined,
      detach: () => undefined,
      release: (receipt) => void ends.delete(receipt),
      alive(receipt) {
        const end = ends.get(receipt);
        return end !== undefined && !hasCome(end, now()); // F1
      },
      close: async () => undefined,
    },
    begin({ workMs, totalMs }) {
      const from = now();
      const end = {
        wall: epochMs(from.wall + workMs),
        steady: durationMs(from.steady + workMs),
      };
      const entry = { endAt: from.steady + totalMs };
      open.add(entry);
      return {
        hold(receipts) {
          for (const receipt of receipts) ends.set(receipt, end);
        },
        end: () => void open.delete(entry),
      };
    },
    claimMs() {
      const endAt = Math.max(...[...open].map((each) => each.endAt), clock.monotonic());
      return durationMs(Math.ceil(endAt - clock.monotonic()) + CLAIM_MARGIN_MS);
    },
  };
}
