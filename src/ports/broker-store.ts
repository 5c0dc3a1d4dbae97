// BrokerStore: where the embedded cloud keeps what it has promised.
//   S1. `commit` is atomic and durable: when it resolves, all of its changes survive a power cut;
//       when it rejects, none may be assumed and the caller must `load` again before going on.
//   S2. `read` sees every change of every commit that was asked for, on disk or not.
//   S3. One process at a time: opening a folder that is in use fails with TG_STORE_LOCKED.
//   S4. Commits that overlap are done in the order in which they were asked for. When one rejects,
//       so do all that were asked for after it.

import type {
  Change,
  DedupEntry,
  MessageContent,
  MessageHead,
  StoredDocument,
} from "../core/broker-change.ts";
import type { ObjectReads } from "../core/object-change.ts";

/** Everything a broker needs to go on where it was. Iterables are read once, in this order. */
export interface StoreSnapshot {
  readonly sequence: number;
  readonly documents: Iterable<StoredDocument>;
  /** Oldest acceptance first. */
  readonly dedups: Iterable<DedupEntry>;
  /** In order of `seq`. */
  readonly messages: Iterable<MessageHead>;
}

export interface BrokerStore {
  load(): StoreSnapshot;
  /** Another may be asked for while one is under way; a third waits until the first is over. */
  commit(changes: readonly Change[]): Promise<void>;
  /** The content of a message, or undefined if there is none of that number. */
  read(seq: number): MessageContent | undefined;
  /**
   * Objects as resolved commits have left them: whoever commits changes of some waits for that
   * before looking. They stay where they are: millions of them cost no memory, and no time at the
   * start.
   */
  readonly objects: ObjectReads;
  close(): Promise<void>;
}
