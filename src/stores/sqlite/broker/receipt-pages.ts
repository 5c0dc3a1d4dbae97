// Receipt pages: the effects of receives and deletes on messages, 64 messages per row.
//   R1. The page of message n is n / 64, so finding it takes no search.
//   R2. A slot is unwritten (the block's head is current), alive (the slot is current), or gone.
//   R3. A page without living messages has no row, and no blocks. A block without living messages
//       has no rows, even while others of its page live.
//   R4. Pages in memory are a copy of the disk plus the commits in flight; after a failed commit
//       all of them are discarded.
//   R5. No page is evicted between a change and the end of its commit: until then the disk has an
//       old version, which would be trusted. Commits end in order, so the number of the last commit
//       that changed a page shows whether it may go.

import { assert } from "../../../core/assert.ts";
import type { EpochMs } from "../../../core/units.ts";
import type { MessageHead } from "../../../ports/broker/broker-change.ts";

export const PAGE_MESSAGES = 64;
const SLOT_NUMBERS = 4;
/** Stored instead of the receive count. */
const UNWRITTEN = -2;
const GONE = -1;
/** Pages in memory between commits, 2 KiB each. */
const PAGES_KEPT_MAX = 2_048;

export type Receipt = Pick<
  MessageHead,
  "dueAt" | "receivedAt" | "firstReceivedAt" | "receiveCount"
>;

export class ReceiptPage {
  readonly number: number;
  readonly #slots: Float64Array;
  /** Marks the slots at which a stored block starts. */
  readonly #starts = new Uint8Array(PAGE_MESSAGES);
  #alive = 0;
  /** The number of the commit that changed it last (R5). */
  changedIn = 0;

  constructor(number: number, slots?: Uint8Array) {
    this.number = number;
    if (slots === undefined) {
      this.#slots = new Float64Array(PAGE_MESSAGES * SLOT_NUMBERS).fill(UNWRITTEN);
      return;
    }
    this.#slots = new Float64Array(slots.slice().buffer);
    assert(this.#slots.length === PAGE_MESSAGES * SLOT_NUMBERS, "a page has its slots");
    for (let slot = 0; slot < PAGE_MESSAGES; slot += 1) {
      if ((this.#slots[slot * SLOT_NUMBERS] as number) >= 0) this.#alive += 1;
    }
  }

  get alive(): number {
    return this.#alive;
  }

  get bytes(): Uint8Array {
    return new Uint8Array(this.#slots.buffer);
  }

  isAlive(seq: number): boolean {
    return (this.#slots[slotOf(seq)] as number) >= 0;
  }

  /** A block starts with this message. */
  startBlock(seq: number): void {
    this.#starts[seq % PAGE_MESSAGES] = 1;
  }

  /** The first numbers of blocks without living messages, each returned once (R3). */
  takeEmptyBlocks(): number[] {
    const empty: number[] = [];
    let start = -1;
    let emptied = false;
    for (let slot = 0; slot <= PAGE_MESSAGES; slot += 1) {
      if (slot === PAGE_MESSAGES || this.#starts[slot] === 1) {
        if (start >= 0 && emptied) empty.push(start);
        start = slot;
        emptied = true;
      }
      if ((this.#slots[slot * SLOT_NUMBERS] as number) >= 0) emptied = false;
    }
    for (const slot of empty) this.#starts[slot] = 0;
    return empty.map((slot) => this.number * PAGE_MESSAGES + slot);
  }

  isGone(seq: number): boolean {
    return this.#slots[slotOf(seq)] === GONE;
  }

  /** Writes a slot; an unwritten one becomes alive (R2). */
  write(seq: number, receipt: Receipt): void {
    const slot = slotOf(seq);
    if (!this.isAlive(seq)) this.#alive += 1;
    this.#slots[slot] = receipt.receiveCount;
    this.#slots[slot + 1] = receipt.dueAt;
    this.#slots[slot + 2] = receipt.receivedAt;
    this.#slots[slot + 3] = receipt.firstReceivedAt;
  }

  /** The receipt in the slot; null while the block's head is current (R2). */
  read(seq: number): Receipt | null {
    if (!this.isAlive(seq)) return null;
    const slot = slotOf(seq);
    return {
      receiveCount: this.#slots[slot] as number,
      dueAt: this.#slots[slot + 1] as EpochMs,
      receivedAt: this.#slots[slot + 2] as EpochMs,
      firstReceivedAt: this.#slots[slot + 3] as EpochMs,
    };
  }

  /** The message is deleted permanently. */
  erase(seq: number): void {
    assert(this.isAlive(seq), `message ${seq} is missing`);
    this.#slots[slotOf(seq)] = GONE;
    this.#alive -= 1;
  }
}

export function pageOf(seq: number): number {
  return Math.floor(seq / PAGE_MESSAGES);
}

function slotOf(seq: number): number {
  return (seq % PAGE_MESSAGES) * SLOT_NUMBERS;
}

/** The pages in memory; `load` reads one from disk. */
export class ReceiptPages {
  readonly #pages = new Map<number, ReceiptPage>();
  readonly #dirty = new Set<ReceiptPage>();
  /** Returned without living messages: their rows are about to be deleted. */
  readonly #ended: ReceiptPage[] = [];
  readonly #load: (number: number) => ReceiptPage;
  /** The numbers of the commit being encoded and of the last one that ended (R5). */
  #running = 0;
  #over = 0;

  constructor(load: (number: number) => ReceiptPage) {
    this.#load = load;
  }

  /** Changes from here on belong to a new commit. */
  beginCommit(): void {
    this.#running += 1;
  }

  /** The oldest commit in flight is on disk. */
  endCommit(): void {
    this.#over += 1;
  }

  of(seq: number): ReceiptPage {
    const number = pageOf(seq);
    const cached = this.#pages.get(number);
    if (cached !== undefined) return cached;
    const page = this.#load(number);
    this.#pages.set(number, page);
    return page;
  }

  /** A message was put; its block's head is current until a receive changes it. */
  put(head: MessageHead, startsBlock: boolean): void {
    const number = pageOf(head.seq);
    if (head.seq % PAGE_MESSAGES === 0 && !this.#pages.has(number)) {
      // The first number of a page, and no later one came before: the page is not on disk.
      this.#pages.set(number, new ReceiptPage(number));
    }
    const page = this.of(head.seq);
    page.write(head.seq, head);
    page.changedIn = this.#running;
    if (startsBlock) page.startBlock(head.seq);
  }

  touch(page: ReceiptPage): void {
    page.changedIn = this.#running;
    this.#dirty.add(page);
  }

  /** Returns the pages whose rows change in the commit being encoded. */
  takeDirty(): ReceiptPage[] {
    const dirty = [...this.#dirty];
    this.#dirty.clear();
    for (const page of dirty) if (page.alive === 0) this.#ended.push(page);
    return dirty;
  }

  /** Evicts ended and surplus pages, except those of commits in flight (R5). */
  forget(): void {
    assert(this.#dirty.size === 0, "no changed page is evicted");
    this.#forgetEnded();
    if (this.#pages.size <= PAGES_KEPT_MAX) return;
    for (const page of this.#pages.values()) {
      if (this.#pages.size <= PAGES_KEPT_MAX) break;
      if (page.changedIn <= this.#over) this.#pages.delete(page.number);
    }
  }

  #forgetEnded(): void {
    if (this.#ended.length === 0) return;
    const ended = this.#ended.splice(0);
    for (const page of ended) {
      if (page.changedIn > this.#over) this.#ended.push(page);
      else if (this.#pages.get(page.number) === page) this.#pages.delete(page.number);
    }
  }
}
