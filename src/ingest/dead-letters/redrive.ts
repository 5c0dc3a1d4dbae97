// Redrive: sends dead letters back to the queue they came from and follows their records.
//   V1. A redrive touches only dead letters that match the filter. It returns all others unchanged.
//   V2. A run sends each record once, under the same key and in the same generation. Copies of its
//       dead letter count as one. A record that fails again during the run waits for the next run.
//   V3. A run may crash at any point (redrive-step.ts explains why). The next run continues with
//       the rest: dead letters not yet deleted, records in progress, dossiers of committed records.
//   V4. A FIFO group keeps its order: if a message cannot be sent, those behind it stay.
//   V5. A run stops by itself when too many records fail again.
//   V6. The ledger is read in batches: the dead letters of one receive together, and the followed
//       records once per receive or after POLL_MS. It is written per dead letter, so that a run
//       that ends early has not reopened a record that it did not send.

import { type DurationMs, durationMs, seconds } from "../../core/units.ts";
import { asRecordKey, fenceOf } from "../../ledger/record-state.ts";
import type { Delivery } from "../../ports/queue-receiver.ts";
import type { Random } from "../../ports/random.ts";
import type { Fence, LedgerScope } from "../../ports/record.ts";
import { type DeadLetterFilter, matchesFilter } from "../policy/dead-letter-filter.ts";
import {
  REDRIVE_DEFAULTS,
  type RedriveStopRule,
  tooManyFailAgain,
} from "../policy/redrive-stop.ts";
import type { OwnDecoding } from "../spec/own-source.ts";
import { deadLetterFacts } from "./dead-letter-list.ts";
import { createDeadLetterReader, isFrom, type ReadDeadLetter } from "./dead-letter-read.ts";
import { type DeadLetterScan, startScan } from "./dead-letter-scan.ts";
import type { Dossier } from "./dossier.ts";
import { dossiersOf } from "./dossier-list.ts";
import { wakeHalted } from "./halted-messages.ts";
import {
  countEvent,
  emptySummary,
  type RedriveEvent,
  type RedriveItem,
  type RedriveSummary,
} from "./redrive-events.ts";
import { createFollower, type Follower, fenceNow } from "./redrive-follow.ts";
import { itemOfDossier, redriveItemOf } from "./redrive-item.ts";
import {
  deleteDeadLetter,
  type RedriveStepPorts,
  removeCommittedDossier,
  reopenRecords,
  sendBack,
} from "./redrive-step.ts";
import { batchesOf, mapConcurrently, type RecordViews, showRecords } from "./show-records.ts";

export type { RedriveEvent, RedriveItem, RedriveSummary };

export interface RedrivePorts extends RedriveStepPorts {
  readonly random: Random;
}

export interface RedriveOptions {
  readonly scope: LedgerScope;
  readonly filter?: DeadLetterFilter | undefined;
  /** How the pipeline reads own messages; null if it is not known or has none. */
  readonly own?: OwnDecoding | null | undefined;
  /** Reports what would be redriven and changes nothing. */
  readonly dryRun?: boolean | undefined;
  readonly perSecond?: number | undefined;
  /** There is no dead-letter queue: dead-lettered messages stay in their own queue. */
  readonly ownQueueOnly?: boolean | undefined;
  /** Most items to redrive. */
  readonly limit?: number | undefined;
  /** Items that are followed at the same time. */
  readonly followedMax?: number | undefined;
  /** How long each item is followed. */
  readonly followMs?: DurationMs | undefined;
  readonly stop?: RedriveStopRule | undefined;
  /** Ends the run after the current item. */
  readonly signal?: AbortSignal | undefined;
}

/** How often the followed records are read from the ledger. */
const POLL_MS: DurationMs = seconds(1);

type ItemFacts = Parameters<typeof matchesFilter>[0];

/**
 * One redrive run. Iterate over it once: each step does some work and yields an event. Leaving the
 * loop early returns the dead letters that were received and not redriven.
 */
export class Redrive implements AsyncIterable<RedriveEvent> {
  /** Counts the events so far; final once the iteration has ended. */
  readonly summary: RedriveSummary = emptySummary();
  readonly #ports: RedrivePorts;
  readonly #options: ReturnType<typeof withDefaults>;
  readonly #dryRun: boolean;
  readonly #runId: string;
  readonly #follower: Follower<RedriveItem>;
  readonly #read: ReturnType<typeof createDeadLetterReader>;
  /** Highest fence of each key that was processed (V2). */
  readonly #handled = new Map<string, Fence>();
  /** Ids of messages sent for one of their bare dead letters (B6 of redrive-step.ts). */
  readonly #sentBare = new Set<string>();
  readonly #blockedGroups = new Set<string>();
  #nextAt: number;
  #polledAt: number;

  constructor(ports: RedrivePorts, options: RedriveOptions) {
    const { clock, ledger, random } = ports;
    const { scope } = options;
    this.#ports = ports;
    this.#options = withDefaults(options);
    this.#dryRun = options.dryRun ?? false;
    this.#runId = random.uuid();
    const { followMs } = this.#options;
    this.#follower = createFollower<RedriveItem>({ clock, ledger }, { scope, followMs });
    this.#read = createDeadLetterReader(ports, scope, options.own);
    this.#nextAt = clock.monotonic();
    this.#polledAt = clock.monotonic();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<RedriveEvent, void> {
    const { ownQueueOnly, signal } = this.#options;
    const queue = ownQueueOnly ? null : this.#ports.deadLetters;
    const scan = startScan(queue, signal && { signal });
    try {
      yield* this.#fromQueue(scan);
      if (this.#mayContinue() && scan.complete) yield* this.#fromLedger();
    } finally {
      await scan.close(); // V1
    }
    while (this.#follower.size > 0 && this.summary.stopped !== "interrupted") {
      yield* this.#poll();
      if (this.#follower.size > 0) await this.#sleep(POLL_MS);
    }
    for (const item of this.#follower.stop()) {
      yield this.#count({ kind: "ended", item, end: "waiting" });
    }
  }

  async *#poll(): AsyncGenerator<RedriveEvent> {
    this.#polledAt = this.#ports.clock.monotonic();
    for (const { item, end } of await this.#follower.poll()) {
      yield this.#count({ kind: "ended", item, end });
    }
    const { committed, overtaken, failedAgain } = this.summary;
    const ends = { committed: committed + overtaken, failedAgain };
    const { stop = REDRIVE_DEFAULTS.stop } = this.#options;
    if (tooManyFailAgain(ends, stop)) this.summary.stopped ??= "too-many-failed"; // V5
  }

  /** Polls if the last poll is POLL_MS ago (V6). */
  async *#pollIfDue(): AsyncGenerator<RedriveEvent> {
    if (this.#ports.clock.monotonic() - this.#polledAt >= POLL_MS) yield* this.#poll();
  }

  async #sleep(spanMs: DurationMs): Promise<void> {
    const { signal } = this.#options;
    await this.#ports.clock.sleep(spanMs, signal).catch(() => undefined);
    if (signal?.aborted) this.summary.stopped = "interrupted";
  }

  #count(event: RedriveEvent): RedriveEvent {
    countEvent(this.summary, event);
    return event;
  }

  #matches(facts: ItemFacts): boolean {
    return matchesFilter(facts, this.#options.filter ?? {}, this.#ports.clock.now()); // V1
  }

  #mayContinue(): boolean {
    const { summary } = this;
    const { signal, limit } = this.#options;
    if (signal?.aborted) summary.stopped ??= "interrupted";
    const { planned, sent, reopened } = summary;
    return summary.stopped === null && planned + sent + reopened < limit;
  }

  /** Waits for the rate limit. */
  async #pace(): Promise<void> {
    const { clock } = this.#ports;
    const waitMs = this.#nextAt - clock.monotonic();
    if (waitMs > 0) await this.#sleep(durationMs(Math.ceil(waitMs)));
    this.#nextAt = Math.max(this.#nextAt, clock.monotonic()) + 1_000 / this.#options.perSecond;
  }

  /** Redrives from the dead-letter queue. */
  async *#fromQueue(scan: DeadLetterScan): AsyncGenerator<RedriveEvent> {
    while (this.#mayContinue()) {
      // Waits before it receives, so that no message is hidden longer than ten sends take.
      yield* this.#poll();
      if (this.#follower.size > this.#options.followedMax) {
        await this.#sleep(POLL_MS);
        continue;
      }
      const deliveries = await scan.next();
      if (deliveries.length === 0) return;
      const deadLetters = await this.#select(deliveries);
      const keys = deadLetters.flatMap(({ records }) => records.map(({ key }) => key));
      const views = await showRecords(this.#ports.ledger, this.#options.scope, keys); // V6
      for (const deadLetter of deadLetters) {
        if (!this.#mayContinue()) return;
        yield* this.#redriveDeadLetter(scan, deadLetter, views);
        yield* this.#pollIfDue();
      }
    }
  }

  /** The dead letters that came from the source queue and match the filter (V1). */
  async #select(deliveries: readonly Delivery[]): Promise<ReadDeadLetter[]> {
    const { source } = this.#ports;
    const deadLetters = await mapConcurrently(deliveries, this.#read);
    return deadLetters.filter(
      (each) => each !== null && isFrom(each, source.name) && this.#matches(each),
    ) as ReadDeadLetter[];
  }

  async *#redriveDeadLetter(
    scan: DeadLetterScan,
    deadLetter: ReadDeadLetter,
    views: RecordViews,
  ): AsyncGenerator<RedriveEvent> {
    const item = redriveItemOf(deadLetter);
    const id = deadLetter.failure === null ? deadLetter.delivery.messageId : item.key;
    const handledFence = this.#handled.get(id);
    if (handledFence !== undefined) {
      // A copy, or a record that failed again: it has a higher fence and stays (V2).
      if (deadLetter.fence > handledFence || this.#dryRun) return;
      if (await deleteDeadLetter(this.#ports, deadLetter)) scan.markDeleted(deadLetter.delivery);
      return;
    }
    const group = deadLetter.delivery.groupId;
    if (group !== null && this.#blockedGroups.has(group)) return; // V4
    if (this.#dryRun) {
      this.#handled.set(id, deadLetter.fence);
      yield this.#count({ kind: "planned", item });
      return;
    }
    const { bareOf } = deadLetter;
    const alreadySent = bareOf !== null && this.#sentBare.has(bareOf);
    if (!alreadySent) await this.#pace();
    if (!this.#mayContinue()) return;
    const run = { runId: this.#runId, views, alreadySent };
    const outcome = await sendBack(this.#ports, deadLetter, run);
    if (outcome.kind === "refused") {
      if (group !== null) this.#blockedGroups.add(group);
      yield this.#count({ kind: "refused", item, reason: outcome.reason });
      return;
    }
    scan.markDeleted(deadLetter.delivery);
    if (outcome.kind === "committed-before") {
      this.#handled.set(id, deadLetter.fence);
      yield this.#count({ kind: "committed-before", item });
      return;
    }
    if (bareOf !== null) this.#sentBare.add(bareOf);
    this.#handled.set(id, deadLetter.fence);
    for (const { key, fence } of outcome.records) {
      this.#handled.set(key, fenceOf(Math.max(deadLetter.fence, fence)));
    }
    this.#follower.add({ item, records: outcome.records });
    yield this.#count({ kind: "sent", item });
  }

  /** Redrives the dossiers whose dead letters the queue did not return. */
  async *#fromLedger(): AsyncGenerator<RedriveEvent> {
    const { ledger, source } = this.#ports;
    for await (const batch of batchesOf(dossiersOf(ledger, this.#options.scope))) {
      const remaining = batch.filter(
        (dossier) =>
          dossier.queue === source.name &&
          !this.#handled.has(dossier.record_key) &&
          this.#matches(deadLetterFacts(dossier)), // V1
      );
      const keys = remaining.map((dossier) => asRecordKey(dossier.record_key));
      const views = await showRecords(ledger, this.#options.scope, keys); // V6
      for (const dossier of remaining) {
        if (!this.#mayContinue()) return;
        yield* this.#redriveDossier(dossier, views);
        yield* this.#pollIfDue();
      }
    }
  }

  async *#redriveDossier(dossier: Dossier, views: RecordViews): AsyncGenerator<RedriveEvent> {
    const { ledger } = this.#ports;
    const { scope } = this.#options;
    const item = itemOfDossier(dossier);
    const key = asRecordKey(dossier.record_key);
    const view = views.get(key);
    const state = view?.record.kind;
    const record = { key, identity: dossier.idempotency_key, object: null };
    if (state === "committed") {
      if (!this.#dryRun) await removeCommittedDossier(ledger, this.#options.scope, key); // V3
      return;
    }
    if (state !== "parked") {
      if (this.#dryRun) return;
      await wakeHalted(this.#ports, scope, key); // V3
      this.#follower.add({ item, records: [{ ...record, fence: fenceNow(view) }] }); // V3
      yield this.#count({ kind: "in-progress", item });
      return;
    }
    if (dossier.dead_letter !== null) {
      yield this.#count({ kind: "missing", item });
      return;
    }
    if (this.#dryRun) {
      yield this.#count({ kind: "planned", item });
      return;
    }
    await this.#pace();
    if (!this.#mayContinue()) return;
    const records = await reopenRecords(ledger, scope, [record], views);
    this.#follower.add({ item, records });
    const deliveredBy = await wakeHalted(this.#ports, scope, key);
    yield this.#count({ kind: "reopened", item, deliveredBy });
  }
}

function withDefaults(options: RedriveOptions) {
  const { perSecond, limit, followedMax, followMs } = options;
  return {
    ...options,
    perSecond: perSecond ?? REDRIVE_DEFAULTS.perSecond,
    limit: limit ?? REDRIVE_DEFAULTS.limit,
    followedMax: followedMax ?? REDRIVE_DEFAULTS.followedMax,
    followMs: followMs ?? REDRIVE_DEFAULTS.followMs,
  };
}
