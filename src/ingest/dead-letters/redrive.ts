// Redrive: takes dead letters back to the queue they came from, and watches what becomes of them.
//   V1. Only what the filter names is touched; everything else is put back as it was found.
//   V2. A key goes back once per run, under the same key and in the same generation: copies of its
//       dead letter are taken for one. What fails again during the run is left for the next one.
//   V3. A run may die at any point (redrive-step.ts says why), and the next one picks up what it
//       left: letters not yet taken away, records on their way, dossiers of what was committed.
//   V4. Within a FIFO group, order is kept: when one cannot be sent, those behind it stay.
//   V5. A run that makes matters worse stops by itself.
//   V6. The ledger is asked in batches: about the letters of one receive together, and about what
//       is on its way once per receive, or when LOOK_MS have passed. What it is told is told letter
//       by letter, so that a run that ends early has reopened nothing that it did not send.

import {
  addMs,
  type DurationMs,
  durationMs,
  type EpochMs,
  minutes,
  seconds,
} from "../../core/units.ts";
import { asRecordKey, fenceOf } from "../../ledger/record-state.ts";
import type { Delivery } from "../../ports/queue-receiver.ts";
import type { Random } from "../../ports/random.ts";
import type { Fence, LedgerScope } from "../../ports/record.ts";
import { type DeadLetterFilter, matchesFilter } from "../policy/dead-letter-filter.ts";
import {
  REDRIVE_STOP_DEFAULT,
  type RedriveStopRule,
  tooManyFailAgain,
} from "../policy/redrive-stop.ts";
import { HALT_MS } from "../stages/fail.ts";
import { deadLetterFacts, dossiersOf } from "./dead-letter-list.ts";
import {
  createDeadLetterReader,
  isFrom,
  objectUrl,
  type ReadDeadLetter,
} from "./dead-letter-read.ts";
import { type DeadLetterScan, startScan } from "./dead-letter-scan.ts";
import type { Dossier } from "./dossier.ts";
import { createFollower, type Follower, fenceNow, type RedriveEnd } from "./redrive-follow.ts";
import {
  forgetCommitted,
  type RedriveStepPorts,
  reopenRecords,
  sendBack,
  takeAway,
} from "./redrive-step.ts";
import { batchesOf, type RecordViews, showRecords, sideBySide } from "./show-records.ts";

export interface RedrivePorts extends RedriveStepPorts {
  readonly random: Random;
}

export interface RedriveOptions {
  readonly scope: LedgerScope;
  readonly filter?: DeadLetterFilter | undefined;
  /** Tells what would be done and does nothing. */
  readonly dryRun?: boolean | undefined;
  readonly perSecond?: number | undefined;
  /** There is no dead-letter queue: what was given up on waits in its own. */
  readonly ownQueueOnly?: boolean | undefined;
  /** Items at most. */
  readonly limit?: number | undefined;
  /** Items that may be on their way at once. */
  readonly onTheirWayMax?: number | undefined;
  /** How long each item is followed. */
  readonly followMs?: DurationMs | undefined;
  readonly stop?: RedriveStopRule | undefined;
  /** Ends the run after the item in hand. */
  readonly signal?: AbortSignal | undefined;
}

export const REDRIVE_DEFAULTS = {
  perSecond: 10,
  limit: 100_000,
  onTheirWayMax: 100,
  followMs: minutes(2),
} as const;

/** How often the ledger is asked about what is on its way. */
const LOOK_MS: DurationMs = seconds(1);

export interface RedriveItem {
  readonly key: string;
  readonly object: string | null;
  readonly errorClass: string;
  readonly fingerprint: string;
  readonly failedAt: EpochMs;
}

export type RedriveEvent =
  | { readonly kind: "planned" | "sent" | "committed-before"; readonly item: RedriveItem }
  /** It waits in its own queue, which delivers it again by then. */
  | { readonly kind: "reopened"; readonly item: RedriveItem; readonly deliveredBy: EpochMs }
  /** A former run sent it. */
  | { readonly kind: "on-its-way"; readonly item: RedriveItem }
  /** Its dossier names a dead letter that the queue did not show. */
  | { readonly kind: "missing"; readonly item: RedriveItem }
  | { readonly kind: "refused"; readonly item: RedriveItem; readonly reason: string }
  | { readonly kind: "ended"; readonly item: RedriveItem; readonly end: RedriveEnd };

export interface RedriveSummary {
  planned: number;
  sent: number;
  reopened: number;
  committedBefore: number;
  refused: number;
  missing: number;
  committed: number;
  overtaken: number;
  failedAgain: number;
  waiting: number;
  /** Why the run ended before its work was done; null if it did not. */
  stopped: "too-many-failed" | "interrupted" | null;
}

type ItemFacts = Parameters<typeof matchesFilter>[0];

/**
 * One redrive run. Iterate over it once: each step does some work and yields an event. Leaving the
 * loop early returns the dead letters that were received and not redriven.
 */
export class Redrive implements AsyncIterable<RedriveEvent> {
  /** Counts the events so far; final once the iteration has ended. */
  readonly summary: RedriveSummary = {
    planned: 0,
    sent: 0,
    reopened: 0,
    committedBefore: 0,
    refused: 0,
    missing: 0,
    committed: 0,
    overtaken: 0,
    failedAgain: 0,
    waiting: 0,
    stopped: null,
  };
  readonly #ports: RedrivePorts;
  readonly #options: ReturnType<typeof withDefaults>;
  readonly #dryRun: boolean;
  readonly #runId: string;
  readonly #follower: Follower<RedriveItem>;
  readonly #read: ReturnType<typeof createDeadLetterReader>;
  /** Highest fence of each key that was processed (V2). */
  readonly #handled = new Map<string, Fence>();
  /** Messages that were sent back because of one of their bare letters (B6 of redrive-step.ts). */
  readonly #sentBare = new Set<string>();
  readonly #blockedGroups = new Set<string>();
  #nextAt: number;
  #lookedAt: number;

  constructor(ports: RedrivePorts, options: RedriveOptions) {
    const { clock, ledger, random } = ports;
    const { scope } = options;
    this.#ports = ports;
    this.#options = withDefaults(options);
    this.#dryRun = options.dryRun ?? false;
    this.#runId = random.uuid();
    const { followMs } = this.#options;
    this.#follower = createFollower<RedriveItem>({ clock, ledger }, { scope, followMs });
    this.#read = createDeadLetterReader(ports, scope);
    this.#nextAt = clock.monotonic();
    this.#lookedAt = clock.monotonic();
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
      yield* this.#look();
      if (this.#follower.size > 0) await this.#rest(LOOK_MS);
    }
    for (const item of this.#follower.letGo()) {
      yield this.#count({ kind: "ended", item, end: "waiting" });
    }
  }

  async *#look(): AsyncGenerator<RedriveEvent> {
    this.#lookedAt = this.#ports.clock.monotonic();
    for (const { item, end } of await this.#follower.look()) {
      yield this.#count({ kind: "ended", item, end });
    }
    const { committed, overtaken, failedAgain } = this.summary;
    const ends = { committed: committed + overtaken, failedAgain };
    const { stop = REDRIVE_STOP_DEFAULT } = this.#options;
    if (tooManyFailAgain(ends, stop)) this.summary.stopped ??= "too-many-failed"; // V5
  }

  /** Looks if the last look is LOOK_MS ago (V6). */
  async *#lookInTime(): AsyncGenerator<RedriveEvent> {
    if (this.#ports.clock.monotonic() - this.#lookedAt >= LOOK_MS) yield* this.#look();
  }

  async #rest(spanMs: DurationMs): Promise<void> {
    const { signal } = this.#options;
    await this.#ports.clock.sleep(spanMs, signal).catch(() => undefined);
    if (signal?.aborted) this.summary.stopped = "interrupted";
  }

  #count(event: RedriveEvent): RedriveEvent {
    count(this.summary, event);
    return event;
  }

  #isWanted(facts: ItemFacts): boolean {
    return matchesFilter(facts, this.#options.filter ?? {}, this.#ports.clock.now()); // V1
  }

  #mayContinue(): boolean {
    const { summary } = this;
    const { signal, limit } = this.#options;
    if (signal?.aborted) summary.stopped ??= "interrupted";
    const { planned, sent, reopened } = summary;
    return summary.stopped === null && planned + sent + reopened < limit;
  }

  /** Waits as the rate limit demands. */
  async #pace(): Promise<void> {
    const { clock } = this.#ports;
    const waitMs = this.#nextAt - clock.monotonic();
    if (waitMs > 0) await this.#rest(durationMs(Math.ceil(waitMs)));
    this.#nextAt = Math.max(this.#nextAt, clock.monotonic()) + 1_000 / this.#options.perSecond;
  }

  /** What lies in the dead-letter queue, as it comes. */
  async *#fromQueue(scan: DeadLetterScan): AsyncGenerator<RedriveEvent> {
    while (this.#mayContinue()) {
      // Waits before it receives, so that nothing is hidden for longer than it takes to send ten.
      yield* this.#look();
      if (this.#follower.size > this.#options.onTheirWayMax) {
        await this.#rest(LOOK_MS);
        continue;
      }
      const deliveries = await scan.next();
      if (deliveries.length === 0) return;
      const letters = await this.#chosen(deliveries);
      const keys = letters.flatMap(({ records }) => records.map(({ key }) => key));
      const views = await showRecords(this.#ports.ledger, this.#options.scope, keys); // V6
      for (const letter of letters) {
        if (!this.#mayContinue()) return;
        yield* this.#takeLetter(scan, letter, views);
        yield* this.#lookInTime();
      }
    }
  }

  /** The letters among them that came from our queue and are named by the filter (V1). */
  async #chosen(deliveries: readonly Delivery[]): Promise<ReadDeadLetter[]> {
    const { source } = this.#ports;
    const letters = await sideBySide(deliveries, this.#read);
    return letters.filter(
      (letter) => letter !== null && isFrom(letter, source.name) && this.#isWanted(letter),
    ) as ReadDeadLetter[];
  }

  async *#takeLetter(
    scan: DeadLetterScan,
    letter: ReadDeadLetter,
    views: RecordViews,
  ): AsyncGenerator<RedriveEvent> {
    const item = redriveItemOf(letter);
    const id = letter.failure === null ? letter.delivery.messageId : item.key;
    const former = this.#handled.get(id);
    if (former !== undefined) {
      // A copy; or what came back, which has a higher fence and stays (V2).
      if (letter.fence > former || this.#dryRun) return;
      if (await takeAway(this.#ports, letter)) scan.settled(letter.delivery);
      return;
    }
    const group = letter.delivery.groupId;
    if (group !== null && this.#blockedGroups.has(group)) return; // V4
    if (this.#dryRun) {
      this.#handled.set(id, letter.fence);
      yield this.#count({ kind: "planned", item });
      return;
    }
    const { bareOf } = letter;
    const wentBack = bareOf !== null && this.#sentBare.has(bareOf);
    if (!wentBack) await this.#pace();
    if (!this.#mayContinue()) return;
    const outcome = await sendBack(this.#ports, letter, { runId: this.#runId, views, wentBack });
    if (outcome.kind === "refused") {
      if (group !== null) this.#blockedGroups.add(group);
      yield this.#count({ kind: "refused", item, reason: outcome.reason });
      return;
    }
    scan.settled(letter.delivery);
    if (outcome.kind === "committed-before") {
      this.#handled.set(id, letter.fence);
      yield this.#count({ kind: "committed-before", item });
      return;
    }
    if (bareOf !== null) this.#sentBare.add(bareOf);
    this.#handled.set(id, letter.fence);
    for (const { key, fence } of outcome.records) {
      this.#handled.set(key, fenceOf(Math.max(letter.fence, fence)));
    }
    this.#follower.add({ item, records: outcome.records });
    yield this.#count({ kind: "sent", item });
  }

  /** What the ledger knows of and the queue did not show. */
  async *#fromLedger(): AsyncGenerator<RedriveEvent> {
    const { ledger, source } = this.#ports;
    for await (const batch of batchesOf(dossiersOf(ledger, this.#options.scope))) {
      const left = batch.filter(
        (dossier) =>
          dossier.queue === source.name &&
          !this.#handled.has(dossier.record_key) &&
          this.#isWanted(deadLetterFacts(dossier)), // V1
      );
      const keys = left.map((dossier) => asRecordKey(dossier.record_key));
      const views = await showRecords(ledger, this.#options.scope, keys); // V6
      for (const dossier of left) {
        if (!this.#mayContinue()) return;
        yield* this.#takeDossier(dossier, views);
        yield* this.#lookInTime();
      }
    }
  }

  async *#takeDossier(dossier: Dossier, views: RecordViews): AsyncGenerator<RedriveEvent> {
    const { ledger, clock } = this.#ports;
    const item = itemOfDossier(dossier);
    const key = asRecordKey(dossier.record_key);
    const view = views.get(key);
    const state = view?.record.kind;
    const record = { key, identity: dossier.idempotency_key, object: null };
    if (state === "committed") {
      if (!this.#dryRun) await forgetCommitted(ledger, this.#options.scope, key); // V3
      return;
    }
    if (state !== "parked") {
      if (this.#dryRun) return;
      this.#follower.add({ item, records: [{ ...record, fence: fenceNow(view) }] }); // V3
      yield this.#count({ kind: "on-its-way", item });
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
    const records = await reopenRecords(ledger, this.#options.scope, [record], views);
    this.#follower.add({ item, records });
    yield this.#count({ kind: "reopened", item, deliveredBy: addMs(clock.now(), HALT_MS) });
  }
}

function withDefaults(options: RedriveOptions) {
  const { perSecond, limit, onTheirWayMax, followMs } = options;
  return {
    ...options,
    perSecond: perSecond ?? REDRIVE_DEFAULTS.perSecond,
    limit: limit ?? REDRIVE_DEFAULTS.limit,
    onTheirWayMax: onTheirWayMax ?? REDRIVE_DEFAULTS.onTheirWayMax,
    followMs: followMs ?? REDRIVE_DEFAULTS.followMs,
  };
}

function count(summary: RedriveSummary, event: RedriveEvent): void {
  switch (event.kind) {
    case "ended":
      if (event.end === "failed-again") summary.failedAgain += 1;
      else summary[event.end] += 1;
      break;
    case "committed-before":
      summary.committedBefore += 1;
      break;
    case "on-its-way":
      break;
    default:
      summary[event.kind] += 1;
  }
}

export function redriveItemOf(letter: ReadDeadLetter): RedriveItem {
  const { records, shownObject: object, errorClass, fingerprint, failedAt } = letter;
  return { key: records[0]?.key ?? "", object, errorClass, fingerprint, failedAt };
}

function itemOfDossier(dossier: Dossier): RedriveItem {
  const { errorClass, fingerprint, failedAt } = deadLetterFacts(dossier);
  const object = dossier.object === null ? null : objectUrl(dossier.object);
  return { key: dossier.record_key, object, errorClass, fingerprint, failedAt };
}
