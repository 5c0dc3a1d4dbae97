// Required flag: the value of a flag that must be given.

import { UsageError } from "../command.ts";

export function requiredFlag<T>(value: T | undefined, name: string): T {
  if (value === undefined) throw new UsageError(`--${name} is required`);
  return value;
}
