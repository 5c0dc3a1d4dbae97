// Broker writer: turns the changes of a commit into as few writes as will hold them. What runs them
// is on another thread; nothing here touches the disk but for reading what was committed before.
//   W1. Changes take effect in their order, among pages and blocks in memory; the writes that come
//       of them are one transaction.
//   W2. Each change lands on exactly the messages it names; anything else is a broken invariant.
//   W3. A page is in memory before anything of it is written, and stays until the commit is over:
//       reading it from disk half-way would miss what is on its way there.

import { assert, present, unreachable } from "../../core/assert.ts";
import type { Change, DedupEntry, MessageContent, MessageHead } from "../../ports/broker-store.ts";
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
  /** Flat: digest, message id, number; and so on. */
  readonly entries: (string | number)[];
}

export class BrokerWriter {
  readonly #reads: () => BrokerReads;
  readonly #block = new BlockBuilder();
  readonly #pages = new ReceiptPages((number) => this.#loadPage(number));
  readonly #dedups = new Map<number, DedupRun>();
  /** Written lately: their messages are likely to be received soon. */
  readonly #recent = new RecentBlocks();
  /** Read lately: their neighbours are likely to be read next. */
  readonly #blocks = new ContentBlocks();
  #writes: Write[] = [];
  #changes: readonly Change[] = [];
  #fresh: Map<number, MessageContent> | null = null;

  /** `reads` is asked for only when something is not in memory. */
  constructor(reads: () => BrokerReads) {
    this.#reads = reads;
  }

  /** The writes of a commit. They must be done, or all be given up with this writer. */
  encode(changes: readonly Change[]): Write[] {
    this.#pages.forget(); // Whoever asks for a commit has seen the end of the last one.
    this.#changes = changes;
    for (const change of changes) this.#apply(change);
    this.#flushBlock();
    this.#flushDedups();
    for (const page of this.#pages.takeDirty()) this.#writePage(page);
    this.#changes = []; // Bodies are not kept beyond their commit.
    this.#fresh = null;
    const writes = this.#writes;
    this.#writes = [];
    return writes;
  }

  /** Undefined if there is no such message; null if there is, but its content is missing. */
  read(seq: number): MessageContent | null | undefined {
    this.#pages.forget(); // Looking at a long queue must not keep its pages.
    return this.#read(seq);
  }

  #read(seq: number): MessageContent | null | undefined {
    if (!this.#pages.of(seq).isAlive(seq)) return undefined;
    const known = this.#recent.find(seq) ?? this.#blocks.find(seq);
    if (known !== undefined) return known;
    const row = this.#reads().contentFor(seq);
    if (row === undefined) return null;
    const block = openContents(row);
    const content = contentIn(block, seq);
    if (content !== undefined) this.#blocks.add(block);
    return content ?? null;
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
  }

  #move({ from, head, id, detail }: MoveMessage): void {
    const fresh = this.#freshContents();
    const old = present(fresh.get(from) ?? this.#read(from), `content of message ${from}`);
    this.#erase(from);
    const content = {
      id: id ?? old.id,
      body: old.body,
      detail: detail === undefined ? old.detail : detail,
    };
    fresh.set(head.seq, content);
    this.#put(head, content);
  }

  /** What the running commit itself brings, by its number; gathered by the first move. */
  #freshContents(): Map<number, MessageContent> {
    if (this.#fresh !== null) return this.#fresh;
    this.#fresh = new Map();
    for (const change of this.#changes) {
      if (change.kind === "put-message") this.#fresh.set(change.head.seq, change.content);
    }
    return this.#fresh;
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
