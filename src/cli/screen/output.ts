// Output: where a command writes. Results go to stdout and everything else to stderr, so that a
// program can read `tidegate up --json`.

import { TidegateError } from "../../core/errors.ts";

export interface Output {
  /** Whether stdout is a terminal. */
  readonly terminal: boolean;
  line(text: string): void;
  note(text: string): void;
}

export const standardOutput: Output = {
  terminal: process.stdout.isTTY === true,
  line: (text) => void process.stdout.write(`${text}\n`),
  note: (text) => void process.stderr.write(`${text}\n`),
};

/** An operating failure as message and hint; any other error with its stack. */
export function describeFailure(error: unknown): string {
  if (error instanceof TidegateError) return `${error.message}\n${error.hint} (${error.code})`;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
