// Batches: registers the jobs that belong together, and sends them. batch-transitions.ts of ledger
// has the states of a batch, and what remains if the process dies at any step.
//   N1. The set of jobs is fixed first. The list is therefore read twice: once for its digest, once
//       to store its jobs. A list that differs the second time is rejected, and nothing is sealed.
//   N2. A job's row is in the outbox before it counts as an item of the batch. So every item of a
//       sealed batch is sent, by this process or by a relay.
//   N3. Registering again is idempotent: rows and items that exist are kept, and what is unsent is
//       sent. Other jobs under the same name are a conflict, reported before anything is stored.
//   N4. A job that another batch registered before is not sent again. It is an item of both.
//   N5. Batches that are registered at the same time share their sends: each job is sent once, not
//       once per registration (L3 of backlog.ts). A job that is sent again takes turns with them.

import { unreachable } from "../core/assert.ts";
import { refuseConfig, refuseValue, TidegateError } from "../core/errors.ts";
import type { EpochMs } from "../core/units.ts";
import type { ExpectedItem, JobBatch } from "../ports/batches.ts";
import type { OutboxEntry, OutboxLease, OutboxRow } from "../ports/outbox.ts";
import { type Backlog, createTurns, type InTurn, oneRunAtATime, sendBacklog } from "./backlog.ts";
import { BatchDigest } from "./batch-digest.ts";
import type { GroupStrategy } from "./group-strategy.ts";
import { type BatchJob, createJobRegistry, type RegistryPorts } from "./jobs.ts";
import { OutboxSender, type OutboxSenderOptions, type OutboxSenderPorts } from "./outbox-sender.ts";
import { type EventInput, isOwnMessage, type OwnMessage, prepare, violation } from "./prepare.ts";
import { SEND_LEASE_MS } from "./target.ts";

export type BatchesPorts = OutboxSenderPorts & RegistryPorts;

export interface BatchesOptions extends Omit<OutboxSenderOptions, "onPoint"> {
  /** Pipeline and generation that process the jobs. */
  readonly scope: { readonly pipeline: string; readonly generation: number };
  /** Required for FIFO targets, as in a producer. */
  readonly groups?: GroupStrategy;
  /**
   * Names this process in the outbox. Default: random. One process creates its `Batches` once: two
   * of one owner would send each other's jobs.
   */
  readonly owner?: string;
  /** For tests that kill the process at a named point. */
  readonly onPoint?: (point: BatchPoint) => void;
}

/** Points of a registration at which a test may kill the process. */
export type BatchPoint = "opened" | "rows-stored" | "page-stored" | "sealed";

/** A job of a batch: an own message, or an event of a Tidegate producer. */
export type JobInput = OwnMessage | EventInput;

/** The jobs of a batch: a list, or a function that returns the same jobs whenever it is called. */
export type JobInputs = readonly JobInput[] | (() => Iterable<JobInput> | AsyncIterable<JobInput>);

/** How a registration ended. */
export type RegisterBatchResult =
  | {
      readonly kind: "registered";
      readonly batch: JobBatch;
      /** Jobs that no batch or producer had registered before. */
      readonly added: number;
      /** Messages that this call sent, with older ones and those of calls at the same time. */
      readonly sent: number;
      /** Why messages are still pending; a relay or the next call sends them. Null if none are. */
      readonly failed: Error | null;
      /** Jobs of this call that another process leases and has not sent; null if there are none. */
      readonly leased: LeasedJobs | null;
    }
  /** The name belongs to a batch of other jobs; nothing was changed. */
  | { readonly kind: "conflict"; readonly batch: JobBatch; readonly itemCount: number };

/** Jobs that wait for another process, which may have died: at `until` any call may send them. */
export interface LeasedJobs {
  readonly count: number;
  /** The process that has the lease that ends last. */
  readonly owner: string;
  readonly until: EpochMs;
}

/** What a retry did with the jobs of a batch that are not done. */
export interface RetryReport {
  /** Jobs that were sent, or sent again under a new deduplication id. */
  readonly sent: number;
  /** Jobs that a consumer is processing; they are left alone. */
  readonly claimed: number;
  /** Dead-lettered jobs. A retry does not send them: redrive their dead letters. */
  readonly deadLettered: readonly BatchJob[];
  /** Why some jobs could not be sent; null if all were. */
  readonly failed: Error | null;
}

/** Registers batches of jobs, and retries those that are not done. */
export interface Batches {
  /** Registers the jobs of a batch and sends them. Repeat it until it resolves (N3). */
  register(
    name: string,
    jobs: JobInputs,
    options?: { readonly replace?: boolean },
  ): Promise<RegisterBatchResult>;
  /** Sends the jobs of a batch that are not done again; undefined if there is no such batch. */
  retry(name: string): Promise<RetryReport | undefined>;
}

const PAGE_JOBS = 500;

export function createBatches(ports: BatchesPorts, options: BatchesOptions): Batches {
  if (ports.target.fifo && options.groups === undefined) {
    const message = `${ports.target.name} is FIFO and needs a group strategy: set groups (perEntity, fixedGroups, ...)`;
    refuseConfig(message);
  }
  return new OutboxBatches(ports, options);
}

interface Counts {
  sent: number;
  claimed: number;
  failed: Error | null;
}

interface BusyRows {
  count: number;
  /** The row whose lease ends last. */
  lastKey: string | null;
  until: number;
}

interface PreparedJob {
  readonly item: ExpectedItem;
  readonly entry: OutboxEntry;
}

class OutboxBatches implements Batches {
  readonly #ports: BatchesPorts;
  readonly #options: BatchesOptions;
  readonly #lease: OutboxLease;
  readonly #inTurn: InTurn;
  readonly #sendPending: () => Promise<Backlog>;
  readonly #onPoint: (point: BatchPoint) => void;

  constructor(ports: BatchesPorts, options: BatchesOptions) {
    this.#ports = ports;
    this.#options = options;
    this.#lease = { owner: options.owner ?? ports.random.uuid(), leaseMs: SEND_LEASE_MS };
    this.#inTurn = createTurns();
    const send = () => sendBacklog(ports, this.#sender(), this.#lease);
    this.#sendPending = oneRunAtATime(this.#inTurn, send); // N5
    this.#onPoint = options.onPoint ?? (() => {});
  }

  async register(
    name: string,
    jobs: JobInputs,
    { replace = false }: { readonly replace?: boolean } = {},
  ): Promise<RegisterBatchResult> {
    const { outbox, target, random } = this.#ports;
    const declared = new BatchDigest();
    for await (const job of readJobs(jobs)) declared.add(this.#prepare(job).item);
    const { itemCount, digest } = declared;
    const input = { name, id: random.uuid(), itemCount, digest, replace };
    const opened = await outbox.openBatch(target.name, input); // N1
    if (opened.kind === "conflict") return { ...opened, itemCount }; // N3
    this.#onPoint("opened");
    const { id } = opened.batch;
    const { added, busy } = await this.#store(id, jobs, declared);
    const sealed = await outbox.sealBatch(target.name, name, id);
    if (sealed === undefined) {
      const batch = (await outbox.findBatch(target.name, name)) ?? opened.batch;
      return { kind: "conflict", batch, itemCount }; // Another process replaced it meanwhile.
    }
    this.#onPoint("sealed");
    const { sent, failed } = await this.#sendPending();
    const leased = await this.#leased(busy);
    return {
      kind: "registered",
      batch: sealed,
      added,
      sent,
      failed: failed?.error ?? null,
      leased,
    };
  }

  async retry(name: string): Promise<RetryReport | undefined> {
    const { outbox, target } = this.#ports;
    const registry = createJobRegistry(this.#ports, {
      target: target.name,
      scope: this.#options.scope,
    });
    if ((await outbox.findBatch(target.name, name)) === undefined) return undefined;
    const backlog = await this.#sendPending();
    const counts: Counts = {
      sent: backlog.sent,
      claimed: 0,
      failed: backlog.failed?.error ?? null,
    };
    const deadLettered: BatchJob[] = [];
    const sender = this.#sender();
    for await (const job of registry.openJobs(name)) {
      if (job.status === "claimed") counts.claimed += 1;
      else if (job.attempts > 0 && job.status === "failed") deadLettered.push(job);
      else {
        const result = await this.#inTurn(() => this.#resend(sender, job.key)); // N5
        if (result instanceof Error) counts.failed ??= result;
        else if (result) counts.sent += 1;
      }
    }
    return { ...counts, deadLettered };
  }

  /** What of the rows that were busy another process still has. */
  async #leased({ count, lastKey }: BusyRows): Promise<LeasedJobs | null> {
    const { outbox, target } = this.#ports;
    const row = lastKey === null ? undefined : await outbox.find(target.name, lastKey);
    if (row?.state !== "pending" || row.owner === this.#lease.owner) return null;
    return { count, owner: row.owner, until: row.leaseUntil };
  }

  /** Stores rows and items page by page; returns how many rows are new, and which are busy. */
  async #store(id: string, jobs: JobInputs, declared: BatchDigest) {
    const stored = new BatchDigest();
    const busy: BusyRows = { count: 0, lastKey: null, until: 0 };
    let added = 0;
    let page: PreparedJob[] = [];
    const flush = async () => {
      added += await this.#storePage(id, page, busy);
      page = [];
    };
    for await (const job of readJobs(jobs)) {
      const prepared = this.#prepare(job);
      if (stored.add(prepared.item)) page.push(prepared);
      if (page.length >= PAGE_JOBS) await flush();
    }
    await flush();
    const isSame = stored.digest === declared.digest && stored.itemCount === declared.itemCount;
    if (isSame) return { added, busy };
    refuseValue("the list of jobs changed while it was registered; pass the same list again"); // N1
  }

  async #storePage(id: string, page: readonly PreparedJob[], busy: BusyRows): Promise<number> {
    const { outbox, target } = this.#ports;
    const entries = page.map(({ entry }) => entry);
    const results = await outbox.register(target.name, entries, this.#lease); // N2
    this.#onPoint("rows-stored");
    const conflict = results.findIndex(({ kind }) => kind === "conflict");
    if (conflict !== -1) {
      const message = `the dedupe_key of ${page[conflict]?.item.name} was already used with another payload`;
      throw new TidegateError("TG_DEDUPE_KEY_REUSED", message);
    }
    for (const [at, result] of results.entries()) {
      if (result.kind !== "busy") continue;
      busy.count += 1;
      if (result.until < busy.until) continue;
      busy.until = result.until;
      busy.lastKey = entries[at]?.key ?? null;
    }
    const items = page.map(({ item }) => item);
    await outbox.addBatchItems(id, items);
    this.#onPoint("page-stored");
    return results.filter((result) => result.kind === "taken" && result.row.epoch === 0).length;
  }

  /** True if the row was sent; false if another process has it, or it is gone. */
  async #resend(sender: OutboxSender, key: string): Promise<boolean | Error> {
    const { outbox, target } = this.#ports;
    const row = await outbox.find(target.name, key);
    const mine = row === undefined ? undefined : await this.#take(row);
    if (mine === undefined) return false;
    const result = await sender.send(mine);
    return result.kind === "sent" ? true : result.error;
  }

  /** The row, leased: under its next epoch if it was sent, afresh if it was refused. */
  async #take(row: OutboxRow): Promise<OutboxRow | undefined> {
    const { outbox, target } = this.#ports;
    switch (row.state) {
      case "pending":
        return undefined; // The backlog has just been sent, or another process is sending it.
      case "sent": {
        const won = await outbox.republish(target.name, row.key, row.epoch, this.#lease);
        return won.kind === "taken" ? won.row : undefined;
      }
      case "refused": {
        const [result] = await outbox.register(target.name, [row], this.#lease);
        return result?.kind === "taken" ? result.row : undefined;
      }
      default:
        return unreachable(row.state);
    }
  }

  #sender(): OutboxSender {
    const { onPoint: _, ...options } = this.#options;
    return new OutboxSender(this.#ports, options);
  }

  #prepare(job: JobInput): PreparedJob {
    const { groups = null, scope } = this.#options;
    const { target } = this.#ports;
    const options = { target, groups, claimCheck: null, pipeline: scope.pipeline };
    const prepared = prepare(job, {}, options);
    if (prepared.kind === "invalid") throw violation(prepared);
    const { entry } = prepared.value;
    return { item: { name: nameOf(job), key: entry.key }, entry };
  }
}

function nameOf(job: JobInput): string {
  return isOwnMessage(job) ? String(job.key) : job.dedupeKey;
}

function readJobs(jobs: JobInputs): Iterable<JobInput> | AsyncIterable<JobInput> {
  return typeof jobs === "function" ? jobs() : jobs;
}
