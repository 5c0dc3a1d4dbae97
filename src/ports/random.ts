// Random: the only source of randomness. Forks are named, so that the draws of one component never
// shift another's.

/** Randomness. Pass a seeded one to make a test repeatable. */
export interface Random {
  /** A fraction in [0, 1). */
  fraction(): number;
  /** A whole number in [0, below). */
  below(below: number): number;
  /** A random UUID (version 4) as text. */
  uuid(): string;
  /** Random bytes. */
  bytes(count: number): Uint8Array;
  /** An independent stream; the same name and seed give the same stream. */
  fork(name: string): Random;
}
