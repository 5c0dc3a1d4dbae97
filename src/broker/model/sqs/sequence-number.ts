// SequenceNumber: the 20 digits that a FIFO queue gives each message. They grow, are not
// consecutive, and are derived from the message's number, so they keep growing after every restart.

const PREFIX = "188";
const GAP = 256;

export function formatSequenceNumber(seq: number): string {
  return PREFIX + String(seq * GAP).padStart(17, "0");
}
