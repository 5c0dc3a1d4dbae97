// Sequencer: S3's order of writes to one object key. Sequencers of different keys have no order.
//   Q1. Sequencers are hexadecimal and differ in length. AWS says to pad the shorter one with zeros
//       on the right and to compare the two as text.
//   Q2. Stripping trailing zeros gives every sequencer one spelling, and spellings sort as text in
//       the order of Q1. Keys, ledgers and sinks all use that spelling or `compareSequencers`.
//   Q3. A write that was found in a listing has no sequencer. Its place is directly after the write
//       that was applied before it, and before every later one of S3: it is the sequencer of that
//       write, more zeros than a sequencer of S3 has digits, a count, and a final one.

/** The only spelling of a sequencer: equal sequencers give equal text, and text order is Q1. */
export function sequencerOrder(sequencer: string): string {
  return sequencer.toUpperCase().replace(/0+$/, "");
}

/** Negative when `left` was written first, zero when both are the same write. */
export function compareSequencers(left: string, right: string): -1 | 0 | 1 {
  const one = sequencerOrder(left);
  const two = sequencerOrder(right);
  if (one === two) return 0;
  return one < two ? -1 : 1;
}

const GAP = "0".repeat(24);
const COUNT_DIGITS = 8;
const PLACED = new RegExp(`^([0-9A-F]*?)${GAP}([0-9A-F]{${COUNT_DIGITS}})1$`);

/** The place of a listed write after the applied sequencer; "" if none was applied (Q3). */
export function sequencerAfter(applied: string): string {
  const order = sequencerOrder(applied);
  const [, base = order, count = ""] = PLACED.exec(order) ?? [];
  const next = count === "" ? 0 : Number.parseInt(count, 16) + 1;
  return `${base}${GAP}${next.toString(16).toUpperCase().padStart(COUNT_DIGITS, "0")}1`;
}
