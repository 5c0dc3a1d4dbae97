// Rank tie: decides between events of the same millisecond, by their record keys. A number instead
// of the key keeps the bookkeeping of a row small.
//   T1. The order of ties is that of record keys, as far as 52 bits of them differ. Two keys that
//       agree in 52 bits are one in 10^15; then the first to arrive stays.

const DIGEST = /^k\d+:([0-9a-f]{13})/;
const BYTES = 6;

export function rankTie(recordKey: string): number {
  const digest = DIGEST.exec(recordKey)?.[1];
  if (digest !== undefined) return Number.parseInt(digest, 16);
  const prefix = Buffer.alloc(BYTES);
  prefix.write(recordKey, "utf8");
  return prefix.readUIntBE(0, BYTES);
}
