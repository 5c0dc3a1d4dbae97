// Read queue: which events of objects are still in the queue of a pipeline, for its audit.
//   R1. The embedded cloud shows its messages. SQS only counts them: an empty queue holds nothing
//       back; how old the messages of another one are, only reports of running processes say.
//       A message that was received counts, too: one that waits for its next delivery may have no
//       record yet.
//   R2. A queue that cannot be read makes objects unknown, never missing.

import { TidegateError } from "../core/errors.ts";
import { type EpochMs, epochMs, msBetween } from "../core/units.ts";
import type { QueueLook } from "../ingest/late/complete-up-to.ts";
import { readQueuedStates } from "../ingest/late/queued-states.ts";
import { POLL_FRESH_MS } from "../ingest/policy/watermark.ts";
import { readReports } from "../ingest/running/partition-report.ts";
import type { Pipeline } from "../ingest/spec/define-pipeline.ts";
import type { Ledger } from "../ports/ledger.ts";
import type { QueueSnapshot } from "./queue-snapshot.ts";
import { emptyQueue } from "./queue-snapshot.ts";

export const UNREAD: QueueSnapshot = {
  kind: "unread",
  messages: null,
  has: () => false,
  settledBefore: null,
};

/** Reads the queues; the first one is that of the pipeline. */
export async function readQueue(
  looks: readonly QueueLook[],
  pipeline: Pipeline,
  ledger: Ledger,
  now: EpochMs,
): Promise<QueueSnapshot> {
  const [main] = looks;
  if (main === undefined) return UNREAD;
  try {
    if (main.kind === "counted") return await counted(main, pipeline, ledger, now);
    const states = await readQueuedStates(looks, pipeline);
    return { kind: "exact", ...states, settledBefore: now };
  } catch (error) {
    if (error instanceof TidegateError && error.code === "TG_QUEUE_UNAVAILABLE") return UNREAD; // R2
    throw error;
  }
}

async function counted(
  look: Extract<QueueLook, { kind: "counted" }>,
  pipeline: Pipeline,
  ledger: Ledger,
  now: EpochMs,
): Promise<QueueSnapshot> {
  const { visible, delayed, hidden } = await look.counts();
  const messages = visible + delayed + hidden;
  if (messages === 0) return emptyQueue(now, "counted"); // R1
  const scope = { pipeline: pipeline.name, generation: pipeline.generation };
  const reports = await readReports(ledger, scope);
  const running = reports.filter(({ savedAt }) => msBetween(savedAt, now) < POLL_FRESH_MS);
  const lagMs = Math.max(...running.map(({ queueLagMs }) => queueLagMs));
  const settledBefore =
    running.length === 0 ? null : epochMs(now - lagMs - pipeline.eventTime.outOfOrderMs);
  return { kind: "counted", messages, has: () => false, settledBefore };
}
