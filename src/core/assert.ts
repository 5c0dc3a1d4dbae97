// Assertions: a broken invariant stops the program; it is never handled.

/** Thrown when the program itself is wrong. Nothing catches it but the outermost frame. */
export class InvariantError extends Error {
  constructor(message: string) {
    super(`invariant broken: ${message}`);
    this.name = "InvariantError";
  }
}

export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new InvariantError(message);
}

/** The value, which the caller knows to be there. */
export function present<T>(value: T | undefined | null, what: string): T {
  if (value === undefined || value === null) throw new InvariantError(`${what} is missing`);
  return value;
}

/** Closes a switch over a union: adding a member without handling it no longer compiles. */
export function unreachable(value: never): never {
  throw new InvariantError(`unreachable value ${JSON.stringify(value)}`);
}
