// Output: where a command writes. Results go to stdout, everything about them to stderr, so that
// `tidegate up --json` can be read by a program whatever else is said.

import { TidegateError } from "../../core/errors.ts";

export interface Output {
  /** Whether a person is reading. */
  readonly terminal: boolean;
  line(text: string): void;
  note(text: string): void;
}

export const standardOutput: Output = {
  terminal: process.stdout.isTTY === true,
  line: (text) => void process.stdout.write(`${text}\n`),
  note: (text) => void process.stderr.write(`${text}\n`),
};

/** An operating failure in two lines, anything else with all that is known of it. */
export function describeFailure(error: unknown): string {
  if (error instanceof TidegateError) return `${error.message}\n${error.hint} (${error.code})`;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
