// LeaseKeeper: keeps deliveries hidden, and claims alive, for as long as they are worked on. It may
// live on a thread of its own, so that a handler that keeps the event loop busy loses nothing.
//   K1. From `hold` until `drop`, the delivery is renewed every third of its visibility, in
//       batches.
//   K2. A lease is lost when a renewal is refused, when four fifths of it have passed without a
//       renewal that was answered, or when the delivery nears the twelve hours after which SQS
//       takes it back whatever one says. `onLost` is called once, and no renewal follows.
//   K3. `drop` never fails and may come late or twice.
//   K4. A keeper that can keep nothing any more says so by `ended`. Whoever goes on receiving with
//       it would only wear out what it receives: each delivery is lost the moment it is taken.

import type { EpochMs } from "../core/units.ts";
import type { Fence, RecordKey } from "./record.ts";

export interface HeldLease {
  readonly receipt: string;
  /** When the receive that brought it was asked for: the lease counts from no later than that. */
  readonly since: EpochMs;
}

/** A claim in the ledger that is to live as long as the delivery it came with. */
export interface HeldClaim {
  readonly key: RecordKey;
  readonly fence: Fence;
}

export interface LeaseRenewer {
  /** Resolves with the reason if it ends before it is closed (K4); absent where it cannot. */
  readonly ended?: Promise<string>;
  track(lease: HeldLease, onLost: (reason: string) => void): void;
  /**
   * Renews this claim together with the delivery from now on. It was asked for at `since`: the
   * claim counts from no later than that, however long the ledger took to answer.
   */
  attach(receipt: string, claim: HeldClaim, since: EpochMs): void;
  /** Before the claim is committed or given back: a renewal that came after it would be refused. */
  detach(receipt: string, claim: HeldClaim): void;
  release(receipt: string): void;
  /** Whether the lease may still be relied on now, judged anew by the clock. */
  alive(receipt: string): boolean;
  close(): Promise<void>;
}
