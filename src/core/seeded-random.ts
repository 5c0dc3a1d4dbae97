// Seeded random: reproducible randomness. It satisfies the Random port without importing it.
//   R1. The same seed and the same path of fork names give the same stream, on every computer.
//   R2. A fork draws nothing from its parent, so the draws of one component never shift another's.

import { assert } from "./assert.ts";
import { formatUuid } from "./encoding/uuid.ts";

const WORD = 0x1_0000_0000;
const WARM_UP_DRAWS = 12;

export interface SeededRandom {
  fraction(): number;
  below(below: number): number;
  /** A whole number from `min` to `max`, both included. */
  between(min: number, max: number): number;
  /** One element, each equally likely; undefined if there are none. */
  pick<T>(from: readonly T[]): T | undefined;
  uuid(): string;
  bytes(count: number): Uint8Array;
  fork(name: string): SeededRandom;
}

/** The generator is sfc32, seeded by a hash of the seed's text. */
export function createSeededRandom(seed: string | number): SeededRandom {
  const path = String(seed);
  const word = sfc32(path);
  const fraction = () => ((word() >>> 5) * 0x400_0000 + (word() >>> 6)) / 2 ** 53;
  const below = (bound: number) => drawBelow(word, fraction, bound);
  const bytes = (count: number) => {
    const drawn = new Uint8Array(count);
    for (let at = 0; at < count; at += 1) drawn[at] = word() >>> 24;
    return drawn;
  };
  return {
    fraction,
    below,
    between: (min, max) => min + below(max - min + 1),
    pick: (from) => (from.length === 0 ? undefined : from[below(from.length)]),
    uuid: () => uuidOf(bytes(16)),
    bytes,
    fork: (name) => createSeededRandom(`${path.length}:${path}/${name}`), // R2; length-safe.
  };
}

function drawBelow(word: () => number, fraction: () => number, below: number): number {
  assert(below >= 1, `a draw below ${below} has no result`); // The loop below would not end.
  if (below > WORD) return Math.floor(fraction() * below);
  // Words beyond the last whole multiple would favour small numbers, so they are drawn again.
  const fair = WORD - (WORD % below);
  for (;;) {
    const drawn = word();
    if (drawn < fair) return drawn % below;
  }
}

function sfc32(seed: string): () => number {
  let [a, b, c, counter] = hashWords(seed);
  const next = () => {
    const sum = (a + b + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return sum >>> 0;
  };
  for (let draw = 0; draw < WARM_UP_DRAWS; draw += 1) next();
  return next;
}

/** Four words, each of which depends on every character. */
function hashWords(text: string): [number, number, number, number] {
  const multipliers = [0x85ebca6b, 0xc2b2ae35, 0x27d4eb2f, 0x165667b1] as const;
  const words: [number, number, number, number] = [1, 2, 3, 4];
  for (const [at, multiplier] of multipliers.entries()) {
    let hash = Math.imul(at + 1, 0x9e3779b1) ^ text.length;
    for (let index = 0; index < text.length; index += 1) {
      hash = Math.imul(hash ^ text.charCodeAt(index), multiplier);
      hash ^= hash >>> 15;
    }
    hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
    words[at] = hash ^ (hash >>> 13);
  }
  return words;
}

function uuidOf(bytes: Uint8Array): string {
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return formatUuid(bytes);
}
