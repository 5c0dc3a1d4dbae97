// A stream of chance that a seed decides: mulberry32, good enough for tests and nothing else.

import type { Random } from "../../src/ports/random.ts";

function seedOf(text: string, seed: number): number {
  let sum = seed | 0;
  for (const character of text) sum = Math.imul(sum ^ (character.codePointAt(0) ?? 0), 0x01000193);
  return sum;
}

export function createSeededRandom(seed: number): Random {
  let word = seed | 0;
  const next = (): number => {
    word = (word + 0x6d2b79f5) | 0;
    let mixed = Math.imul(word ^ (word >>> 15), 1 | word);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return (mixed ^ (mixed >>> 14)) >>> 0;
  };
  const bytes = (count: number) => Uint8Array.from({ length: count }, () => next() & 0xff);
  return {
    fraction: () => next() / 2 ** 32,
    below: (below) => Math.floor((next() / 2 ** 32) * below),
    bytes,
    uuid: () => {
      const hex = Buffer.from(bytes(16)).toString("hex");
      const tail = `4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`;
      return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${tail}`;
    },
    fork: (name) => createSeededRandom(seedOf(name, seed)),
  };
}
