// Random: the only source of chance. Forks are named, so that one component's draws never shift
// another's.

export interface Random {
  /** A fraction in [0, 1). */
  fraction(): number;
  /** A whole number in [0, below). */
  below(below: number): number;
  /** A random UUID (version 4) as text. */
  uuid(): string;
  /** Fresh bytes. */
  bytes(count: number): Uint8Array;
  /** An independent stream; the same name under the same seed gives the same stream. */
  fork(name: string): Random;
}
