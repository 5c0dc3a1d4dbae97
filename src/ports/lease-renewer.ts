// LeaseRenewer: extends the visibility of deliveries, and their claims, while they are being
// processed. It may run on its own thread, so that a handler that blocks the event loop loses
// nothing.
//   K1. From `track` until `release`, it renews the delivery every third of its visibility timeout,
//       in batches.
//   K2. A lease is lost if a renewal is rejected, if four fifths of it have passed without a
//       confirmed renewal, or if the delivery nears the twelve hours after which SQS always takes
//       it back. `onLost` is called once, and no renewal follows.
//   K3. `release` never fails and may be called late or twice.
//   K4. A renewer that can no longer renew resolves `ended`. A consumer must then stop receiving:
//       it would lose each delivery as soon as it is received.

import type { EpochMs } from "../core/units.ts";
import type { Fence, RecordKey } from "./record.ts";

export interface HeldLease {
  readonly receipt: string;
  /** When the receive call started: the lease starts no later than that. */
  readonly since: EpochMs;
}

/** A claim in the ledger that lives as long as its delivery. */
export interface HeldClaim {
  readonly key: RecordKey;
  readonly fence: Fence;
}

export interface LeaseRenewer {
  /**
   * Resolves with the reason if it ends before it is closed (K4); absent if it cannot end early.
   */
  readonly ended?: Promise<string>;
  track(lease: HeldLease, onLost: (reason: string) => void): void;
  /**
   * Renews this claim together with the delivery from now on. `since` is when the claim was
   * requested: its lease starts no later than that, however long the ledger took to answer.
   */
  attach(receipt: string, claim: HeldClaim, since: EpochMs): void;
  /** Call before the claim is committed or released: a later renewal would be rejected. */
  detach(receipt: string, claim: HeldClaim): void;
  release(receipt: string): void;
  /** Whether the lease is still valid by the current time. */
  alive(receipt: string): boolean;
  close(): Promise<void>;
}
