// Required flags: what a command cannot do without.

import { UsageError } from "../command.ts";

export function requiredFlag<T>(value: T | undefined, name: string): T {
  if (value === undefined) throw new UsageError(`--${name} is needed.`);
  return value;
}
