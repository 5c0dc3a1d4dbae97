// Output: where a command writes. Results go to stdout and everything else to stderr, so that a
// program can read `tidegate up --json`.
//   O1. Every command writes through an Output, and an Output writes nothing that a terminal would
//       obey (printable.ts). Commands may therefore print keys, messages and errors as they are.
//   O2. A result is one line: a line feed in it comes from outside and is escaped too.

import { printable, printableLine } from "../../core/encoding/printable.ts";
import { TidegateError } from "../../core/errors.ts";

export interface Output {
  /** Whether stdout is a terminal. */
  readonly terminal: boolean;
  /** One line of the result (O2). */
  line(text: string): void;
  /** A note for people, of one or more lines. */
  note(text: string): void;
}

export interface OutputStream {
  readonly isTTY?: boolean | undefined;
  write(text: string): unknown;
}

export function createOutput(results: OutputStream, notes: OutputStream): Output {
  return {
    terminal: results.isTTY === true,
    line: (text) => void results.write(`${printableLine(text)}\n`), // O1
    note: (text) => void notes.write(`${printable(text)}\n`),
  };
}

export const standardOutput: Output = createOutput(process.stdout, process.stderr);

/** An operating failure as message and hint; any other error with its stack. */
export function describeFailure(error: unknown): string {
  if (error instanceof TidegateError) return `${error.message}\n${error.hint} (${error.code})`;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
