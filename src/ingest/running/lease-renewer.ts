// Lease renewer: renews the leases of deliveries in flight. K1 to K3 are in
// ports/lease-renewer.ts. policy/lease-term.ts decides when and for how long; this file is the loop
// around it.
//   H1. A renewal counts only if its response is read while the lease is still valid. SQS accepts
//       an old receipt even if another consumer has received the message in between, so a late
//       "done" proves nothing. A process that was frozen past its lease never revives it.
//   H2. The loop never waits for a request: a request that hangs delays no other, and the loop
//       still checks leases in time.
//   H3. A renewal that fails, or is rejected without the receipt being dead, is retried until the
//       lease is over. Trying loses nothing.
//   H4. If the queue runs on the same event loop, it stands still whenever the renewer does, and
//       redelivers nothing meanwhile. `loopQueue` therefore stops the renewer's time at an alarm
//       that is overdue, until it fires. A message that is received by another consumer all the
//       same, before the alarm fires, is decided by its fence.

import { present } from "../../core/assert.ts";
import { reasonOf } from "../../core/errors.ts";
import { SQS_BATCH_ENTRIES_MAX } from "../../core/limits.ts";
import { type DurationMs, durationMs, type EpochMs, epochMs } from "../../core/units.ts";
import { LEDGER_BATCH_MAX } from "../../ledger/batches.ts";
import type { Clock } from "../../ports/clock.ts";
import type { HeldClaim, HeldLease, LeaseRenewer } from "../../ports/lease-renewer.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { QueueReceiver } from "../../ports/queue-receiver.ts";
import type { LedgerScope } from "../../ports/record.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import {
  ceilingOf,
  dueAt,
  endOf,
  hasCome,
  isOver,
  isSoonDue,
  type LeaseTerm,
  type Moment,
  momentOf,
  renewalSpan,
  retryAt,
} from "../policy/lease-term.ts";

export interface LeaseRenewerPorts {
  readonly queue: Pick<QueueReceiver, "name" | "changeVisibility">;
  /** Null if claims are not renewed here. */
  readonly ledger: Pick<Ledger, "renew"> | null;
  readonly scope: LedgerScope;
  readonly clock: Clock;
  readonly telemetry: Pick<Telemetry, "log">;
}

export interface LeaseRenewerOptions {
  /** The visibility timeout with which deliveries are received and renewed. */
  readonly visibilityMs: DurationMs;
  /** The lease with which claims are made and renewed. */
  readonly leaseMs: DurationMs;
  /** Called with the end of a lease whenever it changes; null if the lease is lost. */
  readonly onTerm?: (receipt: string, end: Moment | null) => void;
  /** Whether the queue runs on this event loop (H4). Default: false. */
  readonly loopQueue?: boolean;
}

/** Requests in flight at once; further renewals wait for one of them to end. */
const CALLS_MAX = 8;

/** Shared, because creating an error for each costs more than the alarm. */
const STOPPED = new Error("the alarm was stopped");

/** A lease or a claim: its term is renewed by requests that may fail. */
interface Renewable {
  term: LeaseTerm;
  /** Whether a request that renews it is in flight. */
  renewing: boolean;
  /** The earliest next renewal, on the monotonic clock. */
  waitUntil: DurationMs;
}

interface Lease extends Renewable {
  readonly receipt: string;
  readonly since: Moment;
  readonly onLost: (reason: string) => void;
  readonly claims: Map<string, Claim>;
}

interface Claim extends Renewable {
  readonly held: HeldClaim;
  readonly lease: Lease;
}

export function createLeaseRenewer(
  ports: LeaseRenewerPorts,
  options: LeaseRenewerOptions,
): LeaseRenewer {
  return new LoopLeaseRenewer(ports, options);
}

class LoopLeaseRenewer implements LeaseRenewer {
  readonly #ports: LeaseRenewerPorts;
  readonly #options: LeaseRenewerOptions;
  readonly #leases = new Map<string, Lease>();
  readonly #calls = new Set<Promise<void>>();
  #alarm: { readonly at: number; readonly stop: AbortController } | null = null;
  /** How long the event loop stood still, in total (H4). */
  #stalledMs = 0;
  #closed = false;

  constructor(ports: LeaseRenewerPorts, options: LeaseRenewerOptions) {
    this.#ports = ports;
    this.#options = options;
  }

  track({ receipt, since: asked }: HeldLease, onLost: (reason: string) => void): void {
    const since = this.#momentOf(asked);
    const term = { from: since, spanMs: this.#options.visibilityMs };
    const claims = new Map<string, Claim>();
    const lease: Lease = { receipt, since, onLost, claims, ...fresh(term) };
    this.#leases.set(receipt, lease);
    this.#reportTerm(lease);
    this.#wakeAt(dueAt(term));
  }

  attach(receipt: string, held: HeldClaim, since: EpochMs): void {
    const lease = this.#leases.get(receipt);
    if (lease === undefined || this.#ports.ledger === null) return;
    const from = this.#momentOf(since); // T2
    const term = { from, spanMs: this.#options.leaseMs };
    lease.claims.set(held.key, { held, lease, ...fresh(term) });
    this.#reportTerm(lease);
    this.#wakeAt(dueAt(term));
  }

  detach(receipt: string, { key, fence }: HeldClaim): void {
    const lease = this.#leases.get(receipt);
    if (lease?.claims.get(key)?.held.fence !== fence) return;
    lease.claims.delete(key);
    this.#reportTerm(lease);
  }

  release(receipt: string): void {
    this.#leases.delete(receipt); // K3
  }

  alive(receipt: string): boolean {
    const lease = this.#leases.get(receipt);
    return lease !== undefined && whyLost(lease, this.#now()) === null;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#alarm?.stop.abort(STOPPED);
    this.#leases.clear();
    await Promise.all(this.#calls);
  }

  /** The current time, without that in which the event loop stood still (H4). */
  #now(): Moment {
    const { clock } = this.#ports;
    const standstillMs = this.#standstillMs();
    return {
      wall: epochMs(clock.now() - standstillMs),
      steady: durationMs(clock.monotonic() - standstillMs),
    };
  }

  /** An instant by the clock, as a moment of the renewer's own time. */
  #momentOf(instant: EpochMs): Moment {
    return momentOf(epochMs(instant - this.#standstillMs()), this.#now());
  }

  #standstillMs(): number {
    return this.#stalledMs + this.#overdueMs();
  }

  /** How long ago the alarm should have fired. */
  #overdueMs(): number {
    if (this.#options.loopQueue !== true || this.#alarm === null) return 0;
    const steady = this.#ports.clock.monotonic() - this.#stalledMs;
    return Math.max(0, steady - this.#alarm.at);
  }

  /** One round: ends leases that are over, renews those that are due, and sets the next alarm. */
  #beat(): void {
    if (this.#closed) return;
    const now = this.#now();
    const due: Lease[] = [];
    const claimsDue: Claim[] = [];
    for (const lease of [...this.#leases.values()]) {
      const reason = whyLost(lease, now);
      if (reason !== null) {
        this.#lose(lease, reason);
        continue;
      }
      if (isRenewable(lease, now)) due.push(lease);
      for (const claim of lease.claims.values()) if (isRenewable(claim, now)) claimsDue.push(claim);
    }
    for (const batch of batchesOf(due, SQS_BATCH_ENTRIES_MAX)) {
      this.#call(batch, () => this.#renewDeliveries(batch));
    }
    for (const batch of batchesOf(claimsDue, LEDGER_BATCH_MAX)) {
      this.#call(batch, () => this.#renewClaims(batch));
    }
    this.#sleep(now);
  }

  /** Sleeps until the first lease is due or over; one that is being renewed can only be over. */
  #sleep(now: Moment): void {
    let next = Number.POSITIVE_INFINITY;
    const busy = this.#calls.size >= CALLS_MAX; // The first to end starts the next round.
    for (const lease of this.#leases.values()) {
      for (const each of [lease, ...lease.claims.values()]) {
        const over = endOf(each.term).steady;
        const due = Math.max(dueAt(each.term), each.waitUntil);
        next = Math.min(next, each.renewing || busy ? over : Math.min(due, over));
      }
      next = Math.min(next, ceilingOf(lease.since).steady);
    }
    if (next !== Number.POSITIVE_INFINITY) this.#wakeAt(Math.max(next, now.steady + 1));
  }

  /** Makes the next round start at `at` or earlier. */
  #wakeAt(at: number): void {
    if (this.#closed || (this.#alarm !== null && this.#alarm.at <= at)) return;
    this.#alarm?.stop.abort(STOPPED);
    const span = durationMs(Math.max(0, at - this.#now().steady));
    const alarm = { at, stop: new AbortController() };
    this.#alarm = alarm;
    this.#ports.clock.sleep(span, alarm.stop.signal).then(
      () => {
        if (this.#alarm !== alarm) return;
        this.#stalledMs += this.#overdueMs(); // H4
        this.#alarm = null;
        this.#beat();
      },
      () => {}, // Stopped: another alarm replaces it, or none is needed.
    );
  }

  #call(batch: readonly Renewable[], renew: () => Promise<void>): void {
    if (this.#calls.size >= CALLS_MAX) return;
    for (const each of batch) each.renewing = true;
    const call = renew().finally(() => {
      for (const each of batch) each.renewing = false;
      this.#calls.delete(call);
      this.#beat(); // H2
    });
    this.#calls.add(call);
  }

  async #renewDeliveries(batch: readonly Lease[]): Promise<void> {
    const from = this.#now(); // T2
    const changes = batch.map(({ receipt, since }) => {
      return { receipt, visibilityMs: renewalSpan(since, from, this.#options.visibilityMs) };
    });
    const outcomes = await this.#answer(batch, this.#ports.queue.changeVisibility(changes));
    const now = this.#now();
    for (const [at, lease] of batch.entries()) {
      const outcome = outcomes?.[at];
      const spanMs = changes[at]?.visibilityMs ?? durationMs(0);
      if (outcome?.kind === "done") this.#confirm(lease, lease, { from, spanMs }, now);
      else if (outcome?.kind === "gone") this.#lose(lease, outcome.reason);
      else if (outcome !== undefined) this.#postpone([lease], outcome.reason);
    }
  }

  async #renewClaims(batch: readonly Claim[]): Promise<void> {
    const ledger = present(this.#ports.ledger, "the ledger of a claim");
    const from = this.#now();
    const { leaseMs: spanMs } = this.#options;
    const held = batch.map((claim) => claim.held);
    const results = await this.#answer(batch, ledger.renew(this.#ports.scope, held, spanMs));
    const now = this.#now();
    for (const [at, claim] of batch.entries()) {
      const { lease } = claim;
      // A claim that was detached meanwhile may have been committed, which fences it, too.
      if (lease.claims.get(claim.held.key) !== claim) continue;
      const result = results?.[at];
      if (result?.kind === "renewed") this.#confirm(claim, lease, { from, spanMs }, now);
      else if (result?.kind === "fenced") this.#lose(lease, "another consumer has its claim");
    }
  }

  /** The response to a request, or undefined if it failed and is retried (H3). */
  #answer<T>(batch: readonly Renewable[], asked: Promise<T>): Promise<T | undefined> {
    return asked.catch((error: unknown) => {
      this.#postpone(batch, reasonOf(error));
      return undefined;
    });
  }

  #confirm(each: Renewable, lease: Lease, term: LeaseTerm, now: Moment): void {
    const reason = whyLost(lease, now);
    if (reason !== null) {
      this.#lose(lease, reason); // H1
      return;
    }
    each.term = term;
    each.waitUntil = durationMs(0);
    this.#reportTerm(lease);
  }

  #postpone(batch: readonly Renewable[], reason: string): void {
    const now = this.#now();
    for (const each of batch) each.waitUntil = retryAt(each.term, now);
    const message = `renewing ${batch.length} leases failed, retrying: ${reason}`;
    this.#ports.telemetry.log("warn", message, { queue: this.#ports.queue.name });
  }

  #lose(lease: Lease, reason: string): void {
    if (this.#leases.get(lease.receipt) !== lease) return; // Released, or lost before (K2).
    this.#leases.delete(lease.receipt);
    this.#options.onTerm?.(lease.receipt, null);
    lease.onLost(reason);
  }

  #reportTerm(lease: Lease): void {
    if (this.#options.onTerm === undefined || this.#leases.get(lease.receipt) !== lease) return;
    const ends = [lease, ...lease.claims.values()].map(({ term }) => endOf(term));
    this.#options.onTerm(lease.receipt, earliest([...ends, ceilingOf(lease.since)]));
  }
}

function fresh(term: LeaseTerm): Renewable {
  return { term, renewing: false, waitUntil: durationMs(0) };
}

function isRenewable({ term, renewing, waitUntil }: Renewable, now: Moment): boolean {
  return !renewing && now.steady >= waitUntil && isSoonDue(term, now);
}

function whyLost(lease: Lease, now: Moment): string | null {
  if (hasCome(ceilingOf(lease.since), now)) return "it was held for as long as SQS allows";
  if (isOver(lease.term, now)) return "its visibility was not renewed in time";
  for (const claim of lease.claims.values()) {
    if (isOver(claim.term, now)) return "its claim was not renewed in time";
  }
  return null;
}

function earliest(moments: readonly Moment[]): Moment {
  return {
    wall: epochMs(Math.min(...moments.map(({ wall }) => wall))),
    steady: durationMs(Math.min(...moments.map(({ steady }) => steady))),
  };
}

function batchesOf<T>(all: readonly T[], size: number): T[][] {
  const count = Math.ceil(all.length / size);
  return Array.from({ length: count }, (_, at) => all.slice(at * size, (at + 1) * size));
}
