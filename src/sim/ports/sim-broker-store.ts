// Sim broker store: the broker's store, whose commit may fail, or succeed and lose its response.
//   D1. A write whose response is lost is added to the history here, where it happened (Y1 of
//       history.ts).
//   D2. So is every message that is erased after its retention period: no caller requested that,
//       and no response reports it. The period is measured by the world's clock, not the broker's:
//       a message that is erased earlier is not excused.
//   D3. A commit may take time, and the next one may be requested meanwhile. Commits finish in
//       order, except that one which is not written may fail before earlier ones have finished.
//       After a failure, nothing more is written until the store is loaded again.
//   D4. A commit may be written and fail to sync (sim-disk.ts). Nothing behind it is acknowledged
//       before load() has renewed the file, which may fail (renew-file.ts). The commit is then
//       durable, and added to the history.
//   D5. A power cut hits a commit: that one and all that are in flight fail and are lost.

import { parseDetail } from "../../broker/model/sqs/message-detail.ts";
import { TidegateError } from "../../core/errors.ts";
import { SQS_RETENTION_MS_DEFAULT } from "../../core/limits.ts";
import type { Change } from "../../ports/broker/broker-change.ts";
import type { BrokerStore } from "../../ports/broker/broker-store.ts";
import { namesOfMessage, simDeadLetterOf } from "../dead-letter.ts";
import { hashText, mixWords } from "../faults/named-random.ts";
import type { History } from "../history.ts";
import type { Scheduler } from "../scheduler.ts";
import { type RenewalFault, renewSimFile } from "./renew-file.ts";
import { SimDisk, type WrittenCommit } from "./sim-disk.ts";
import type { SimPorts } from "./sim-ports.ts";

/** How the next commit of the broker's store fails, if it does. */
export interface StoreFaults {
  next: "fail" | "lose-response" | "fail-sync" | "power-cut" | null;
  /** How the next renewal of a file in doubt fails, if it does. */
  renewal: RenewalFault | null;
  /** Whether a rename that is not synced survives a power cut. */
  keepsName: boolean;
  /** Maximum duration of a commit; 0: commits take no time. */
  commitMsMax: number;
}

export const NO_STORE_FAULTS: StoreFaults = {
  next: null,
  renewal: null,
  keepsName: false,
  commitMsMax: 0,
};

export interface StoreObserver {
  readonly scheduler: Pick<Scheduler, "now" | "at">;
  readonly history: History;
  readonly names: SimPorts["names"];
  /** Retention period of the work queue. */
  readonly retentionMs: number;
}

interface StoredMessage {
  /** By the broker's clock, which may be wrong. */
  readonly sentAt: number;
  /** The same instant by the world's clock. */
  readonly acceptedAt: number;
  readonly names: readonly string[];
}

/** A store whose next commit may fail, with or without having been written. */
export function createSimBrokerStore(
  create: () => BrokerStore,
  faults: StoreFaults,
  observer: StoreObserver,
): BrokerStore {
  const disk = new SimDisk(create);
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
  /** The commit is durable. */
  const note = ({ changes, at }: WrittenCommit) => {
    if (expires) for (const change of changes) track(stored, change, at, observer);
  };
  return {
    load() {
      const fault = disk.file.isInDoubt ? faults.renewal : null;
      if (fault !== null) faults.renewal = null;
      if (!renewSimFile(disk, fault)) throw storeError();
      broken = false;
      for (const commit of disk.unanswered) {
        commit.state = "synced";
        note(commit); // D4
        for (const change of commit.changes) recordLost(change, observer);
      }
      return disk.visible.load();
    },
    read: (seq) => disk.visible.read(seq),
    get objects() {
      return disk.visible.objects;
    },
    close: () => disk.visible.close(),
    async commit(changes) {
      const how = broken ? "fail" : faults.next; // D3
      if (!broken) faults.next = null;
      if (how !== null) broken = true;
      const finished = nextCommit();
      if (how === "power-cut") disk.cutPower(faults); // D5
      if (how === "power-cut" || (how === "fail" && failsImmediately())) throw storeError();
      const commit = how === "fail" ? null : await disk.write([...changes], observer.scheduler.now);
      if (how === "lose-response") for (const change of changes) recordLost(change, observer);
      if (commit !== null && how === "fail-sync") disk.failSync(disk.file);
      else if (commit !== null && finished === null) disk.sync(disk.file, commit);
      await finished;
      if (commit?.state === "lost") throw storeError(); // D5
      if (commit !== null && how !== "fail-sync") {
        disk.sync(disk.file, commit);
        commit.state = "synced";
        note(commit);
      }
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
function track(
  stored: Map<number, StoredMessage>,
  change: Change,
  at: number,
  observer: StoreObserver,
): void {
  const { history, retentionMs } = observer;
  if (change.kind === "put-message") {
    const { seq, sentAt } = change.head;
    const { body, detail } = change.content;
    const { attributes } = parseDetail(detail);
    const messageNames = namesOfMessage({ body, attributes }, observer.names);
    stored.set(seq, { sentAt, acceptedAt: at, names: messageNames });
  } else if (change.kind === "move-message") {
    const { seq, sentAt } = change.head;
    const previous = stored.get(change.from);
    const acceptedAt = previous?.sentAt === sentAt ? previous.acceptedAt : at;
    stored.set(seq, { sentAt, acceptedAt, names: previous?.names ?? [] });
    stored.delete(change.from);
  } else if (change.kind === "delete-message") {
    const message = stored.get(change.seq);
    stored.delete(change.seq);
    if (message === undefined) return;
    const endedAt = message.acceptedAt + retentionMs;
    if (at >= endedAt) history.add("broker", { kind: "expired", names: message.names, endedAt });
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
