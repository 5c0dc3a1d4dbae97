// Job registry: reports the state of an event, from registered to done. It stores no state of jobs:
// the outbox has what was sent, the ledger what was processed.
//
//   available   registered, sent or not; no consumer has it, or one returned it or failed
//   claimed     a consumer is processing it, until the lease ends
//   completed   processed, once
//   failed      parked in the ledger, or rejected by the queue
//
// It also says whether all jobs of a batch are done, and which are not. Only a commit in the ledger
// makes a job done: "sent" says nothing about its work.
//
//   J1. A claim whose lease has ended is available again, so no job is stuck forever.
//   J2. The ledger's key is that of the consuming pipeline and generation, made of the event's key.
//   J3. An item whose commit was found is marked done in the batch, and later checks skip it. So a
//       check reads the items that are open, and a commit may leave the ledger after its retention.
//   J4. A batch is complete if it is sealed and all its items are marked done (H2, H4 of
//       batch-transitions.ts). A failed job keeps it open: a redrive can still complete it.

import { unreachable } from "../core/assert.ts";
import { envelopeKey } from "../core/events/envelope.ts";
import { ownIdentity } from "../core/events/own-message.ts";
import type { EpochMs } from "../core/units.ts";
import { recordKey } from "../ledger/record-key.ts";
import { isLeaseLive } from "../ledger/record-state.ts";
import type { ExpectedItem, JobBatch } from "../ports/batches.ts";
import type { Clock } from "../ports/clock.ts";
import type { Ledger } from "../ports/ledger.ts";
import type { Outbox, OutboxRow } from "../ports/outbox.ts";
import type { LedgerScope, StoredRecord } from "../ports/record.ts";

/** A failed attempt makes a job available again; "failed" means dead-lettered or refused. */
export type JobStatus = "available" | "claimed" | "completed" | "failed";

/** What outbox and ledger know about one event. */
export interface Job {
  /** The event's idempotency key, made of source and dedupe key. */
  readonly key: string;
  readonly status: JobStatus;
  /** Null if it is not sent yet. */
  readonly sentAt: EpochMs | null;
  /** How often it was republished. */
  readonly epoch: number;
  /** Attempts of the consumer that the ledger has counted. */
  readonly attempts: number;
  /** The consumer that has claimed it; null unless claimed. */
  readonly owner: string | null;
  /** When that claim ends unless it is renewed; null unless claimed. */
  readonly leaseUntil: EpochMs | null;
  /** Why the target refused it, or why the last attempt failed. */
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

/** A job as an item of a batch. */
export interface BatchJob extends Job {
  /** The business key or dedupe key. */
  readonly name: string;
}

/** Whether all jobs of a batch are done, and which are not. */
export interface BatchReport {
  readonly name: string;
  /** A batch that is still being registered is never complete. */
  readonly state: "registering" | "open" | "complete";
  /** Jobs of the batch, done or not. */
  readonly items: number;
  readonly done: number;
  /** Jobs that are not done, by status. */
  readonly open: Readonly<Record<Exclude<JobStatus, "completed">, number>>;
  /** The first of them, in the order of their names. */
  readonly jobs: readonly BatchJob[];
  readonly openedAt: EpochMs;
  readonly completedAt: EpochMs | null;
}

/** Looks up the state of events and of batches. */
export interface JobRegistry {
  /** Returns the job of an event, or undefined if it was never registered. */
  find(source: string, dedupeKey: string): Promise<Job | undefined>;
  /** Returns the job of an own message, by its business key. */
  findOwn(key: string): Promise<Job | undefined>;
  /** Checks a batch and lists up to `jobsMax` jobs that are not done; undefined if unknown. */
  batch(name: string, options?: { readonly jobsMax?: number }): Promise<BatchReport | undefined>;
  /** Whether all jobs of the batch are done; false if it is unknown. */
  isDone(name: string): Promise<boolean>;
  /** The jobs of a batch that are not done, in the order of their names. */
  openJobs(name: string): AsyncGenerator<BatchJob, void, undefined>;
  /** All batches of the target, in the order of their names. */
  batches(): AsyncGenerator<JobBatch, void, undefined>;
  /** Returns the job of an outbox row. */
  jobOf(row: OutboxRow): Promise<Job>;
}

const PAGE_ITEMS = 500;
const JOBS_MAX_DEFAULT = 100;

export function createJobRegistry(ports: RegistryPorts, options: RegistryOptions): JobRegistry {
  return new OutboxJobRegistry(ports, options);
}

class OutboxJobRegistry implements JobRegistry {
  readonly #ports: RegistryPorts;
  readonly #target: string;
  readonly #scope: LedgerScope;

  constructor(ports: RegistryPorts, { target, scope }: RegistryOptions) {
    this.#ports = ports;
    this.#target = target;
    this.#scope = scope;
  }

  find(source: string, dedupeKey: string): Promise<Job | undefined> {
    return this.#findByKey(envelopeKey(source, dedupeKey));
  }

  findOwn(key: string): Promise<Job | undefined> {
    return this.#findByKey(ownIdentity(this.#scope.pipeline, "body", key));
  }

  async jobOf(row: OutboxRow): Promise<Job> {
    return this.#jobOf(row.key, row, await this.#recordOf(row.key));
  }

  async batch(
    name: string,
    { jobsMax = JOBS_MAX_DEFAULT }: { readonly jobsMax?: number } = {},
  ): Promise<BatchReport | undefined> {
    const stored = await this.#ports.outbox.findBatch(this.#target, name);
    if (stored === undefined) return undefined;
    const open = { available: 0, claimed: 0, failed: 0 };
    const jobs: BatchJob[] = [];
    if (stored.completedAt === null) {
      for await (const job of this.#openJobs(stored)) {
        if (job.status === "completed") continue;
        open[job.status] += 1;
        if (jobs.length < jobsMax) jobs.push(job);
      }
    }
    const batch = jobs.length === 0 ? await this.#complete(stored) : stored;
    const { itemCount: items, openedAt, completedAt } = batch;
    const done = completedAt === null ? await this.#ports.outbox.countDoneItems(batch.id) : items;
    return { name, state: stateOf(batch), items, done, open, jobs, openedAt, completedAt };
  }

  async isDone(name: string): Promise<boolean> {
    const stored = await this.#ports.outbox.findBatch(this.#target, name);
    if (stored === undefined) return false;
    if (stored.completedAt !== null) return true; // J4
    for await (const _ of this.#openJobs(stored)) return false;
    return (await this.#complete(stored)).completedAt !== null;
  }

  async *openJobs(name: string): AsyncGenerator<BatchJob, void, undefined> {
    const stored = await this.#ports.outbox.findBatch(this.#target, name);
    if (stored !== undefined && stored.completedAt === null) yield* this.#openJobs(stored);
  }

  async *batches(): AsyncGenerator<JobBatch, void, undefined> {
    const { outbox } = this.#ports;
    let after: string | null = null;
    for (;;) {
      const page: JobBatch[] = await outbox.listBatches(this.#target, { after, limit: PAGE_ITEMS });
      yield* page;
      after = page.at(-1)?.name ?? null;
      if (page.length < PAGE_ITEMS) return;
    }
  }

  /** Jobs that are not done, page by page; marks those that are (J3). */
  async *#openJobs({ id }: JobBatch): AsyncGenerator<BatchJob, void, undefined> {
    const { outbox } = this.#ports;
    let after: string | null = null;
    for (;;) {
      const page: ExpectedItem[] = await outbox.openBatchItems(id, { after, limit: PAGE_ITEMS });
      const jobs = await this.#jobsOf(page);
      const done = page.filter((_, at) => jobs[at]?.status === "completed");
      if (done.length > 0) await outbox.markItemsDone(id, done); // J3
      for (const job of jobs) if (job.status !== "completed") yield job;
      after = page.at(-1)?.name ?? null;
      if (page.length < PAGE_ITEMS) return;
    }
  }

  async #jobsOf(page: readonly ExpectedItem[]): Promise<BatchJob[]> {
    const { outbox, ledger } = this.#ports;
    if (page.length === 0) return [];
    const keys = page.map(({ key }) => recordKey(this.#scope, key));
    const exists = await ledger.hasRecords(this.#scope, keys);
    return await Promise.all(
      page.map(async ({ name, key }, at) => {
        const record = exists[at] ? await this.#recordOf(key) : undefined;
        const row = await outbox.find(this.#target, key);
        return { ...this.#jobOf(key, row, record), name };
      }),
    );
  }

  /** The batch, complete if nothing of it is open (J4). */
  async #complete(batch: JobBatch): Promise<JobBatch> {
    if (batch.completedAt !== null) return batch;
    return (await this.#ports.outbox.completeBatch(this.#target, batch.name, batch.id)) ?? batch;
  }

  async #findByKey(key: string): Promise<Job | undefined> {
    const row = await this.#ports.outbox.find(this.#target, key);
    return row === undefined ? undefined : await this.jobOf(row);
  }

  async #recordOf(key: string): Promise<StoredRecord | undefined> {
    const { ledger } = this.#ports;
    return (await ledger.show(this.#scope, recordKey(this.#scope, key)))?.record; // J2
  }

  #jobOf(key: string, row: OutboxRow | undefined, record: StoredRecord | undefined): Job {
    return describe(key, row, record, this.#ports.clock.now());
  }
}

function stateOf({ sealedAt, completedAt }: JobBatch): BatchReport["state"] {
  if (completedAt !== null) return "complete";
  return sealedAt === null ? "registering" : "open";
}

function describe(
  key: string,
  row: OutboxRow | undefined,
  record: StoredRecord | undefined,
  now: EpochMs,
): Job {
  const claim = record?.kind === "claimed" && isLeaseLive(record.leaseUntil, now) ? record : null; // J1
  return {
    key,
    status: statusOf(row, record, claim !== null),
    sentAt: row?.sentAt ?? null,
    epoch: row?.epoch ?? 0,
    attempts: record?.attempts ?? 0,
    owner: claim?.owner ?? null,
    leaseUntil: claim?.leaseUntil ?? null,
    reason: row?.reason ?? (record && "failure" in record ? record.failure.message : null),
  };
}

function statusOf(
  row: OutboxRow | undefined,
  record: StoredRecord | undefined,
  claimed: boolean,
): JobStatus {
  if (record === undefined) return row?.state === "refused" ? "failed" : "available";
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
