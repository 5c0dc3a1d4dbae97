// Job registry: what has become of an event, from being registered to being done. It keeps nothing
// of its own: the outbox knows what was sent, the ledger what was worked on.
//
//   available   registered, sent or not; nobody has it, or whoever had it gave it back or failed
//   claimed     somebody works on it, until the lease ends
//   completed   done, once
//   failed      given up on: parked in the ledger, or refused by the queue
//
//   J1. A claim whose lease is over is available again: nothing is stuck for ever.
//   J2. The ledger's key is that of the consuming pipeline and generation, over the event's own.

import { unreachable } from "../core/assert.ts";
import { envelopeKey } from "../core/events/envelope.ts";
import type { EpochMs } from "../core/units.ts";
import { recordKey } from "../ledger/record-key.ts";
import type { Clock } from "../ports/clock.ts";
import type { Ledger } from "../ports/ledger.ts";
import type { Outbox, OutboxRow } from "../ports/outbox.ts";
import type { LedgerScope, StoredRecord } from "../ports/record.ts";

export type JobStatus = "available" | "claimed" | "completed" | "failed";

export interface Job {
  readonly key: string;
  readonly status: JobStatus;
  readonly sentAt: EpochMs | null;
  /** How often it was put on the queue again. */
  readonly epoch: number;
  readonly attempts: number;
  /** Who works on it, and until when; null unless claimed. */
  readonly owner: string | null;
  readonly leaseUntil: EpochMs | null;
  /** Why it failed, last time or for good. */
  readonly reason: string | null;
}

export interface RegistryPorts {
  readonly outbox: Outbox;
  readonly ledger: Ledger;
  readonly clock: Clock;
}

export interface RegistryOptions {
  /** Name of the queue or topic the jobs are sent to. */
  readonly target: string;
  /** Whose work counts. */
  readonly scope: LedgerScope;
}

export interface JobRegistry {
  /** The job of an event, or undefined if it was never registered. */
  find(source: string, dedupeKey: string): Promise<Job | undefined>;
  /** The job of an outbox's row. */
  jobOf(row: OutboxRow): Promise<Job>;
}

export function createJobRegistry(ports: RegistryPorts, options: RegistryOptions): JobRegistry {
  const { outbox, ledger, clock } = ports;
  const { target, scope } = options;
  async function jobOf(row: OutboxRow): Promise<Job> {
    const view = await ledger.show(scope, recordKey(scope, row.key)); // J2
    return describe(row, view?.record, clock.now());
  }
  return {
    jobOf,
    async find(source, dedupeKey) {
      const row = await outbox.find(target, envelopeKey(source, dedupeKey));
      return row === undefined ? undefined : await jobOf(row);
    },
  };
}

function describe(row: OutboxRow, record: StoredRecord | undefined, now: EpochMs): Job {
  const held = record?.kind === "claimed" && record.leaseUntil > now ? record : null; // J1
  return {
    key: row.key,
    status: statusOf(row, record, held !== null),
    sentAt: row.sentAt,
    epoch: row.epoch,
    attempts: record?.attempts ?? 0,
    owner: held?.owner ?? null,
    leaseUntil: held?.leaseUntil ?? null,
    reason: row.reason ?? (record && "failure" in record ? record.failure.message : null),
  };
}

function statusOf(row: OutboxRow, record: StoredRecord | undefined, held: boolean): JobStatus {
  if (record === undefined) return row.state === "refused" ? "failed" : "available";
  switch (record.kind) {
    case "committed":
      return "completed";
    case "parked":
      return "failed";
    case "claimed":
      return held ? "claimed" : "available";
    case "released":
    case "failed":
      return "available";
    default:
      return unreachable(record);
  }
}
