// Sequencer: S3's order of events on one object key. It means nothing across keys.

/**
 * Negative when `a` is older than `b`, zero when they are the same write. Sequencers are
 * hexadecimal and differ in length: AWS says to pad the shorter on the right with zeros and compare
 * them as text.
 */
export function compareSequencers(a: string, b: string): number {
  const length = Math.max(a.length, b.length);
  const left = a.toUpperCase().padEnd(length, "0");
  const right = b.toUpperCase().padEnd(length, "0");
  if (left === right) return 0;
  return left < right ? -1 : 1;
}
