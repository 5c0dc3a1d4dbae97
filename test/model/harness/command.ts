// Command: the queues that commands use, and the wrapper that fast-check needs.
//   K1. Dead letters move along a chain (x -> x-dead -> x-attic) or stay, never in a circle.
//   K2. Behaviour that AWS leaves undefined is not tested: `ready` returns false.

import fc from "fast-check";
import type { Session } from "./session.ts";

export type Command = fc.AsyncCommand<Session, Session>;

export const QUEUES = [
  "orders",
  "orders-dead",
  "orders-attic",
  "groups.fifo",
  "groups-dead.fifo",
  "groups-attic.fifo",
] as const;
export const NEXT: Record<string, string> = {
  orders: "orders-dead",
  "orders-dead": "orders-attic",
  "groups.fifo": "groups-dead.fifo",
  "groups-dead.fifo": "groups-attic.fifo",
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

/** Queues that commands target; one of them never exists. */
export const anyQueue = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom("orders", "groups.fifo") },
  { weight: 4, arbitrary: fc.constantFrom("orders-dead", "groups-dead.fifo") },
  { weight: 1, arbitrary: fc.constantFrom("orders-attic", "groups-attic.fifo", "absent") },
);
export const rarely = fc.integer({ min: 0, max: 19 }).map((n) => n === 0);

export function show(name: string, value: unknown): string {
  return `${name}(${JSON.stringify(value)})`;
}
