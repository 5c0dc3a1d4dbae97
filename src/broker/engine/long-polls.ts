// Long polls: the callers of receives that wait for messages.
//   P1. A poll is answered once, by the code that takes it out of here.
//   P2. A poll listens to its signal until it is taken. The signal may live much longer than the
//       poll, so taking removes the listener.
//   P3. Without space for replies, long polls are only checked for their end, and not in every
//       turn.

import { type EpochMs, epochMs } from "../../core/units.ts";
import type { ReplySpace } from "../../ports/http/reply-space.ts";
import type { WaitingReceives } from "../model/sqs/waiting-receives.ts";
import type { PendingOperation } from "./pending-operation.ts";

/** The operations whose replies can be long: messages and listings. */
export const LONG_REPLIES: ReadonlySet<string> = new Set([
  "receive",
  "peek",
  "listObjects",
  "listObjectVersions",
  "listParts",
  "listUploads",
]);
/** How often long polls are checked without space for replies (P3). */
const NO_SPACE_CHECK_MS = 1_000;

/** When long polls must be looked at without a request, or null. */
export function nextPollAt(
  waiting: WaitingReceives,
  now: EpochMs,
  space: ReplySpace | undefined,
): EpochMs | null {
  const wake = waiting.nextWakeAt();
  if (wake === null || space?.isFull !== true) return wake;
  return epochMs(Math.max(wake, now + NO_SPACE_CHECK_MS)); // P3
}

interface LongPoll {
  readonly operation: PendingOperation;
  readonly onAbort: () => void;
}

export class LongPolls {
  readonly #polls = new Map<number, LongPoll>();

  get size(): number {
    return this.#polls.size;
  }

  get ids(): readonly number[] {
    return [...this.#polls.keys()];
  }

  /** `onAbort` is called once the caller no longer waits. */
  add(id: number, operation: PendingOperation, onAbort: () => void): void {
    this.#polls.set(id, { operation, onAbort });
    operation.signal?.addEventListener("abort", onAbort, { once: true });
  }

  /** Removes a poll; undefined if it was taken before (P1). */
  take(id: number): PendingOperation | undefined {
    const poll = this.#polls.get(id);
    if (poll === undefined) return undefined;
    this.#polls.delete(id);
    poll.operation.signal?.removeEventListener("abort", poll.onAbort); // P2
    return poll.operation;
  }

  /** Removes all polls. */
  takeAll(): PendingOperation[] {
    return this.ids.map((id) => this.take(id)).filter((operation) => operation !== undefined);
  }
}
