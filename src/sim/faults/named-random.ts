// Named random: a draw is a function of the seed and of its own name, never of earlier draws.
// Removing one fault shifts no other, so a failing run can be shrunk.

const GOLDEN = 0x9e3779b1;

/** 32 bits that depend on every character and on `from`. */
export function hashText(text: string, from = 0): number {
  let hash = (from ^ 0x811c9dc5) | 0;
  for (let at = 0; at < text.length; at += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
    hash ^= hash >>> 15;
  }
  return mixWords(hash, text.length);
}

/** 32 bits that depend on all bits of both words. */
export function mixWords(one: number, two: number): number {
  let hash = Math.imul(one ^ Math.imul(two + 1, GOLDEN), 0x85ebca6b);
  hash ^= hash >>> 13;
  hash = Math.imul(hash, 0xc2b2ae35);
  hash ^= hash >>> 16;
  hash = Math.imul(hash, 0x27d4eb2f);
  return (hash ^ (hash >>> 15)) >>> 0;
}

/** Maps a word to a fraction in [0, 1). */
export function fractionOf(word: number): number {
  return word / 0x1_0000_0000;
}

/** A source of named draws: the same name always gives the same result. */
export interface NamedDice {
  word(name: string): number;
  /** A fraction in [0, 1). */
  fraction(name: string): number;
  /** A whole number from `min` to `max`, both included. */
  whole(name: string, min: number, max: number): number;
  /** As `whole`, but on a logarithmic scale, so that small numbers are more likely. */
  scaled(name: string, min: number, max: number): number;
  /** True with the given probability. */
  roll(name: string, probability: number): boolean;
  pick<T>(name: string, choices: readonly T[]): T;
}

export function createNamedDice(seed: number, stream: string): NamedDice {
  const base = hashText(stream, mixWords(seed | 0, Math.floor(seed / 0x1_0000_0000)));
  const word = (name: string) => hashText(name, base);
  const fraction = (name: string) => fractionOf(word(name));
  const whole = (name: string, min: number, max: number) =>
    min + Math.floor(fraction(name) * (max - min + 1));
  return {
    word,
    fraction,
    whole,
    scaled: (name, min, max) => Math.min(max, Math.floor(min * (max / min) ** fraction(name))),
    roll: (name, probability) => fraction(name) < probability,
    pick: (name, choices) =>
      choices[whole(name, 0, choices.length - 1)] as (typeof choices)[number],
  };
}
