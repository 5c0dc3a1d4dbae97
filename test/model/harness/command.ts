// What every command is made of: the queues of the small world, and a frame for fast-check.
//   K1. Dead letters flow down a chain (x -> x-dead -> x-attic) or in place, never in a circle.
//   K2. What AWS leaves undefined is not asked: `ready` says no.

import fc from "fast-check";
import type { Session } from "./session.ts";

export type Command = fc.AsyncCommand<Session, Session>;

export const QUEUES = [
  "orders",
  "orders-dead",
  "orders-attic",
  "lanes.fifo",
  "lanes-dead.fifo",
  "lanes-attic.fifo",
] as const;
export const NEXT: Record<string, string> = {
  orders: "orders-dead",
  "orders-dead": "orders-attic",
  "lanes.fifo": "lanes-dead.fifo",
  "lanes-dead.fifo": "lanes-attic.fifo",
};

export function command(
  label: string,
  act: (session: Session) => Promise<unknown>,
  ready: (session: Session) => boolean = () => true,
): Command {
  return {
    check: ready,
    run: async (session) => {
      await act(session);
    },
    toString: () => label,
  };
}

/** Queues to aim at; one of them is never there. */
export const anyQueue = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom("orders", "lanes.fifo") },
  { weight: 4, arbitrary: fc.constantFrom("orders-dead", "lanes-dead.fifo") },
  { weight: 1, arbitrary: fc.constantFrom("orders-attic", "lanes-attic.fifo", "absent") },
);
export const rarely = fc.integer({ min: 0, max: 19 }).map((n) => n === 0);

export function show(name: string, value: unknown): string {
  return `${name}(${JSON.stringify(value)})`;
}
