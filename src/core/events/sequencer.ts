// Sequencer: S3's order of writes to one object key. Sequencers of different keys have no order.
//   Q1. Sequencers are hexadecimal and differ in length. AWS says to pad the shorter one with zeros
//       on the right and to compare the two as text.
//   Q2. Stripping trailing zeros gives every sequencer one spelling, and spellings sort as text in
//       the order of Q1. Keys, ledgers and sinks all use that spelling or `compareSequencers`.

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
