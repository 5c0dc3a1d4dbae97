// Sweeper: finds jobs that are unsent or stuck, and sends them.
//   W1. Unsent: registered, and no producer is sending it. The relay's work.
//   W2. Stuck: sent long ago, not done, and not claimed. It is republished under its next epoch
//       with a new deduplication id: within five minutes, the queue would drop the previous one.
//   W3. Fenced twice: one of several sweepers wins the epoch, and a slow worker keeps its claim. A
//       consumer that takes over has a higher fence, so the slow commit is rejected. Nothing is
//       reset.
//   W4. A second copy of a message that was still queued is harmless: the ledger recognises the
//       later delivery as a duplicate. `stuckAfterMs` should still be longer than a usual backlog.

import type { DurationMs, EpochMs } from "../core/units.ts";
import { hours, subtractMs } from "../core/units.ts";
import type { OutboxLease, OutboxRow } from "../ports/outbox.ts";
import { createJobRegistry, type RegistryOptions, type RegistryPorts } from "./jobs.ts";
import { OutboxSender, type OutboxSenderOptions, type OutboxSenderPorts } from "./outbox-sender.ts";
import { createRelay } from "./relay.ts";
import { SEND_LEASE_MS } from "./target.ts";

export type SweeperPorts = OutboxSenderPorts & RegistryPorts;

export interface SweeperOptions extends OutboxSenderOptions {
  readonly scope: RegistryOptions["scope"];
  readonly owner?: string;
  /** Age of a sent, unclaimed job at which it counts as stuck. Default: 12 hours. */
  readonly stuckAfterMs?: DurationMs;
}

export interface SweepReport {
  /** Unsent jobs that were sent (W1). */
  readonly sent: number;
  /** Stuck jobs that were republished (W2). */
  readonly republished: number;
  /** Jobs that are completed or failed; later sweeps skip them. */
  readonly settled: number;
  /** Why some jobs could not be sent; null if all were. */
  readonly failed: Error | null;
}

export interface Sweeper {
  sweep(): Promise<SweepReport>;
}

const STUCK_AFTER_MS_DEFAULT: DurationMs = hours(12);
const PAGE_ROWS = 100;

export function createSweeper(ports: SweeperPorts, options: SweeperOptions): Sweeper {
  const { outbox, target, clock, random } = ports;
  const { scope, stuckAfterMs = STUCK_AFTER_MS_DEFAULT } = options;
  const owner = options.owner ?? random.uuid();
  const lease: OutboxLease = { owner, leaseMs: SEND_LEASE_MS };
  const relay = createRelay(ports, { ...options, owner });
  const registry = createJobRegistry(ports, { target: target.name, scope });
  const sender = new OutboxSender(ports, options);

  /** Republishes the job of a row if it is stuck. */
  async function look(row: OutboxRow): Promise<"settled" | "republished" | "left" | Error> {
    const { status } = await registry.jobOf(row);
    if (status === "completed" || status === "failed") return "settled";
    if (status === "claimed") return "left"; // W3
    const won = await outbox.republish(target.name, row.key, row.epoch, lease);
    if (won.kind === "fenced") return "left";
    const result = await sender.send(won.row); // W2
    return result.kind === "sent" ? "republished" : result.error;
  }

  async function sweepPage(page: readonly OutboxRow[], counts: Counts): Promise<void> {
    const looks = await Promise.all(page.map(async (row) => ({ row, result: await look(row) })));
    const settled = looks.filter(({ result }) => result === "settled");
    const keys = settled.map(({ row }) => row.key);
    if (keys.length > 0) await outbox.markDone(target.name, keys);
    counts.settled += keys.length;
    for (const { result } of looks) {
      if (result === "republished") counts.republished += 1;
      if (result instanceof Error) counts.failed ??= result;
    }
  }

  return {
    async sweep() {
      const unsent = await relay.drain(); // W1
      sender.resume();
      const counts: Counts = { republished: 0, settled: 0, failed: unsent.failed };
      const sentBefore: EpochMs = subtractMs(clock.now(), stuckAfterMs);
      let afterSeq = 0;
      for (;;) {
        const page = await outbox.unsettled(target.name, {
          sentBefore,
          afterSeq,
          limit: PAGE_ROWS,
        });
        await sweepPage(page, counts);
        const last = page.at(-1);
        if (last === undefined || page.length < PAGE_ROWS) return { sent: unsent.sent, ...counts };
        afterSeq = last.seq;
      }
    },
  };
}

interface Counts {
  republished: number;
  settled: number;
  failed: Error | null;
}
