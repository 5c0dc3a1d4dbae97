// Assert: a broken invariant stops the program; it is never handled.

/** Thrown if the program itself is wrong. Only the outermost frame catches it. */
export class InvariantError extends Error {
  constructor(message: string) {
    super(`invariant broken: ${message}`);
    this.name = "InvariantError";
  }
}

export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new InvariantError(message);
}

/** Returns a value that the caller knows to exist. */
export function present<T>(value: T | undefined | null, what: string): T {
  if (value === undefined || value === null) throw new InvariantError(`${what} is missing`);
  return value;
}

/** Ends a switch over a union: a new member that is not handled no longer compiles. */
export function unreachable(value: never): never {
  throw new InvariantError(`unreachable value ${JSON.stringify(value)}`);
}
