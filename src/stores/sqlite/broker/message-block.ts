// Message blocks: the messages of one commit, written as two rows instead of hundreds. SQLite costs
// per row, and a busy broker puts dozens of messages into every commit.
//   B1. A block has messages of one receipt page with consecutive numbers, and at most
//       BLOCK_TEXT_MAX of text, unless it is a single message.
//   B2. Heads and contents are rows of different tables: a start reads heads, and no body.
//   B3. A block never changes. Receives change receipt pages; when all messages of a page are
//       deleted, its blocks are deleted too.
//   B4. The text of a block of one message is a concatenation, which V8 stores as references until
//       it is read or sent to the thread. Copies of a published message share their bodies so.

import { assert } from "../../../core/assert.ts";
import type { EpochMs } from "../../../core/units.ts";
import type { MessageContent, MessageHead } from "../../../ports/broker/broker-change.ts";
import { PAGE_MESSAGES } from "./receipt-pages.ts";

/** UTF-16 units. */
const BLOCK_TEXT_MAX = 128 * 1_024;
const HEAD_NUMBERS = 7;
const LENGTHS = 3;

/** The rows of one block. */
export interface BlockRows {
  readonly first: number;
  readonly count: number;
  /** HEAD_NUMBERS floats per message. */
  readonly heads: Uint8Array;
  /** JSON of the groups, or null if no message has one. */
  readonly groups: string | null;
  /** LENGTHS 32-bit numbers per message: id, body, and detail plus one (0: none). */
  readonly lengths: Uint8Array;
  /** Ids, bodies and details, concatenated. */
  readonly text: string;
}

/** Collects messages until they no longer fit into one block. */
export class BlockBuilder {
  #first = 0;
  #count = 0;
  #units = 0;
  #grouped = false;
  readonly #heads = new Float64Array(PAGE_MESSAGES * HEAD_NUMBERS);
  readonly #lengths = new Uint32Array(PAGE_MESSAGES * LENGTHS);
  #groups: (string | null)[] = [];
  #texts: string[] = [];

  get isEmpty(): boolean {
    return this.#count === 0;
  }

  /** Whether a message still fits into the block (B1). */
  takes(seq: number, content: MessageContent): boolean {
    if (this.#count === 0) return true;
    const fits = this.#units + unitsOf(content) <= BLOCK_TEXT_MAX;
    return fits && seq === this.#first + this.#count && seq % PAGE_MESSAGES !== 0;
  }

  add(head: MessageHead, content: MessageContent): void {
    assert(this.takes(head.seq, content), "a message joins the block that takes it");
    if (this.#count === 0) this.#first = head.seq;
    let at = this.#count * HEAD_NUMBERS;
    this.#heads[at++] = head.queue;
    this.#heads[at++] = head.sentAt;
    this.#heads[at++] = head.arrivalCount;
    this.#heads[at++] = head.dueAt;
    this.#heads[at++] = head.receivedAt;
    this.#heads[at++] = head.firstReceivedAt;
    this.#heads[at] = head.receiveCount;
    const { id, body, detail } = content;
    const length = this.#count * LENGTHS;
    this.#lengths[length] = id.length;
    this.#lengths[length + 1] = body.length;
    this.#lengths[length + 2] = detail === null ? 0 : detail.length + 1;
    if (head.group !== null) this.#grouped = true;
    this.#groups.push(head.group);
    this.#texts.push(id, body);
    if (detail !== null) this.#texts.push(detail);
    this.#units += unitsOf(content);
    this.#count += 1;
  }

  /** The rows of the collected messages; empties the builder. */
  take(): BlockRows {
    const count = this.#count;
    const rows = {
      first: this.#first,
      count,
      heads: bytesOf(this.#heads.slice(0, count * HEAD_NUMBERS)),
      groups: this.#grouped ? JSON.stringify(this.#groups) : null,
      lengths: bytesOf(this.#lengths.slice(0, count * LENGTHS)),
      text: count === 1 ? concat(this.#texts) : this.#texts.join(""),
    };
    this.#count = 0;
    this.#units = 0;
    this.#grouped = false;
    this.#groups = [];
    this.#texts = [];
    return rows;
  }
}

/** The heads of a block as they were written. */
export function* headsIn(
  rows: Pick<BlockRows, "first" | "count" | "heads" | "groups">,
): Generator<MessageHead> {
  const numbers = new Float64Array(aligned(rows.heads));
  assert(numbers.length === rows.count * HEAD_NUMBERS, "a block has a head for each message");
  const groups = rows.groups === null ? null : (JSON.parse(rows.groups) as (string | null)[]);
  for (let index = 0; index < rows.count; index += 1) {
    const at = index * HEAD_NUMBERS;
    yield {
      seq: rows.first + index,
      queue: numbers[at] as number,
      sentAt: numbers[at + 1] as EpochMs,
      arrivalCount: numbers[at + 2] as number,
      dueAt: numbers[at + 3] as EpochMs,
      receivedAt: numbers[at + 4] as EpochMs,
      firstReceivedAt: numbers[at + 5] as EpochMs,
      receiveCount: numbers[at + 6] as number,
      group: groups?.[index] ?? null,
    };
  }
}

/** The contents of a block, ready for reads of single messages. */
export interface BlockContents {
  readonly first: number;
  readonly text: string;
  /** LENGTHS numbers per message, as written. */
  readonly lengths: Uint32Array;
  /** Where the text of each message starts. */
  readonly starts: Uint32Array;
}

export function openContents(rows: Pick<BlockRows, "first" | "lengths" | "text">): BlockContents {
  const lengths = new Uint32Array(aligned(rows.lengths));
  const starts = new Uint32Array(lengths.length / LENGTHS);
  let start = 0;
  for (let index = 0; index < starts.length; index += 1) {
    starts[index] = start;
    const detail = lengths[index * LENGTHS + 2] as number;
    start += (lengths[index * LENGTHS] as number) + (lengths[index * LENGTHS + 1] as number);
    start += detail === 0 ? 0 : detail - 1;
  }
  return { first: rows.first, text: rows.text, lengths, starts };
}

/** The content of one message of a block, or undefined if the block does not contain it. */
export function contentIn(
  { first, text, lengths, starts }: BlockContents,
  seq: number,
): MessageContent | undefined {
  const index = seq - first;
  const start = starts[index];
  if (start === undefined) return undefined;
  const bodyStart = start + (lengths[index * LENGTHS] as number);
  const detailStart = bodyStart + (lengths[index * LENGTHS + 1] as number);
  const detail = lengths[index * LENGTHS + 2] as number;
  return {
    id: text.slice(start, bodyStart),
    body: text.slice(bodyStart, detailStart),
    detail: detail === 0 ? null : text.slice(detailStart, detailStart + detail - 1),
  };
}

function unitsOf({ id, body, detail }: MessageContent): number {
  return id.length + body.length + (detail?.length ?? 0);
}

/** Not joined: the text of a single long message still shares its parts (B4). */
function concat(texts: readonly string[]): string {
  let text = "";
  for (const each of texts) text += each;
  return text;
}

function bytesOf(array: Float64Array | Uint32Array): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}

/** A copy of the bytes, aligned so that numbers can be read from it. */
function aligned(bytes: Uint8Array): ArrayBuffer {
  return bytes.slice().buffer as ArrayBuffer;
}
