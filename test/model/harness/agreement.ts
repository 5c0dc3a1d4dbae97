// Agreement: whether an observed response equals the expected one.
//   A1. Faults agree by name and message; "~text" expects a message that contains the text.
//   A2. The order of lists that promise none is not compared; the order inside a group is.

import { deepStrictEqual } from "node:assert/strict";
import type { PeekedMessage } from "../../../src/broker/model/operations.ts";
import { Illegal } from "../reference/choices.ts";

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** The expected value, with every matching "~text" replaced by the observed text. */
function fillIn(expected: Json, observed: Json): Json {
  if (typeof expected === "string" && expected.startsWith("~")) {
    const holds = typeof observed === "string" && observed.includes(expected.slice(1));
    return holds ? observed : expected; // A1
  }
  if (Array.isArray(expected)) {
    const others = Array.isArray(observed) ? observed : [];
    return expected.map((value, index) => fillIn(value, others[index] ?? null));
  }
  if (typeof expected === "object" && expected !== null) {
    const others =
      typeof observed === "object" && observed !== null && !Array.isArray(observed) ? observed : {};
    return Object.fromEntries(
      Object.entries(expected).map(([key, value]) => [key, fillIn(value, others[key] ?? null)]),
    );
  }
  return expected;
}

/** Throws Illegal with a readable difference unless the two agree. */
export function agree(what: string, expected: unknown, observed: unknown): void {
  // Through JSON, so that prototypes and undefined members do not matter.
  const actual = JSON.parse(JSON.stringify(observed ?? null)) as Json;
  const filled = fillIn(JSON.parse(JSON.stringify(expected ?? null)) as Json, actual);
  try {
    deepStrictEqual(actual, filled);
  } catch (error) {
    throw new Illegal(`${what}: ${(error as Error).message}`);
  }
}

/** A peek without internals of the broker: message numbers, and due times in the past. */
export function comparablePeek(messages: readonly PeekedMessage[]): Record<string, unknown> {
  const groups: Record<string, unknown[]> = {};
  for (const { seq: _seq, dueAt, ...message } of messages) {
    const group = message.groupId ?? "";
    groups[group] ??= [];
    groups[group].push({ ...message, dueAt: message.state === "visible" ? null : dueAt });
  }
  return groups;
}

/** The same for a standard queue, which promises no order. */
export function comparableBag(messages: readonly PeekedMessage[]): Record<string, unknown> {
  const byId = messages.toSorted((a, b) => (a.messageId < b.messageId ? -1 : 1));
  return comparablePeek(byId); // A2
}
