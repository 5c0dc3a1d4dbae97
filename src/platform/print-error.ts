// Print error: where a failure goes if the program has no handler for it.

import { printable } from "../core/encoding/printable.ts";

/** Prints the stack and those of the causes, without characters that a terminal obeys. */
export function printError(error: unknown): void {
  const lines: string[] = [];
  let current = error;
  while (current instanceof Error && lines.length < CAUSES_MAX) {
    lines.push(current.stack ?? current.message);
    current = current.cause;
  }
  if (lines.length === 0) lines.push(String(error));
  console.error(printable(lines.join("\ncaused by: ")));
}

/** A cause may be its own cause. */
const CAUSES_MAX = 5;
