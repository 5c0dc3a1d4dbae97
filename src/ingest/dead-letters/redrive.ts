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
import { createFollower, fenceNow, type RedriveEnd } from "./redrive-follow.ts";
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

/** Redrives what the filter names; the last value is the summary. */
export async function* redrive(
  ports: RedrivePorts,
  options: RedriveOptions,
): AsyncGenerator<RedriveEvent, RedriveSummary> {
  const run = createRun(ports, options);
  const scan = startScan(
    options.ownQueueOnly ? null : ports.deadLetters,
    options.signal && { signal: options.signal },
  );
  try {
    yield* fromQueue(run, scan);
    if (run.mayGoOn() && scan.complete) yield* fromLedger(run);
  } finally {
    await scan.close(); // V1
  }
  while (run.follower.size > 0 && run.summary.stopped !== "interrupted") {
    yield* run.look();
    if (run.follower.size > 0) await run.rest(LOOK_MS);
  }
  for (const item of run.follower.letGo()) yield run.tell({ kind: "ended", item, end: "waiting" });
  return run.summary;
}

type Run = ReturnType<typeof createRun>;

/** Messages that went back because of a bare letter of theirs (B6 of redrive-step.ts). */
const sentBare = () => new Set<string>();

function createRun(ports: RedrivePorts, options: RedriveOptions) {
  const { clock, ledger, random } = ports;
  const { scope, filter = {}, dryRun = false, signal, stop = REDRIVE_STOP_DEFAULT } = options;
  const { followMs = REDRIVE_DEFAULTS.followMs, limit = REDRIVE_DEFAULTS.limit } = options;
  const { perSecond = REDRIVE_DEFAULTS.perSecond } = options;
  const { onTheirWayMax = REDRIVE_DEFAULTS.onTheirWayMax } = options;
  const follower = createFollower<RedriveItem>({ clock, ledger }, { scope, followMs });
  const summary: RedriveSummary = {
    ...{ planned: 0, sent: 0, reopened: 0, committedBefore: 0, refused: 0, missing: 0 },
    ...{ committed: 0, overtaken: 0, failedAgain: 0, waiting: 0, stopped: null },
  };
  let nextAt = clock.monotonic();
  let lookedAt = clock.monotonic();

  async function* look(): AsyncGenerator<RedriveEvent> {
    lookedAt = clock.monotonic();
    for (const { item, end } of await follower.look()) {
      yield tell({ kind: "ended", item, end });
    }
    const { committed, overtaken, failedAgain } = summary;
    const ends = { committed: committed + overtaken, failedAgain };
    if (tooManyFailAgain(ends, stop)) summary.stopped ??= "too-many-failed"; // V5
  }

  async function rest(spanMs: DurationMs): Promise<void> {
    await clock.sleep(spanMs, signal).catch(() => undefined);
    if (signal?.aborted) summary.stopped = "interrupted";
  }

  function tell(event: RedriveEvent): RedriveEvent {
    count(summary, event);
    return event;
  }

  return {
    ...{ ports, scope, dryRun, summary, follower, rest, tell, onTheirWayMax },
    ...{ runId: random.uuid(), read: createDeadLetterReader(ports, scope), sent: sentBare() },
    /** Highest fence of each key that was dealt with (V2). */
    handled: new Map<string, Fence>(),
    blockedGroups: new Set<string>(),
    wanted: (facts: Parameters<typeof matchesFilter>[0]) =>
      matchesFilter(facts, filter, clock.now()),
    mayGoOn(): boolean {
      if (signal?.aborted) summary.stopped ??= "interrupted";
      const { planned, sent, reopened } = summary;
      return summary.stopped === null && planned + sent + reopened < limit;
    },
    /** Waits for its turn at the rate asked for. */
    async pace(): Promise<void> {
      const waitMs = nextAt - clock.monotonic();
      if (waitMs > 0) await rest(durationMs(Math.ceil(waitMs)));
      nextAt = durationMs(Math.max(nextAt, clock.monotonic()) + 1_000 / perSecond);
    },
    look,
    /** Looks if that was not done for a while (V6). */
    async *lookInTime(): AsyncGenerator<RedriveEvent> {
      if (clock.monotonic() - lookedAt >= LOOK_MS) yield* look();
    },
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

/** What lies in the dead-letter queue, as it comes. */
async function* fromQueue(run: Run, scan: DeadLetterScan): AsyncGenerator<RedriveEvent> {
  while (run.mayGoOn()) {
    // Waits before it receives, so that nothing is hidden for longer than it takes to send ten.
    yield* run.look();
    if (run.follower.size > run.onTheirWayMax) {
      await run.rest(LOOK_MS);
      continue;
    }
    const deliveries = await scan.next();
    if (deliveries.length === 0) return;
    const letters = await chosen(run, deliveries);
    const keys = letters.flatMap(({ records }) => records.map(({ key }) => key));
    const views = await showRecords(run.ports.ledger, run.scope, keys); // V6
    for (const letter of letters) {
      if (!run.mayGoOn()) return;
      yield* takeLetter(run, scan, letter, views);
      yield* run.lookInTime();
    }
  }
}

/** The letters among them that came from our queue and are named by the filter (V1). */
async function chosen(run: Run, deliveries: readonly Delivery[]): Promise<ReadDeadLetter[]> {
  const { source } = run.ports;
  const letters = await sideBySide(deliveries, run.read);
  return letters.filter(
    (letter) => letter !== null && isFrom(letter, source.name) && run.wanted(letter),
  ) as ReadDeadLetter[];
}

async function* takeLetter(
  run: Run,
  scan: DeadLetterScan,
  letter: ReadDeadLetter,
  views: RecordViews,
): AsyncGenerator<RedriveEvent> {
  const item = redriveItemOf(letter);
  const id = letter.failure === null ? letter.delivery.messageId : item.key;
  const former = run.handled.get(id);
  if (former !== undefined) {
    // A copy; or what came back, which has a higher fence and stays (V2).
    if (letter.fence > former || run.dryRun) return;
    if (await takeAway(run.ports, letter)) scan.settled(letter.delivery);
    return;
  }
  const group = letter.delivery.groupId;
  if (group !== null && run.blockedGroups.has(group)) return; // V4
  if (run.dryRun) {
    run.handled.set(id, letter.fence);
    yield run.tell({ kind: "planned", item });
    return;
  }
  const { bareOf } = letter;
  const wentBack = bareOf !== null && run.sent.has(bareOf);
  if (!wentBack) await run.pace();
  if (!run.mayGoOn()) return;
  const outcome = await sendBack(run.ports, letter, { runId: run.runId, views, wentBack });
  if (outcome.kind === "refused") {
    if (group !== null) run.blockedGroups.add(group);
    yield run.tell({ kind: "refused", item, reason: outcome.reason });
    return;
  }
  scan.settled(letter.delivery);
  if (outcome.kind === "committed-before") {
    run.handled.set(id, letter.fence);
    yield run.tell({ kind: "committed-before", item });
    return;
  }
  if (bareOf !== null) run.sent.add(bareOf);
  run.handled.set(id, letter.fence);
  for (const { key, fence } of outcome.records) {
    run.handled.set(key, fenceOf(Math.max(letter.fence, fence)));
  }
  run.follower.add({ item, records: outcome.records });
  yield run.tell({ kind: "sent", item });
}

/** What the ledger knows of and the queue did not show. */
async function* fromLedger(run: Run): AsyncGenerator<RedriveEvent> {
  const { ledger, source } = run.ports;
  for await (const batch of batchesOf(dossiersOf(ledger, run.scope))) {
    const left = batch.filter(
      (dossier) =>
        dossier.queue === source.name &&
        !run.handled.has(dossier.record_key) &&
        run.wanted(deadLetterFacts(dossier)), // V1
    );
    const keys = left.map((dossier) => asRecordKey(dossier.record_key));
    const views = await showRecords(ledger, run.scope, keys); // V6
    for (const dossier of left) {
      if (!run.mayGoOn()) return;
      yield* takeDossier(run, dossier, views);
      yield* run.lookInTime();
    }
  }
}

async function* takeDossier(
  run: Run,
  dossier: Dossier,
  views: RecordViews,
): AsyncGenerator<RedriveEvent> {
  const { ledger, clock } = run.ports;
  const item = itemOfDossier(dossier);
  const key = asRecordKey(dossier.record_key);
  const view = views.get(key);
  const state = view?.record.kind;
  const record = { key, identity: dossier.idempotency_key, object: null };
  if (state === "committed") {
    if (!run.dryRun) await forgetCommitted(ledger, run.scope, key); // V3
    return;
  }
  if (state !== "parked") {
    if (run.dryRun) return;
    run.follower.add({ item, records: [{ ...record, fence: fenceNow(view) }] }); // V3
    yield run.tell({ kind: "on-its-way", item });
    return;
  }
  if (dossier.dead_letter !== null) {
    yield run.tell({ kind: "missing", item });
    return;
  }
  if (run.dryRun) {
    yield run.tell({ kind: "planned", item });
    return;
  }
  await run.pace();
  if (!run.mayGoOn()) return;
  const records = await reopenRecords(ledger, run.scope, [record], views);
  run.follower.add({ item, records });
  yield run.tell({ kind: "reopened", item, deliveredBy: addMs(clock.now(), HALT_MS) });
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
