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
import type { Clock } from "../ports/clock.ts";
import type { OutboxLease, OutboxRow } from "../ports/outbox.ts";
import { createJobRegistry, type RegistryOptions, type RegistryPorts } from "./jobs.ts";
import { OutboxSender, type OutboxSenderOptions, type OutboxSenderPorts } from "./outbox-sender.ts";
import { createRelay } from "./relay.ts";
import { SEND_LEASE_MS } from "./target.ts";

export type SweeperPorts = OutboxSenderPorts & RegistryPorts;

export interface SweeperOptions extends OutboxSenderOptions {
  /** Pipeline and generation that process the jobs. */
  readonly scope: RegistryOptions["scope"];
  /** Names this sweeper in the outbox. Default: random. */
  readonly owner?: string;
  /** Age of a sent, unclaimed job at which it counts as stuck. Default: 12 hours. */
  readonly stuckAfterMs?: DurationMs;
}

/** What one sweep did. */
export interface SweepReport {
  /** Unsent jobs that were sent (W1). */
  readonly sent: number;
  /** Stuck jobs that were republished (W2). */
  readonly republished: number;
  /** Jobs that were completed or failed; later sweeps skip them. */
  readonly done: number;
  /** Why some jobs could not be sent; null if all were. */
  readonly failed: Error | null;
}

/** Sends jobs that are unsent, and republishes jobs that no consumer has processed. */
export interface Sweeper {
  /** Checks every job once. Safe to call from several processes (W3). */
  sweep(): Promise<SweepReport>;
  /** Sweeps every `everyMs` until the signal aborts; passes each report to `onReport`. */
  run(schedule: SweepSchedule, onReport?: (report: SweepReport) => void): Promise<void>;
}

export interface SweepSchedule {
  readonly everyMs: DurationMs;
  readonly signal: AbortSignal;
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
  async function look(row: OutboxRow): Promise<"done" | "republished" | "left" | Error> {
    const { status } = await registry.jobOf(row);
    if (status === "completed" || status === "failed") return "done";
    if (status === "claimed") return "left"; // W3
    const won = await outbox.republish(target.name, row.key, row.epoch, lease);
    if (won.kind === "fenced") return "left";
    const result = await sender.send(won.row); // W2
    return result.kind === "sent" ? "republished" : result.error;
  }

  async function sweepPage(page: readonly OutboxRow[], counts: Counts): Promise<void> {
    const looks = await Promise.all(page.map(async (row) => ({ row, result: await look(row) })));
    const done = looks.filter(({ result }) => result === "done");
    const keys = done.map(({ row }) => row.key);
    if (keys.length > 0) await outbox.markDone(target.name, keys);
    counts.done += keys.length;
    for (const { result } of looks) {
      if (result === "republished") counts.republished += 1;
      if (result instanceof Error) counts.failed ??= result;
    }
  }

  async function sweep(): Promise<SweepReport> {
    const unsent = await relay.drain(); // W1
    sender.resume();
    const counts: Counts = { republished: 0, done: 0, failed: unsent.failed };
    const sentBefore: EpochMs = subtractMs(clock.now(), stuckAfterMs);
    let afterSeq = 0;
    for (;;) {
      const page = await outbox.sentNotDone(target.name, {
        sentBefore,
        afterSeq,
        limit: PAGE_ROWS,
      });
      await sweepPage(page, counts);
      const last = page.at(-1);
      if (last === undefined || page.length < PAGE_ROWS) return { sent: unsent.sent, ...counts };
      afterSeq = last.seq;
    }
  }

  return {
    sweep,
    run: (schedule, onReport) => repeat(sweep, { ...schedule, clock }, onReport),
  };
}

async function repeat(
  sweep: () => Promise<SweepReport>,
  { everyMs, signal, clock }: SweepSchedule & { readonly clock: Clock },
  onReport: (report: SweepReport) => void = () => {},
): Promise<void> {
  while (!signal.aborted) {
    // A store that is down is reported like any failure; the next sweep tries again.
    onReport(await sweep().catch((error: unknown) => failedSweep(error)));
    await clock.sleep(everyMs, signal).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
  }
}

function failedSweep(error: unknown): SweepReport {
  const failed = error instanceof Error ? error : new Error(String(error));
  return { sent: 0, republished: 0, done: 0, failed };
}

interface Counts {
  republished: number;
  done: number;
  failed: Error | null;
}
