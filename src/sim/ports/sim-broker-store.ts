// Sim broker store: the broker's own store, which may fail a commit, or lose the answer to one.
//   D1. What was written and will never be answered for is written down here, where it happened
//       (Y1 of history.ts).
//   D2. So is every message that is erased because its time in the queue was over: nobody asked
//       for that, and no answer tells of it. One that is erased any sooner is not excused.
//   D3. A commit may take its time, and the next be asked for meanwhile. They end in their order,
//       save that one which is not written may say so at once, before those under way have ended.
//       After one that fails, nothing more is written until the store is read anew.

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

/** What the next commit of the broker's store is to do, if it is to fail. */
export interface StoreTrouble {
  next: "fails" | "is-lost" | null;
  /** The longest that a commit takes; none takes any time while it is 0. */
  commitMsMax: number;
}

export interface StoreWitness {
  readonly scheduler: Pick<Scheduler, "now" | "at">;
  readonly history: History;
  readonly names: SimPorts["names"];
  /** How long the work queue keeps a message. */
  readonly retentionMs: number;
}

interface Kept {
  readonly sentAt: number;
  readonly names: readonly string[];
}

/** A store whose next commit may fail, with or without having been written. */
export function createSimBrokerStore(
  inner: BrokerStore,
  trouble: StoreTrouble,
  witness: StoreWitness,
): BrokerStore {
  const kept = new Map<number, Kept>();
  // No world outlives the retention that queues have by themselves.
  const expires = witness.retentionMs < SQS_RETENTION_MS_DEFAULT;
  const take = commitTimes(trouble, witness.scheduler);
  let broken = false;
  let failures = 0;
  const failsAtOnce = () => {
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
      const how = broken ? "fails" : trouble.next; // D3
      if (!broken) trouble.next = null;
      if (how !== null) broken = true;
      const taken = take();
      if (how === "fails" && failsAtOnce()) throw diskIsGone();
      if (how !== "fails") {
        await inner.commit(changes);
        if (expires) for (const change of changes) follow(kept, change, witness);
      }
      if (how === "is-lost") for (const change of changes) tellLost(change, witness);
      await taken;
      if (how !== null) throw diskIsGone();
    },
  };
}

function diskIsGone(): TidegateError {
  return new TidegateError("TG_STORE_UNAVAILABLE", "the disk is gone");
}

const COMMIT_LABEL = hashText("broker commits");

/** Waits for as long as a commit takes; one is never done before those that began before it. */
function commitTimes(trouble: StoreTrouble, scheduler: StoreWitness["scheduler"]) {
  let commits = 0;
  let doneAt = 0;
  return (): Promise<void> | null => {
    if (trouble.commitMsMax === 0) return null;
    commits += 1;
    const spanMs = 1 + (mixWords(COMMIT_LABEL, commits) % trouble.commitMsMax);
    doneAt = Math.max(doneAt, scheduler.now + spanMs);
    return new Promise((resolve) => {
      scheduler.at(doneAt, COMMIT_LABEL, resolve);
    });
  };
}

/** Keeps account of what is in the store, and tells of what has expired (D2). */
function follow(kept: Map<number, Kept>, change: Change, witness: StoreWitness): void {
  const { scheduler, history, retentionMs } = witness;
  if (change.kind === "put-message") {
    const { seq, sentAt } = change.head;
    const { body, detail } = change.content;
    const { attributes } = parseDetail(detail);
    kept.set(seq, { sentAt, names: namesOfMessage({ body, attributes }, witness.names) });
  } else if (change.kind === "move-message") {
    const { seq, sentAt } = change.head;
    kept.set(seq, { sentAt, names: kept.get(change.from)?.names ?? [] });
    kept.delete(change.from);
  } else if (change.kind === "delete-message") {
    const gone = kept.get(change.seq);
    kept.delete(change.seq);
    if (gone === undefined || scheduler.now - gone.sentAt < retentionMs) return;
    history.add("broker", { kind: "expired", names: gone.names });
  }
}

/** A message that the store has and that no answer will ever tell of (D1). */
function tellLost(change: Change, { history, names }: StoreWitness): void {
  if (change.kind !== "put-message") return;
  const { id: messageId, body, detail } = change.content;
  const { dedupId, attributes } = parseDetail(detail);
  const letter = simDeadLetterOf((name) => attributes?.[name]?.value, names);
  if (letter !== null) {
    history.add("broker", { kind: "dead-letter", messageId, ...letter });
    return;
  }
  for (const name of names.ofBody(body)) {
    const { group } = change.head;
    history.add("broker", { kind: "sent", name, messageId, dedupId, group });
  }
}
