// Outbox: what was promised to be sent, and what was sent. The law of its rows is
// core/outbox-step.ts; every store follows it.
//   O1. What a call has answered is durable, each row wholly or not at all.
//   O2. A row is named by target and key. Results come in the order of the entries.
//   O3. A call that fails with TG_OUTBOX_UNAVAILABLE may or may not have been written; asking again
//       is safe.

import type { OutboxStats } from "../core/outbox-stats.ts";
import type {
  OutboxEntry,
  OutboxLease,
  OutboxRow,
  RefusedMark,
  RegisterResult,
  RepublishResult,
  SentMark,
} from "../core/outbox-step.ts";
import type { EpochMs } from "../core/units.ts";

export type { OutboxStats } from "../core/outbox-stats.ts";
export type {
  OutboxEntry,
  OutboxLease,
  OutboxRow,
  RefusedMark,
  RegisterResult,
  RepublishResult,
  SentMark,
} from "../core/outbox-step.ts";

export interface Outbox {
  /** Writes down what is to be sent, before it is; a row that is answered "taken" is the lease's. */
  register(
    target: string,
    entries: readonly OutboxEntry[],
    lease: OutboxLease,
  ): Promise<RegisterResult[]>;
  /** Leases pending rows that nobody else is sending, oldest first, never past a group's older. */
  take(target: string, limit: number, lease: OutboxLease): Promise<OutboxRow[]>;
  markSent(target: string, marks: readonly SentMark[]): Promise<void>;
  /** Says of pending rows that the queue will never take them. */
  markRefused(target: string, marks: readonly RefusedMark[]): Promise<void>;
  /** Makes a sent row pending again, if its epoch is still `epoch`; the next epoch is the caller's. */
  republish(
    target: string,
    key: string,
    epoch: number,
    lease: OutboxLease,
  ): Promise<RepublishResult>;
  /** Sent rows that nobody has settled yet, in the order they were registered in. */
  unsettled(
    target: string,
    page: { readonly sentBefore: EpochMs; readonly afterSeq: number; readonly limit: number },
  ): Promise<OutboxRow[]>;
  /** Says of sent rows that their work is done, so that no sweep looks at them again. */
  settle(target: string, keys: readonly string[]): Promise<void>;
  find(target: string, key: string): Promise<OutboxRow | undefined>;
  stats(target: string): Promise<OutboxStats>;
  /** Deletes up to `limit` expired rows and tells how many; correctness never waits for it. */
  purge(limit: number): Promise<number>;
  close(): Promise<void>;
}
