// Broker writer: turns the changes of a commit into as few writes as possible. Another thread runs
// the writes; this file only reads from disk what earlier commits wrote.
//   W1. Changes take effect in order, on pages and blocks in memory. The resulting writes are one
//       transaction.
//   W2. Each change applies to exactly the messages it names; anything else is a broken invariant.
//   W3. A page is in memory before any of its messages is written, and stays until the commit ends:
//       reading it from disk in between would miss changes in flight.
//   W4. Several commits may be in flight; they end in order. Reads see the changes of all of them:
//       contents not on disk yet come from the changes that contain them.

import { assert, present, unreachable } from "../../../core/assert.ts";
import type {
  Change,
  DedupEntry,
  MessageContent,
  MessageHead,
} from "../../../ports/broker/broker-change.ts";
import type { BrokerReads, Write } from "./broker-statements.ts";
import { ContentBlocks } from "./content-blocks.ts";
import { BlockBuilder, contentIn, headsIn, openContents } from "./message-block.ts";
import { ReceiptPage, ReceiptPages } from "./receipt-pages.ts";
import { RecentBlocks } from "./recent-blocks.ts";

type MoveMessage = Extract<Change, { kind: "move-message" }>;

interface DedupRun {
  readonly queue: number;
  readonly acceptedAt: number;
  readonly first: number;
  /** Flat: digest, message id, number, and so on. */
  readonly entries: (string | number)[];
}

/** A commit that is not known to be on disk yet. */
interface PendingCommit {
  readonly changes: readonly Change[];
  /** The lowest and the highest number of the messages it puts. */
  first: number;
  last: number;
  /** Its contents by number; collected at the first read (W4). */
  contents: Map<number, MessageContent> | null;
}

export class BrokerWriter {
  readonly #reads: () => BrokerReads;
  readonly #block = new BlockBuilder();
  readonly #pages = new ReceiptPages((number) => this.#loadPage(number));
  readonly #dedups = new Map<number, DedupRun>();
  /** Recently written: their messages are likely to be received soon. */
  readonly #recent = new RecentBlocks();
  /** Recently read: their neighbours are likely to be read next. */
  readonly #blocks = new ContentBlocks();
  /** Oldest first; the last one may still be encoded. */
  readonly #inFlight: PendingCommit[] = [];
  #writes: Write[] = [];

  /** `reads` is called only for pages and contents that are not in memory. */
  constructor(reads: () => BrokerReads) {
    this.#reads = reads;
  }

  /**
   * The writes of a commit. The caller must run them, or discard them together with this writer.
   * They share memory with the pages, so they must be run or copied before the next commit is
   * encoded. Posting them to a thread copies them.
   */
  encode(changes: readonly Change[]): Write[] {
    assert(this.#writes.length === 0, "the writes of the last commit were handed out"); // W1
    assert(this.#block.isEmpty && this.#dedups.size === 0, "no message waits for a commit"); // W1
    this.#pages.forget();
    this.#pages.beginCommit();
    this.#inFlight.push({ changes, first: Number.POSITIVE_INFINITY, last: 0, contents: null });
    for (const change of changes) this.#apply(change);
    this.#flushBlock();
    this.#flushDedups();
    for (const page of this.#pages.takeDirty()) this.#writePage(page);
    const writes = this.#writes;
    this.#writes = [];
    return writes;
  }

  /** The oldest commit in flight is on disk. */
  endCommit(): void {
    assert(this.#inFlight.length > 0, "only a commit in flight ends"); // W4
    this.#inFlight.shift(); // Bodies stay in memory only during their commit.
    this.#pages.endCommit();
  }

  /** Undefined if the message does not exist; null if it does, but its content is missing. */
  read(seq: number): MessageContent | null | undefined {
    this.#pages.forget(); // Reading a long queue must not keep all its pages in memory.
    return this.#read(seq);
  }

  #read(seq: number): MessageContent | null | undefined {
    if (!this.#pages.of(seq).isAlive(seq)) return undefined;
    const content = this.#recent.find(seq) ?? this.#pendingContent(seq) ?? this.#blocks.find(seq);
    if (content !== undefined) return content;
    const row = this.#reads().contentFor(seq);
    if (row === undefined) return null;
    const block = openContents(row);
    const stored = contentIn(block, seq);
    if (stored !== undefined) this.#blocks.add(block);
    return stored ?? null;
  }

  #apply(change: Change): void {
    switch (change.kind) {
      case "put-message":
        this.#put(change.head, change.content);
        return;
      case "update-receipt": {
        const page = this.#pages.of(change.seq);
        assert(page.isAlive(change.seq), `message ${change.seq} is missing`); // W2
        page.write(change.seq, change);
        this.#pages.touch(page);
        return;
      }
      case "move-message":
        this.#move(change);
        return;
      case "delete-message":
        this.#erase(change.seq);
        return;
      case "put-dedup":
        this.#remember(change.entry);
        return;
      case "expire-dedup":
        this.#flushDedups();
        this.#writes.push(["expireDedups", change.queue, change.before]);
        return;
      case "put-document": {
        const { collection, key, value } = change.document;
        this.#writes.push(["putDocument", collection, key, value]);
        return;
      }
      case "delete-document":
        this.#writes.push(["deleteDocument", change.collection, change.key]);
        return;
      case "set-sequence":
        this.#writes.push(["setSequence", change.seq]);
        return;
      case "put-object":
      case "delete-object":
      case "put-blob":
      case "delete-blob":
      case "put-upload":
      case "delete-upload":
      case "put-part":
        this.#writes.push(["changeObject", change]);
        return;
      default:
        unreachable(change);
    }
  }

  #put(head: MessageHead, content: MessageContent): void {
    if (!this.#block.takes(head.seq, content)) this.#flushBlock();
    this.#pages.put(head, this.#block.isEmpty); // W3
    this.#block.add(head, content);
    const commit = this.#current();
    commit.first = Math.min(commit.first, head.seq);
    commit.last = Math.max(commit.last, head.seq);
  }

  #move({ from, head, id, detail }: MoveMessage): void {
    const old = present(this.#read(from), `content of message ${from}`);
    this.#erase(from);
    const content = {
      id: id ?? old.id,
      body: old.body,
      detail: detail === undefined ? old.detail : detail,
    };
    contentsOf(this.#current()).set(head.seq, content);
    this.#put(head, content);
  }

  /** The commit that is being encoded. */
  #current(): PendingCommit {
    return present(this.#inFlight.at(-1), "the commit that is being encoded");
  }

  /** The content from a commit in flight, if one contains it (W4). */
  #pendingContent(seq: number): MessageContent | undefined {
    for (const commit of this.#inFlight) {
      if (seq < commit.first || seq > commit.last) continue;
      const content = contentsOf(commit).get(seq);
      if (content !== undefined) return content;
    }
    return undefined;
  }

  #erase(seq: number): void {
    const page = this.#pages.of(seq);
    page.erase(seq); // W2
    this.#pages.touch(page);
  }

  #writePage(page: ReceiptPage): void {
    if (page.alive === 0) {
      this.#recent.dropPage(page.number);
      this.#writes.push(["deletePage", page.number]);
      return;
    }
    this.#writes.push(["putReceipts", page.number, page.bytes]);
    for (const first of page.takeEmptyBlocks()) this.#writes.push(["deleteBlock", first]);
  }

  #loadPage(number: number): ReceiptPage {
    const reads = this.#reads();
    const page = new ReceiptPage(number, reads.receiptsOf(number));
    for (const block of reads.headsOf(number)) {
      page.startBlock(block.first);
      for (const head of headsIn(block)) {
        if (!page.isGone(head.seq) && !page.isAlive(head.seq)) page.write(head.seq, head);
      }
    }
    return page;
  }

  #flushBlock(): void {
    if (this.#block.isEmpty) return;
    const rows = this.#block.take();
    this.#writes.push(["insertBlock", rows]);
    this.#recent.add(rows);
  }

  #remember({ queue, acceptedAt, digest, messageId, seq }: DedupEntry): void {
    const run = this.#dedups.get(queue);
    if (run?.acceptedAt === acceptedAt) {
      run.entries.push(digest, messageId, seq);
      return;
    }
    if (run !== undefined) this.#flushDedups();
    const entries = [digest, messageId, seq];
    this.#dedups.set(queue, { queue, acceptedAt, first: seq, entries });
  }

  #flushDedups(): void {
    for (const { queue, acceptedAt, first, entries } of this.#dedups.values()) {
      this.#writes.push(["putDedups", queue, acceptedAt, first, JSON.stringify(entries)]);
    }
    this.#dedups.clear();
  }
}

/** By number; moved messages are added when they move. */
function contentsOf(commit: PendingCommit): Map<number, MessageContent> {
  if (commit.contents !== null) return commit.contents;
  const contents = new Map<number, MessageContent>();
  for (const change of commit.changes) {
    if (change.kind === "put-message") contents.set(change.head.seq, change.content);
  }
  commit.contents = contents;
  return contents;
}
