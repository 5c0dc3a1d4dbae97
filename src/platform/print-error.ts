// Print error: where a failure goes if the program has no handler for it.

import { printable } from "../core/encoding/printable.ts";
import { TidegateError } from "../core/errors.ts";

/**
 * Prints an operating failure as message and hint. Prints the stack of any other error and those of
 * its causes. Neither contains characters that a terminal obeys.
 */
export function printError(error: unknown): void {
  const lines: string[] = [];
  let current = error;
  while (current instanceof Error && lines.length < CAUSES_MAX) {
    if (current instanceof TidegateError) {
      lines.push(`${current.message}\n${current.hint} (${current.code})`);
      break;
    }
    lines.push(current.stack ?? current.message);
    current = current.cause;
  }
  if (lines.length === 0) lines.push(String(error));
  console.error(printable(lines.join("\ncaused by: ")));
}

/** A cause may be its own cause. */
const CAUSES_MAX = 5;
