// BrokerStore: the durable state of the embedded cloud.
//   S1. `commit` is atomic and durable: when it resolves, all its changes survive a power cut. When
//       it rejects, the outcome is unknown and the caller must `load` again before it continues.
//   S2. `read` sees every change of every commit that was started, on disk or not.
//   S3. One process at a time: opening a folder that is in use fails with TG_STORE_LOCKED.
//   S4. Overlapping commits run in the order in which they were started. If one rejects, all later
//       ones reject too.
//   S5. A commit that rejects with TG_STORE_FULL was not written. From then on `space.full` is true,
//       and the store has a reserve of disk space for commits that free more than they need. The
//       caller starts no others until `regain` resolves to true.

import type {
  Change,
  DedupEntry,
  MessageContent,
  MessageHead,
  StoredDocument,
} from "./broker-change.ts";
import type { ObjectReads } from "./object-change.ts";

/**
 * Everything a broker needs to continue where it stopped. Iterables are read once, in this order.
 */
export interface StoreSnapshot {
  readonly sequence: number;
  readonly documents: Iterable<StoredDocument>;
  /** Oldest acceptance first. */
  readonly dedups: Iterable<DedupEntry>;
  /** In order of `seq`. */
  readonly messages: Iterable<MessageHead>;
}

/** Disk space, for stores that can run out of it (S5). */
export interface StoreSpace {
  /** Whether the disk is full: only commits that free space may be started. */
  readonly full: boolean;
  /** Why the store waits for space although it works, or null. */
  readonly waitsFor?: unknown;
  /** Looks whether there is space again; resolves to whether the disk is no longer full. */
  regain(): Promise<boolean>;
}

export interface BrokerStore {
  load(): StoreSnapshot;
  /**
   * A second commit may start while one is in flight; a third must wait until the first has ended.
   */
  commit(changes: readonly Change[]): Promise<void>;
  /** The content of a message, or undefined if no message has that number. */
  read(seq: number): MessageContent | undefined;
  /**
   * Objects as of the resolved commits; wait for a commit before reading its changes. They stay on
   * disk: millions of objects cost no memory, and no time at the start.
   */
  readonly objects: ObjectReads;
  /** Undefined for a store without a disk. */
  readonly space?: StoreSpace | undefined;
  close(): Promise<void>;
}
