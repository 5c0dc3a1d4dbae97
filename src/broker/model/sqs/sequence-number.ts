// SequenceNumber: the 20 digits a FIFO queue gives each message. Growing, not consecutive, and a
// mere rendering of the message's number, so that they go on growing after every restart.

const PREFIX = "188";
const GAP = 256;

export function formatSequenceNumber(seq: number): string {
  return PREFIX + String(seq * GAP).padStart(17, "0");
}
