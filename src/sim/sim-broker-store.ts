// Sim broker store: the broker's own store, which may fail a commit, or lose the answer to one.
//   D1. What was written and will never be answered for is written down here, where it happened
//       (Y1 of history.ts).
//   D2. So is every message that is erased because its time in the queue was over: nobody asked
//       for that, and no answer tells of it. One that is erased any sooner is not excused.

import { parseDetail } from "../broker/model/message-detail.ts";
import { TidegateError } from "../core/errors.ts";
import { SQS_RETENTION_MS_DEFAULT } from "../core/limits.ts";
import type { BrokerStore, Change } from "../ports/broker-store.ts";
import type { History } from "./history.ts";
import { letterOf, namesOfMessage } from "./letter.ts";
import type { SimPorts } from "./sim-ports.ts";

/** What the next commit of the broker's store is to do, if it is to fail. */
export interface StoreTrouble {
  next: "fails" | "is-lost" | null;
}

export interface StoreWitness {
  readonly scheduler: { readonly now: number };
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
  return {
    load: () => inner.load(),
    read: (seq) => inner.read(seq),
    objects: inner.objects,
    close: () => inner.close(),
    async commit(changes) {
      const how = trouble.next;
      trouble.next = null;
      if (how !== "fails") {
        await inner.commit(changes);
        if (expires) for (const change of changes) follow(kept, change, witness);
      }
      if (how === "is-lost") for (const change of changes) tellLost(change, witness);
      if (how !== null) throw new TidegateError("TG_STORE_UNAVAILABLE", "the disk is gone");
    },
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
  const letter = letterOf((name) => attributes?.[name]?.value, names);
  if (letter !== null) {
    history.add("broker", { kind: "dead-letter", messageId, ...letter });
    return;
  }
  for (const name of names.ofBody(body)) {
    const { group } = change.head;
    history.add("broker", { kind: "sent", name, messageId, dedupId, group });
  }
}
