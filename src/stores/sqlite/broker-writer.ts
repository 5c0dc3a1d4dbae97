// Broker writer: turns the changes of a commit into as few rows as will hold them.
//   W1. Changes take effect in their order; rows are written when a block is full, when something
//       must be read back, and at the end of the commit.
//   W2. Each change lands on exactly the messages it names; anything else is a broken invariant.

import { assert, present, unreachable } from "../../core/assert.ts";
import type { Change, DedupEntry, MessageContent, MessageHead } from "../../ports/broker-store.ts";
import type { BrokerStatements, ContentRow } from "./broker-statements.ts";
import { BlockBuilder, contentIn, headsIn } from "./message-block.ts";
import { ReceiptPage, ReceiptPages } from "./receipt-pages.ts";

type MoveMessage = Extract<Change, { kind: "move-message" }>;

interface DedupRun {
  readonly queue: number;
  readonly acceptedAt: number;
  readonly first: number;
  /** Flat: digest, message id, number; and so on. */
  readonly entries: (string | number)[];
}

export class BrokerWriter {
  readonly #sql: BrokerStatements;
  readonly #block = new BlockBuilder();
  readonly #pages = new ReceiptPages((number) => this.#loadPage(number));
  readonly #dedups = new Map<number, DedupRun>();
  /** The block read last: its neighbours are likely to be read next. */
  #lastRead: ContentRow | undefined;

  constructor(sql: BrokerStatements) {
    this.#sql = sql;
  }

  write(changes: readonly Change[]): void {
    this.#sql.begin();
    for (const change of changes) this.#apply(change);
    this.#flushBlock();
    this.#flushDedups();
    for (const page of this.#pages.takeDirty()) {
      this.#writePage(page);
    }
    this.#sql.commit();
  }

  /** Undefined if there is no such message; null if there is, but its content is missing. */
  read(seq: number): MessageContent | null | undefined {
    if (!this.#pageOf(seq).isAlive(seq)) return undefined;
    const known = this.#lastRead === undefined ? undefined : contentIn(this.#lastRead, seq);
    if (known !== undefined) return known;
    this.#lastRead = this.#sql.contentFor(seq);
    return (this.#lastRead === undefined ? undefined : contentIn(this.#lastRead, seq)) ?? null;
  }

  #apply(change: Change): void {
    switch (change.kind) {
      case "put-message":
        this.#put(change.head, change.content);
        return;
      case "update-receipt": {
        const page = this.#pageOf(change.seq);
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
        this.#sql.expireDedups(change.queue, change.before);
        return;
      case "put-document":
        this.#sql.putDocument(change.document);
        return;
      case "delete-document":
        this.#sql.deleteDocument(change.collection, change.key);
        return;
      case "set-sequence":
        this.#sql.setSequence(change.seq);
        return;
      default:
        unreachable(change);
    }
  }

  #put(head: MessageHead, content: MessageContent): void {
    if (!this.#block.takes(head.seq, content)) this.#flushBlock();
    this.#pages.put(head, this.#block.isEmpty);
    this.#block.add(head, content);
  }

  #move({ from, head, id, detail }: MoveMessage): void {
    this.#flushBlock();
    const old = present(this.read(from), `content of message ${from}`);
    this.#erase(from);
    this.#put(head, {
      id: id ?? old.id,
      body: old.body,
      detail: detail === undefined ? old.detail : detail,
    });
  }

  #erase(seq: number): void {
    const page = this.#pageOf(seq);
    page.erase(seq); // W2
    this.#pages.touch(page);
  }

  #writePage(page: ReceiptPage): void {
    this.#lastRead = undefined;
    if (page.alive === 0) {
      this.#sql.deletePage(page.number);
      return;
    }
    this.#sql.putReceipts(page);
    for (const first of page.takeEmptyBlocks()) this.#sql.deleteBlock(first);
  }

  #pageOf(seq: number): ReceiptPage {
    if (!this.#pages.has(seq)) this.#flushBlock(); // The page is made of what is in the tables.
    return this.#pages.of(seq);
  }

  #loadPage(number: number): ReceiptPage {
    const page = new ReceiptPage(number, this.#sql.receiptsOf(number));
    for (const block of this.#sql.headsOf(number)) {
      page.startBlock(block.first);
      for (const head of headsIn(block)) {
        if (!page.isGone(head.seq) && !page.isAlive(head.seq)) page.write(head.seq, head);
      }
    }
    return page;
  }

  #flushBlock(): void {
    if (!this.#block.isEmpty) this.#sql.insertBlock(this.#block.take());
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
      this.#sql.putDedups(queue, acceptedAt, first, JSON.stringify(entries));
    }
    this.#dedups.clear();
  }
}
