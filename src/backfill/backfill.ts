// Backfill: takes the objects of a bucket through the stages of a pipeline.
//   B1. What the ledger applied is skipped by a read. That only saves work: a claim decides, so
//       that an event that arrives meanwhile and its listing are never both applied (S7 of
//       ledger/record-transitions.ts).
//   B2. An object whose event failed, is held, or is in flight is left to that event (V1 of
//       listed-event.ts).
//   B3. A page is done when all its objects have an outcome. Then its cursor is stored in the run's
//       row. A process that is killed is continued by the next one with the same request, after the
//       last page that was done; what was done of the next page is skipped by B1.
//   B4. No more objects are in memory than a page has. The next page is listed when all of one are
//       done, so a slow sink slows the listing down.
//   B5. Objects that are written later than the start are not listed: their events arrive.
//   B6. With versions, those of one object run one after another, the oldest first. A version that
//       is not done holds the later ones back, as it could not be applied after them.
//   B7. A pause of the pipeline holds a backfill as it holds a consumer: no handler starts, running
//       ones finish, and the backfill continues after the resume (pause-gate.ts).
//   B8. The rate holds after a pause, too: the time of the pause is not made up for.

import { formatInstant } from "../core/encoding/rfc3339.ts";
import { refuseValue } from "../core/errors.ts";
import type { ObjectEvent } from "../core/events/object-event.ts";
import { objectStateOf } from "../core/events/object-identity.ts";
import { type DurationMs, durationMs, type EpochMs, minutes, seconds } from "../core/units.ts";
import type { BatchRunner } from "../ingest/running/batch-runner.ts";
import type { Pause } from "../ingest/running/pause.ts";
import { createPauseGate, type PauseGate } from "../ingest/running/pause-gate.ts";
import type { Clock } from "../ports/clock.ts";
import type { Ledger, RunRow } from "../ports/ledger.ts";
import type { ListedObject, ObjectLister } from "../ports/objects/object-lister.ts";
import type { Delivery } from "../ports/queue-receiver.ts";
import type { LedgerScope } from "../ports/record.ts";
import { parametersOf, type StoredProgress, unfinishedRun } from "./backfill-progress.ts";
import { eventOf, pastsOf } from "./listed-event.ts";
import { listPages, wavesOf } from "./listed-pages.ts";
import { Pace } from "./pace.ts";
import type { ListedVersions } from "./version-order.ts";

/** What to take in. */
export interface BackfillWindow {
  readonly bucket: string;
  readonly prefix: string;
  /** Objects that were last modified at this time or later; null: all. */
  readonly since: EpochMs | null;
  /** Exclusive; null: up to the start of the backfill. */
  readonly until: EpochMs | null;
  /** All versions in their order (B6); without it, the current one of each object. */
  readonly versions: boolean;
}

export interface BackfillOptions {
  readonly scope: LedgerScope;
  readonly request: BackfillWindow;
  readonly runId: string;
  readonly digests: Pick<RunRow, "codeDigest" | "configDigest" | "environment">;
  /** Objects per second; null: as fast as the pipeline is. */
  readonly rate: number | null;
  readonly dryRun: boolean;
  /** How long a batch may take: longer than a handler. */
  readonly batchMs: DurationMs;
  /** Whether objects match, in addition to the request; for repairs. Default: all. */
  readonly only?: (object: ListedObject) => boolean;
  /** Skips versions of objects that are deleted now: for pipelines that act on removals. */
  readonly skipDeleted?: boolean;
  /** Called when a pause makes the backfill wait, and with null when it continues (B7). */
  readonly onPause?: ((pause: Pause | null) => void) | undefined;
}

export interface BackfillPorts {
  readonly clock: Clock;
  readonly ledger: Ledger;
  readonly lister: ObjectLister;
  /** Null for a dry run. */
  readonly runner: BatchRunner | null;
  /** The order that the stages of `runner` ask; required for a request with versions. */
  readonly order?: ListedVersions;
}

/** Objects so far, each counted once. */
export interface BackfillCounts {
  readonly listed: number;
  /** Outside of the times of the request. */
  readonly outside: number;
  /** The ledger had applied this state. */
  readonly skipped: number;
  /** Its event failed, is held or is in flight (B2). */
  readonly noticed: number;
  /** Committed, dead-lettered, or found to be a duplicate. */
  readonly done: number;
  /** Not done after all rounds: the next backfill tries again. */
  readonly unfinished: number;
}

/** How far a backfill is. */
export interface BackfillProgress extends BackfillCounts {
  /** Objects of the whole request; null while they are counted. */
  readonly total: number | null;
  /** Until the end at the present speed; null if it is not known. */
  readonly remainingMs: number | null;
}

/** What a backfill did. */
export interface BackfillResult extends BackfillCounts {
  readonly runId: string;
  /** Whether it continued a run that was killed (B3). */
  readonly continued: boolean;
}

const NONE: BackfillCounts = {
  listed: 0,
  outside: 0,
  skipped: 0,
  noticed: 0,
  done: 0,
  unfinished: 0,
};
/** Reads of the ledger at a time. */
const LOOKS_MAX = 64;
/** Deliveries that share a batch. */
const BATCH_MAX = 250;
/** Rounds of a batch in which nothing is done, one after another. */
const ROUNDS_MAX = 20;
/** For outcomes to be written after the time of a batch. */
const SETTLE_MS: DurationMs = seconds(15);
const DELAY_MS_MAX: DurationMs = minutes(5);

/** Runs a backfill to its end, or until `signal` aborts. */
export async function runBackfill(
  ports: BackfillPorts,
  options: BackfillOptions,
  signal: AbortSignal,
  onProgress: (progress: BackfillProgress) => void = () => undefined,
): Promise<BackfillResult> {
  const { clock } = ports;
  const startedAt = clock.now();
  const request = checkedRequest(options.request, startedAt);
  const { ledger } = ports;
  const previous = options.dryRun ? null : await unfinishedRun(ledger, options.scope, request);
  const run = new Backfill(ports, { ...options, request }, previous, startedAt);
  const counting = run.count(signal).catch(() => undefined);
  try {
    await run.all(signal, onProgress);
  } finally {
    run.stopCounting();
    await counting;
  }
  return { ...run.counts, runId: run.runId, continued: previous !== null };
}

/** Rejects a request that can never match. */
export function checkedRequest(request: BackfillWindow, now: EpochMs): BackfillWindow {
  const { since } = request;
  const until = request.until ?? now; // B5
  const text = (at: EpochMs) => formatInstant(at);
  if (since !== null && since > now) {
    refuseValue(`the start ${text(since)} is in the future; no object can match`);
  }
  if (since !== null && since >= until) {
    refuseValue(
      `the start ${text(since)} is not before the end ${text(until)}; no object can match`,
    );
  }
  return { ...request, until };
}

/** Keys whose newest entry is a delete marker. */
function deletedKeys(objects: readonly ListedObject[]): Set<string> {
  const keys = new Set(objects.map(({ key }) => key));
  for (const { key, isLatest } of objects) if (isLatest) keys.delete(key);
  return keys;
}

class Backfill {
  readonly #ports: BackfillPorts;
  readonly #options: BackfillOptions;
  readonly #pace: Pace;
  readonly #gate: PauseGate;
  readonly #first: EpochMs;
  readonly #ending = new AbortController();
  readonly runId: string;
  #cursor: string | null;
  #counts: BackfillCounts = NONE;
  #total: number | null = null;
  #deliveries = 0;

  constructor(
    ports: BackfillPorts,
    options: BackfillOptions,
    previous: StoredProgress | null,
    startedAt: EpochMs,
  ) {
    this.#ports = ports;
    this.#options = options;
    this.#pace = new Pace(ports.clock, startedAt, options.rate);
    const { scope, onPause: onChange } = options;
    this.#gate = createPauseGate(ports, { scope, onChange });
    this.#first = previous?.run.startedAt ?? startedAt;
    this.runId = previous?.run.id ?? options.runId;
    this.#cursor = previous?.cursor ?? null;
  }

  /** A batch is at most what the rate allows in a second. */
  get #batchMax(): number {
    return Math.min(BATCH_MAX, this.#options.rate ?? BATCH_MAX);
  }

  get counts(): BackfillCounts {
    return this.#counts;
  }

  stopCounting(): void {
    this.#ending.abort();
  }

  /** Counts the objects of the request ahead, for the estimate. */
  async count(signal: AbortSignal): Promise<void> {
    const either = AbortSignal.any([signal, this.#ending.signal]);
    let total = 0;
    for await (const { objects } of this.#pages(either)) total += objects.length;
    either.throwIfAborted();
    this.#total = total;
  }

  async all(signal: AbortSignal, onProgress: (progress: BackfillProgress) => void): Promise<void> {
    await this.#save(false);
    for await (const page of this.#pages(signal)) {
      await this.#page(page.objects, signal);
      this.#cursor = page.next;
      await this.#save(page.isLast);
      onProgress(this.#progress());
      signal.throwIfAborted();
    }
  }

  #pages(signal: AbortSignal) {
    const { bucket, prefix, versions } = this.#options.request;
    const request = { bucket, prefix, versions, after: this.#cursor };
    return listPages(this.#ports.lister, request, signal);
  }

  #progress(): BackfillProgress {
    const { listed } = this.#counts;
    const { tookMs } = this.#pace;
    const total = this.#total;
    const remainingMs =
      total === null || listed === 0 ? null : ((total - listed) / listed) * Math.max(tookMs, 1);
    return { ...this.#counts, total, remainingMs };
  }

  #add(name: keyof BackfillCounts, count: number): void {
    this.#counts = { ...this.#counts, [name]: this.#counts[name] + count };
  }

  /** Stores how far it is (B3). */
  async #save(ended: boolean): Promise<void> {
    const { scope, request, digests, dryRun } = this.#options;
    if (dryRun) return;
    const now = this.#ports.clock.now();
    await this.#ports.ledger.putRun(scope, {
      id: this.runId,
      kind: "backfill",
      startedAt: this.#first,
      endedAt: ended ? now : null,
      seenAt: now,
      ...digests,
      parameters: parametersOf(request, this.#cursor),
      counts: JSON.stringify(this.#counts),
    });
  }

  async #page(all: readonly ListedObject[], signal: AbortSignal): Promise<void> {
    const { request, only = () => true } = this.#options;
    const { since, until } = request;
    const objects = all.filter((object) => only(object));
    this.#add("listed", objects.length);
    const inTime = objects.filter(
      ({ lastModified: at }) => at >= (since ?? 0) && at < (until ?? Number.POSITIVE_INFINITY),
    );
    this.#add("outside", objects.length - inTime.length);
    const deleted = this.#options.skipDeleted === true ? deletedKeys(all) : new Set();
    if (request.versions) this.#ports.order?.replace(all.map((object) => this.#versionOf(object)));
    const present = inTime.filter(({ key }) => !deleted.has(key));
    this.#add("skipped", inTime.length - present.length);
    const wanted = await this.#unapplied(present);
    if (this.#options.dryRun) {
      this.#add("done", wanted.length);
      return;
    }
    const open = new Set<string>();
    for (const wave of wavesOf(wanted)) {
      const ready = wave.filter(({ key }) => !open.has(key)); // B6
      this.#add("unfinished", wave.length - ready.length);
      for (let from = 0; from < ready.length; from += this.#batchMax) {
        signal.throwIfAborted();
        const keys = await this.#rounds(ready.slice(from, from + this.#batchMax), signal);
        for (const key of keys) open.add(key);
      }
    }
  }

  #versionOf(object: ListedObject) {
    return {
      event: eventOf(this.#options.request.bucket, object),
      isLatest: object.isLatest,
    };
  }

  /** The events of objects that the pipeline has not applied, and that have no own event. */
  async #unapplied(objects: readonly ListedObject[]): Promise<ObjectEvent[]> {
    const { scope, request } = this.#options;
    const { ledger } = this.#ports;
    const open: { readonly event: ObjectEvent; readonly isLatest: boolean }[] = [];
    for (let from = 0; from < objects.length; from += LOOKS_MAX) {
      const some = objects.slice(from, from + LOOKS_MAX).map(async (object) => {
        const event = eventOf(request.bucket, object);
        const row = await ledger.showObject(scope, request.bucket, object.key);
        const isApplied = row?.applied !== undefined && row.applied.state === objectStateOf(event);
        return isApplied ? null : { event, isLatest: object.isLatest }; // B1
      });
      open.push(...(await Promise.all(some)).filter((entry) => entry !== null));
    }
    const events = open.map(({ event }) => event);
    const pasts = await pastsOf(ledger, scope, events);
    // V2 of listed-event.ts
    const isSkipped = (at: number) => pasts[at] === "applied" && open[at]?.isLatest === false;
    const wanted = events.filter((_, at) => pasts[at] !== "noticed" && !isSkipped(at));
    const noticed = pasts.filter((past) => past === "noticed").length;
    this.#add("noticed", noticed); // B2
    this.#add("skipped", objects.length - wanted.length - noticed);
    return wanted;
  }

  /** Runs deliveries until each is done, returned ones again; returns the keys of the others. */
  async #rounds(events: readonly ObjectEvent[], signal: AbortSignal): Promise<string[]> {
    const { clock, runner } = this.#ports;
    if (runner === null) return [];
    let open = events.map((event) => this.#deliveryOf(event));
    const keys = new Map(open.map(({ messageId }, at) => [messageId, events[at]?.key ?? ""]));
    const { batchMs } = this.#options;
    const time = { workMs: batchMs, totalMs: durationMs(batchMs + SETTLE_MS) };
    await this.#pace.wait(open.length, signal);
    for (let round = 1; round <= ROUNDS_MAX && open.length > 0; round += 1) {
      const resumed = await this.#pace.pause(() => this.#gate.passes(signal)); // B7, B8
      if (!resumed) signal.throwIfAborted();
      const results = await this.#gate.run(runner, open, time);
      const returned = results.filter(({ settlement }) => settlement.kind !== "delete");
      this.#add("done", results.length - returned.length);
      if (returned.length < open.length) round = 0;
      open = returned.map(({ delivery }) => ({
        ...delivery,
        receiveCount: delivery.receiveCount + 1,
      }));
      if (open.length === 0) return [];
      signal.throwIfAborted();
      const delays = returned.map(({ settlement }) =>
        settlement.kind === "return" ? settlement.delayMs : minutes(1),
      );
      await clock.sleep(durationMs(Math.min(Math.max(...delays, 1), DELAY_MS_MAX)), signal);
    }
    this.#add("unfinished", open.length);
    return open.map(({ messageId }) => keys.get(messageId) ?? "");
  }

  #deliveryOf(event: ObjectEvent): Delivery {
    this.#deliveries += 1;
    const id = `${this.runId}:${this.#deliveries}`;
    return {
      messageId: id,
      receipt: id,
      body: JSON.stringify(event),
      attributes: {},
      traceHeader: null,
      groupId: null,
      sentAt: this.#ports.clock.now(),
      receiveCount: 1,
      movedFrom: null,
    };
  }
}
