// Row checks: a 32-bit check beside every row, so that a flipped bit inside a value is found when
// the row is read, not believed. Structure is SQLite's to verify; values are ours.
//   K1. A check covers every column of its row that a broker acts on.
//   K2. A check never changes meaning within one schema version.

import { crc32 } from "node:zlib";
import type { DedupEntry, MessageContent, MessageHead } from "../../ports/broker-store.ts";

export type Receipt = Pick<
  MessageHead,
  "dueAt" | "receivedAt" | "firstReceivedAt" | "receiveCount"
>;

const SEED = 0x811c9dc5;
const PRIME = 0x01000193;
const WORD = 0x1_0000_0000;

/** Bodies go through the native CRC; all else is short enough to be mixed in place. */
export function contentCheck(seq: number, content: MessageContent): number {
  const head = mixText(mixText(mixNumber(SEED, seq), content.id), content.detail);
  return crc32(content.body, head >>> 0);
}

/** What a message keeps for life. */
export function headCheck(head: MessageHead): number {
  let check = mixNumber(SEED, head.seq);
  check = mixNumber(check, head.queue);
  check = mixNumber(check, head.sentAt);
  check = mixNumber(check, head.arrivalCount);
  return mixText(check, head.group) >>> 0;
}

/** What every receive changes; apart from the rest, so that an update need not know the rest. */
export function receiptCheck(seq: number, receipt: Receipt): number {
  let check = mixNumber(SEED, seq);
  check = mixNumber(check, receipt.dueAt);
  check = mixNumber(check, receipt.receivedAt);
  check = mixNumber(check, receipt.firstReceivedAt);
  return mixNumber(check, receipt.receiveCount) >>> 0;
}

export function dedupCheck(entry: DedupEntry): number {
  let check = mixNumber(mixNumber(SEED, entry.queue), entry.seq);
  check = mixNumber(check, entry.acceptedAt);
  return mixText(mixText(check, entry.digest), entry.messageId) >>> 0;
}

export function documentCheck(collection: string, key: string, value: string): number {
  return crc32(value, mixText(mixText(SEED, collection), key) >>> 0);
}

export function sequenceCheck(sequence: number): number {
  return mixNumber(SEED, sequence) >>> 0;
}

/** Bits that checks over whole numbers cannot see: a fraction, or the sign of a zero. */
export function isWhole(value: number): boolean {
  return Number.isSafeInteger(value) && !Object.is(value, -0);
}

function mixNumber(check: number, value: number): number {
  const low = Math.imul(check ^ (value | 0), PRIME);
  const high = Math.imul(low ^ Math.floor(value / WORD), PRIME);
  return high ^ (high >>> 15);
}

function mixText(check: number, text: string | null): number {
  if (text === null) return Math.imul(check ^ 0xff, PRIME);
  let mixed = Math.imul(check ^ text.length, PRIME);
  for (let at = 0; at < text.length; at += 1) {
    mixed = Math.imul(mixed ^ text.charCodeAt(at), PRIME);
  }
  return mixed ^ (mixed >>> 15);
}
