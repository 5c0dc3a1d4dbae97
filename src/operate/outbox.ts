// Outbox: what producers left pending, sent and counted.

import { refuseConfig } from "../core/errors.ts";
import { durationMs, msBetween } from "../core/units.ts";
import { systemPorts } from "../platform/index.ts";
import type { OutboxStats } from "../ports/outbox.ts";
import { createRelay, type RelayReport } from "../produce/relay.ts";
import type { Sources } from "./sources.ts";

export type { RelayReport } from "../produce/relay.ts";
export { SEND_LEASE_MS } from "../produce/target.ts";

/** The rows of a queue or topic, by state. */
export interface OutboxCounts extends OutboxStats {
  readonly target: string;
  /** Null if no row is pending. */
  readonly oldestPendingMs: number | null;
}

/** The outbox of producers. */
export interface OutboxAccess {
  /** Counts the rows of the queue or topic. */
  stats(): Promise<OutboxCounts>;
  /** Sends what is pending now. */
  relay(): Promise<RelayReport>;
  /** The same, again and again until the signal aborts. */
  relayEvery(
    everyMs: number,
    signal: AbortSignal,
    onReport: (report: RelayReport) => void,
  ): Promise<void>;
}

export function outboxOf(sources: Sources): OutboxAccess {
  return {
    async stats() {
      const target = await sources.targetName();
      const stats = await (await sources.outbox()).stats(target);
      const { oldestPendingAt: oldest } = stats;
      const now = sources.clock.now();
      const oldestPendingMs = oldest === null ? null : msBetween(oldest, now);
      return { target, ...stats, oldestPendingMs };
    },
    relay: async () => (await relayOf(sources)).drain(),
    async relayEvery(everyMs, signal, onReport) {
      await (await relayOf(sources, everyMs)).run(signal, onReport);
    },
  };
}

async function relayOf(sources: Sources, everyMs = 0) {
  if (!sources.hasOneTarget()) {
    refuseConfig("a target is needed: name either a queue or a topic");
  }
  const { clock, random } = sources;
  const { turn } = systemPorts;
  const target = await sources.target();
  const ports = { clock, random, turn, target, outbox: await sources.outbox() };
  return createRelay(ports, { intervalMs: durationMs(everyMs) });
}
