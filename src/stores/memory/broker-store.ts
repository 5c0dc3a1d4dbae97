// Memory broker store: the broker's store without a disk, for --memory and for tests.
//   M1. It satisfies the port (S1, S2) for as long as the process lives, and no longer.
//   M2. Heads and contents never change in place: values that load() returned stay the same.

import { assert, present, unreachable } from "../../core/assert.ts";
import { TidegateError } from "../../core/errors.ts";
import type {
  Change,
  DedupEntry,
  MessageContent,
  MessageHead,
  StoredDocument,
} from "../../ports/broker/broker-change.ts";
import type { BrokerStore, StoreSnapshot } from "../../ports/broker/broker-store.ts";
import { MemoryObjects } from "./object-table.ts";

interface StoredMessage {
  readonly head: MessageHead;
  readonly content: MessageContent;
}

interface RememberedIds {
  /** Entries before this index have expired. */
  first: number;
  readonly entries: DedupEntry[];
}

interface MemoryState {
  sequence: number;
  readonly messages: Map<number, StoredMessage>;
  /** By queue, so that expiring a queue's ids does not scan those of others. */
  readonly dedups: Map<number, RememberedIds>;
  readonly documents: Map<string, StoredDocument>;
  readonly objects: MemoryObjects;
}

export function createMemoryBrokerStore(): BrokerStore {
  const state: MemoryState = {
    sequence: 0,
    messages: new Map(),
    dedups: new Map(),
    documents: new Map(),
    objects: new MemoryObjects(),
  };
  let closed = false;
  const assertOpen = () => {
    if (closed) throw new TidegateError("TG_CLOSED", "the broker's memory store is closed");
  };
  return {
    load() {
      assertOpen();
      return snapshotOf(state);
    },
    async commit(changes) {
      assertOpen();
      for (const change of changes) apply(state, change);
    },
    read(seq) {
      assertOpen();
      return state.messages.get(seq)?.content;
    },
    objects: state.objects,
    async close() {
      closed = true;
    },
  };
}

function snapshotOf(state: MemoryState): StoreSnapshot {
  const documents = [...state.documents.values()].sort(
    (a, b) => compareText(a.collection, b.collection) || compareText(a.key, b.key),
  );
  const dedups = [...state.dedups.values()]
    .flatMap((ids) => ids.entries.slice(ids.first))
    .sort(compareDedups);
  const messages = [...state.messages.values()]
    .map((message) => message.head)
    .sort((a, b) => a.seq - b.seq);
  return { sequence: state.sequence, documents, dedups, messages };
}

function apply(state: MemoryState, change: Change): void {
  switch (change.kind) {
    case "put-message":
      insertMessage(state, { head: change.head, content: change.content });
      return;
    case "update-receipt": {
      const { head, content } = messageAt(state, change.seq);
      const { dueAt, receivedAt, firstReceivedAt, receiveCount } = change;
      const updated = { ...head, dueAt, receivedAt, firstReceivedAt, receiveCount }; // M2
      state.messages.set(change.seq, { head: updated, content });
      return;
    }
    case "move-message": {
      const { content } = messageAt(state, change.from);
      state.messages.delete(change.from);
      const detail = change.detail === undefined ? content.detail : change.detail;
      const moved = { id: change.id ?? content.id, body: content.body, detail }; // M2
      insertMessage(state, { head: change.head, content: moved });
      return;
    }
    case "delete-message":
      messageAt(state, change.seq);
      state.messages.delete(change.seq);
      return;
    case "put-dedup":
      putDedup(state, change.entry);
      return;
    case "expire-dedup":
      expireDedup(state, change.queue, change.before);
      return;
    case "put-document": {
      const { collection, key } = change.document;
      state.documents.set(documentKey(collection, key), change.document);
      return;
    }
    case "delete-document":
      state.documents.delete(documentKey(change.collection, change.key));
      return;
    case "set-sequence":
      state.sequence = change.seq;
      return;
    case "put-object":
    case "delete-object":
    case "put-blob":
    case "delete-blob":
    case "put-upload":
    case "delete-upload":
    case "put-part":
      state.objects.apply(change);
      return;
    default:
      unreachable(change);
  }
}

function insertMessage(state: MemoryState, message: StoredMessage): void {
  assert(!state.messages.has(message.head.seq), `message ${message.head.seq} exists already`);
  state.messages.set(message.head.seq, message);
}

function messageAt(state: MemoryState, seq: number): StoredMessage {
  return present(state.messages.get(seq), `message ${seq}`);
}

/** Keeps a queue's ids in order of acceptance; searches only if the clock was set back. */
function putDedup(state: MemoryState, entry: DedupEntry): void {
  const ids = state.dedups.get(entry.queue) ?? { first: 0, entries: [] };
  state.dedups.set(entry.queue, ids);
  let at = ids.entries.length;
  while (at > ids.first && compareDedups(ids.entries[at - 1]!, entry) > 0) at -= 1;
  const replaces = at > ids.first && compareDedups(ids.entries[at - 1]!, entry) === 0;
  if (replaces) ids.entries[at - 1] = entry;
  else if (at === ids.entries.length) ids.entries.push(entry);
  else ids.entries.splice(at, 0, entry);
}

function expireDedup(state: MemoryState, queue: number, before: number): void {
  const ids = state.dedups.get(queue);
  if (ids === undefined) return;
  while (ids.first < ids.entries.length && ids.entries[ids.first]!.acceptedAt < before) {
    ids.first += 1;
  }
  // Dropping the expired half at once keeps the cost per expired id constant.
  if (ids.first * 2 > ids.entries.length) {
    ids.entries.splice(0, ids.first);
    ids.first = 0;
  }
}

function compareDedups(a: DedupEntry, b: DedupEntry): number {
  return a.acceptedAt - b.acceptedAt || a.queue - b.queue || a.seq - b.seq;
}

function documentKey(collection: string, key: string): string {
  return `${collection}\u0000${key}`;
}

/** By code point, as SQLite's BINARY collation compares UTF-8. */
function compareText(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
