// Relay: sends rows that were registered and never marked sent, by any producer.
//   Y1. It takes only rows whose lease has ended, and its own, so it does not race a live producer.
//   Y2. A row sent twice within five minutes is one message to a FIFO queue. A row that was sent,
//       not marked, and relayed later becomes two messages with one identity; the consumer's ledger
//       recognises the second as a duplicate.

import type { DurationMs } from "../core/units.ts";
import { seconds } from "../core/units.ts";
import type { OutboxLease } from "../ports/outbox.ts";
import { sendBacklog } from "./backlog.ts";
import { OutboxPurge } from "./outbox-purge.ts";
import { OutboxSender, type OutboxSenderOptions, type OutboxSenderPorts } from "./outbox-sender.ts";
import { SEND_LEASE_MS } from "./target.ts";

export interface RelayPorts extends OutboxSenderPorts {}

export interface RelayOptions extends OutboxSenderOptions {
  /** Names this relay in the outbox, as `owner` names a producer. Default: random. */
  readonly owner?: string;
  /** Default: 10 seconds. */
  readonly intervalMs?: DurationMs;
}

/** One drain: rows sent, rows that the target refused, and why others are still pending. */
export interface RelayReport {
  readonly sent: number;
  /** Rows that the target rejected permanently; a relay does not send them again. */
  readonly refused: number;
  /** Why rows are still pending; null if none are. */
  readonly failed: Error | null;
}

/** Sends what crashed producers left in the outbox. Any number of relays may run. */
export interface Relay {
  /** Sends all rows that are pending now. */
  drain(): Promise<RelayReport>;
  /**
   * Drains every `intervalMs` until the signal aborts; passes each report to `onReport`. It also
   * deletes expired rows, about once an hour.
   */
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
      const purge = new OutboxPurge(ports);
      while (!signal.aborted) {
        // A store that is down is reported like any failure; the next round tries again.
        const report = await drain().catch((error: unknown) => failure(error));
        onReport(report);
        purge.startIfDue();
        await ports.clock.sleep(intervalMs, signal).catch((error: unknown) => {
          if (!signal.aborted) throw error;
        });
      }
      await purge.close();
    },
  };
}

function failure(error: unknown): RelayReport {
  const failed = error instanceof Error ? error : new Error(String(error));
  return { sent: 0, refused: 0, failed };
}
