// Sim broker store: the broker's store, whose commit may fail, or succeed and lose its response.
//   D1. A write whose response is lost is added to the history here, where it happened (Y1 of
//       history.ts).
//   D2. So is every message that is deleted at the end of its retention period: no caller requested
//       that, and no response reports it. A message that is deleted earlier is not excused.
//   D3. A commit may take time, and the next one may be requested meanwhile. Commits finish in
//       order, except that one which is not written may fail before earlier ones have finished.
//       After a failure, nothing more is written until the store is loaded again.

import { parseDetail } from "../../broker/model/sqs/message-detail.ts";
import type { Change } from "../../core/broker-change.ts";
import { TidegateError } from "../../core/errors.ts";
import { SQS_RETENTION_MS_DEFAULT } from "../../core/limits.ts";
import type { BrokerStore } from "../../ports/broker-store.ts";
import { namesOfMessage, simDeadLetterOf } from "../dead-letter.ts";
import { hashText, mixWords } from "../faults/named-random.ts";
import type { History } from "../history.ts";
import type { Scheduler } from "../scheduler.ts";
import type { SimPorts } from "./sim-ports.ts";

/** How the next commit of the broker's store fails, if it does. */
export interface StoreFaults {
  next: "fail" | "lose-response" | null;
  /** Maximum duration of a commit; 0: commits take no time. */
  commitMsMax: number;
}

export interface StoreObserver {
  readonly scheduler: Pick<Scheduler, "now" | "at">;
  readonly history: History;
  readonly names: SimPorts["names"];
  /** Retention period of the work queue. */
  readonly retentionMs: number;
}

interface StoredMessage {
  readonly sentAt: number;
  readonly names: readonly string[];
}

/** A store whose next commit may fail, with or without having been written. */
export function createSimBrokerStore(
  inner: BrokerStore,
  faults: StoreFaults,
  observer: StoreObserver,
): BrokerStore {
  const stored = new Map<number, StoredMessage>();
  // No world lasts longer than the default retention period.
  const expires = observer.retentionMs < SQS_RETENTION_MS_DEFAULT;
  const nextCommit = commitTimes(faults, observer.scheduler);
  let broken = false;
  let failures = 0;
  const failsImmediately = () => {
    failures += 1;
    return failures % 2 === 0;
  };
  return {
    load() {
      broken = false;
      return inner.load();
    },
    read: (seq) => inner.read(seq),
    objects: inner.objects,
    close: () => inner.close(),
    async commit(changes) {
      const how = broken ? "fail" : faults.next; // D3
      if (!broken) faults.next = null;
      if (how !== null) broken = true;
      const finished = nextCommit();
      if (how === "fail" && failsImmediately()) throw storeError();
      if (how !== "fail") {
        await inner.commit(changes);
        if (expires) for (const change of changes) track(stored, change, observer);
      }
      if (how === "lose-response") for (const change of changes) recordLost(change, observer);
      await finished;
      if (how !== null) throw storeError();
    },
  };
}

function storeError(): TidegateError {
  return new TidegateError("TG_STORE_UNAVAILABLE", "simulated disk failure");
}

const COMMIT_LABEL = hashText("broker commits");

/** Waits for the duration of a commit; a commit never finishes before one that started earlier. */
function commitTimes(faults: StoreFaults, scheduler: StoreObserver["scheduler"]) {
  let commits = 0;
  let doneAt = 0;
  return (): Promise<void> | null => {
    if (faults.commitMsMax === 0) return null;
    commits += 1;
    const spanMs = 1 + (mixWords(COMMIT_LABEL, commits) % faults.commitMsMax);
    doneAt = Math.max(doneAt, scheduler.now + spanMs);
    return new Promise((resolve) => {
      scheduler.at(doneAt, COMMIT_LABEL, resolve);
    });
  };
}

/** Tracks which messages are in the store, and records those that expire (D2). */
function track(stored: Map<number, StoredMessage>, change: Change, observer: StoreObserver): void {
  const { scheduler, history, retentionMs } = observer;
  if (change.kind === "put-message") {
    const { seq, sentAt } = change.head;
    const { body, detail } = change.content;
    const { attributes } = parseDetail(detail);
    stored.set(seq, { sentAt, names: namesOfMessage({ body, attributes }, observer.names) });
  } else if (change.kind === "move-message") {
    const { seq, sentAt } = change.head;
    stored.set(seq, { sentAt, names: stored.get(change.from)?.names ?? [] });
    stored.delete(change.from);
  } else if (change.kind === "delete-message") {
    const message = stored.get(change.seq);
    stored.delete(change.seq);
    if (message === undefined || scheduler.now - message.sentAt < retentionMs) return;
    history.add("broker", { kind: "expired", names: message.names });
  }
}

/** Records a message that is in the store although its response is lost (D1). */
function recordLost(change: Change, { history, names }: StoreObserver): void {
  if (change.kind !== "put-message") return;
  const { id: messageId, body, detail } = change.content;
  const { dedupId, attributes } = parseDetail(detail);
  const deadLetter = simDeadLetterOf((name) => attributes?.[name]?.value, names);
  if (deadLetter !== null) {
    history.add("broker", { kind: "dead-letter", messageId, ...deadLetter });
    return;
  }
  for (const name of names.ofBody(body)) {
    const { group } = change.head;
    history.add("broker", { kind: "sent", name, messageId, dedupId, group });
  }
}
