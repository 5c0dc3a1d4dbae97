// Relay: sends what was registered and never marked sent, whoever registered it.
//   Y1. It takes only rows whose lease is over, or its own, so it does not race a living producer.
//   Y2. A row sent twice within five minutes is one message to a FIFO queue. A row that was sent,
//       not marked, and relayed later than that is two messages with one identity; the ledger of
//       whoever consumes them answers the second with "duplicate".

import type { DurationMs } from "../core/units.ts";
import { seconds } from "../core/units.ts";
import type { OutboxLease } from "../ports/outbox.ts";
import { sendBacklog } from "./backlog.ts";
import { OutboxSender, type OutboxSenderOptions, type OutboxSenderPorts } from "./outbox-sender.ts";
import { SEND_LEASE_MS } from "./target.ts";

export type RelayPorts = OutboxSenderPorts;

export interface RelayOptions extends OutboxSenderOptions {
  /** As a producer's owner; a name of its own. */
  readonly owner?: string;
  readonly intervalMs?: DurationMs;
}

export interface RelayReport {
  readonly sent: number;
  readonly refused: number;
  /** Why some are left, or null if none is. */
  readonly failed: Error | null;
}

export interface Relay {
  /** Sends what is pending now. */
  drain(): Promise<RelayReport>;
  /** Drains, waits, and so on until the signal; hands every report to `onReport`. */
  run(signal: AbortSignal, onReport?: (report: RelayReport) => void): Promise<void>;
}

const INTERVAL_MS_DEFAULT: DurationMs = seconds(10);

export function createRelay(ports: RelayPorts, options: RelayOptions = {}): Relay {
  const sender = new OutboxSender(ports, options);
  const owner = options.owner ?? ports.random.uuid();
  const lease: OutboxLease = { owner, leaseMs: SEND_LEASE_MS };
  const { intervalMs = INTERVAL_MS_DEFAULT } = options;

  async function drain(): Promise<RelayReport> {
    const { sent, refused, failed } = await sendBacklog(ports, sender, lease);
    return { sent, refused, failed: failed?.error ?? null };
  }

  return {
    drain,
    async run(signal, onReport = () => {}) {
      while (!signal.aborted) {
        // A store that is down is a report like any other: the next round asks again.
        const report = await drain().catch((error: unknown) => failure(error));
        onReport(report);
        await ports.clock.sleep(intervalMs, signal).catch((error: unknown) => {
          if (!signal.aborted) throw error;
        });
      }
    },
  };
}

function failure(error: unknown): RelayReport {
  const failed = error instanceof Error ? error : new Error(String(error));
  return { sent: 0, refused: 0, failed };
}
