// Job registry: reports the state of an event, from registered to done. It stores nothing itself:
// the outbox has what was sent, the ledger what was processed.
//
//   available   registered, sent or not; no consumer has it, or one returned it or failed
//   claimed     a consumer is processing it, until the lease ends
//   completed   processed, once
//   failed      parked in the ledger, or rejected by the queue
//
//   J1. A claim whose lease has ended is available again, so no job is stuck forever.
//   J2. The ledger's key is that of the consuming pipeline and generation, made of the event's key.

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
  /** How often it was republished. */
  readonly epoch: number;
  readonly attempts: number;
  /** The consumer that has claimed it, and until when; null unless claimed. */
  readonly owner: string | null;
  readonly leaseUntil: EpochMs | null;
  /** Why the last attempt failed. */
  readonly reason: string | null;
}

export interface RegistryPorts {
  readonly outbox: Outbox;
  readonly ledger: Ledger;
  readonly clock: Clock;
}

export interface RegistryOptions {
  /** Name of the queue or topic that jobs are sent to. */
  readonly target: string;
  /** Pipeline and generation that process the jobs. */
  readonly scope: LedgerScope;
}

export interface JobRegistry {
  /** Returns the job of an event, or undefined if it was never registered. */
  find(source: string, dedupeKey: string): Promise<Job | undefined>;
  /** Returns the job of an outbox row. */
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
  const claim = record?.kind === "claimed" && record.leaseUntil > now ? record : null; // J1
  return {
    key: row.key,
    status: statusOf(row, record, claim !== null),
    sentAt: row.sentAt,
    epoch: row.epoch,
    attempts: record?.attempts ?? 0,
    owner: claim?.owner ?? null,
    leaseUntil: claim?.leaseUntil ?? null,
    reason: row.reason ?? (record && "failure" in record ? record.failure.message : null),
  };
}

function statusOf(row: OutboxRow, record: StoredRecord | undefined, claimed: boolean): JobStatus {
  if (record === undefined) return row.state === "refused" ? "failed" : "available";
  switch (record.kind) {
    case "committed":
      return "completed";
    case "parked":
      return "failed";
    case "claimed":
      return claimed ? "claimed" : "available";
    case "released":
    case "failed":
      return "available";
    default:
      return unreachable(record);
  }
}
