// Complete up to: the event time up to which a pipeline has settled everything that arrived.
//   U1. The result is at most the watermark, and at most the event time of every record that is not
//       settled: queued, in flight, in retry, dead-lettered or held. Late data lowers it again,
//       until that is settled, too.
//   U2. Queues are read before the ledger. A record moves from the queue to the ledger and never
//       the other way without leaving a trace in the ledger, so one of the two reads finds it.
//   U3. The embedded cloud shows its queued messages, so the result is exact. SQS only counts them:
//       there the result is an estimate from the counts, from the reports of running processes and
//       from how long messages waited. Without a running process, it is unknown.
//       A hidden message that no report accounts for may be of any age: the result is unknown.
//       Messages of the dead-letter queue are not estimated if there are as many failure reports.
//   U4. A record that an operator dropped, and one that was sent to the late queue, is settled in
//       this pipeline; messages that are still in the late queue count as queued.
//   U5. A queued message whose records are all committed does not hold anything back.
//   U6. A record in retry has a hidden message, or one that waits among newer ones. A store with
//       lists has its event time, and so has the report of the process that returned it. The
//       report of a process that is gone counts until another one takes it over, unless the queues
//       are empty.
//   U7. A record in retry, or one that a process left behind, holds nothing back after a newer
//       event of its object was applied: it never takes effect.

import { TidegateError } from "../../core/errors.ts";
import { type EpochMs, epochMs, msBetween } from "../../core/units.ts";
import { everyRecord } from "../../ledger/every-record.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Ledger, ListedRecord } from "../../ports/ledger.ts";
import type { ObjectSource } from "../../ports/objects/object-source.ts";
import type { Delivery } from "../../ports/queue-receiver.ts";
import type { LedgerScope, RecordKey } from "../../ports/record.ts";
import { dossiersOf } from "../dead-letters/dossier-list.ts";
import { isOvertaken } from "../dead-letters/is-overtaken.ts";
import { POLL_FRESH_MS } from "../policy/watermark.ts";
import { type ProcessReport, readReports } from "../running/partition-report.ts";
import type { Pipeline } from "../spec/define-pipeline.ts";
import { findHeld, heldOf, isHeldFailure } from "./held-note.ts";
import { createQueueReader } from "./queued-records.ts";

/** What is in a queue: its messages (U3), or only how many there are. */
export type QueueLook =
  | { readonly kind: "exact"; readonly name: string; messages(): AsyncIterable<QueuedMessage> }
  | {
      readonly kind: "counted";
      readonly name: string;
      readonly isDeadLetters?: boolean;
      counts(): Promise<{
        readonly visible: number;
        readonly delayed: number;
        /** Received and not deleted. */
        readonly hidden: number;
      }>;
    };

/** A message that is in a queue, received or not. */
export type QueuedMessage = Pick<
  Delivery,
  "messageId" | "body" | "attributes" | "groupId" | "sentAt" | "receiveCount"
>;

/** Why it is not later. */
export interface Holder {
  readonly kind: "watermark" | "queued" | "in flight" | "in retry" | "dead-lettered" | "held";
  /** Null if the event time is not known. */
  readonly eventTime: EpochMs | null;
  /** The object, business key or record key, or the queue of counted messages. */
  readonly what: string;
}

/** Up to which event time a pipeline has settled what arrived. */
export interface Completeness {
  /** Every record before it is settled; null if nothing is known. */
  readonly at: EpochMs | null;
  readonly watermark: EpochMs | null;
  /** False if queued messages were only counted (U3). */
  readonly isExact: boolean;
  /** The one that holds it back; null if no watermark exists yet. */
  readonly heldBy: Holder | null;
}

export interface CompletenessPorts {
  readonly clock: Clock;
  readonly ledger: Ledger;
  /** The queue of the pipeline, its dead-letter queue and its late queue, as far as they exist. */
  readonly looks: readonly QueueLook[];
  /** For an `eventTime` that reads metadata or tags. */
  readonly objects: ObjectSource | null;
}

const RECORDS_PER_PAGE = 100;
/** Failure reports that are read to account for dead letters. */
const DOSSIERS_MAX = 1_000;
/** States of records that are not settled, or may not be. */
const UNSETTLED = ["claimed", "released", "failed", "parked"] as const;

/** Computes it now; see U1 to U5. */
export async function readCompleteness(
  ports: CompletenessPorts,
  pipeline: Pipeline,
): Promise<Completeness> {
  const { ledger, looks } = ports;
  const scope = { pipeline: pipeline.name, generation: pipeline.generation };
  const watermark = (await ledger.findNote(scope, "watermark", pipeline.name))?.at ?? null;
  const queued = await queuedHolders(ports, pipeline, scope); // U2
  const isExact = looks.length > 0 && looks.every(({ kind }) => kind === "exact");
  return { ...(await joined(ledger, scope, watermark, queued)), isExact };
}

/** The same without the queues: an upper bound, by what the ledger knows. */
export async function readStoredCompleteness(
  ledger: Ledger,
  scope: LedgerScope,
): Promise<Completeness> {
  const watermark = (await ledger.findNote(scope, "watermark", scope.pipeline))?.at ?? null;
  return { ...(await joined(ledger, scope, watermark, [])), isExact: false };
}

async function joined(
  ledger: Ledger,
  scope: LedgerScope,
  watermark: EpochMs | null,
  queued: readonly Holder[],
): Promise<Omit<Completeness, "isExact">> {
  const stored = await storedHolder(ledger, scope);
  const holders = [...queued, ...(stored === null ? [] : [stored])];
  if (watermark === null) return { at: null, watermark, heldBy: holders[0] ?? null };
  const mark: Holder = { kind: "watermark", eventTime: watermark, what: scope.pipeline };
  const heldBy = holders.reduce(earlier, mark); // U1
  return { at: heldBy.eventTime, watermark, heldBy };
}

/** The one with the earlier event time; an unknown one is the earliest. */
function earlier(a: Holder, b: Holder): Holder {
  if (a.eventTime === null || b.eventTime === null) return a.eventTime === null ? a : b;
  return b.eventTime < a.eventTime ? b : a;
}

async function queuedHolders(
  ports: CompletenessPorts,
  pipeline: Pipeline,
  scope: LedgerScope,
): Promise<Holder[]> {
  const holders: Holder[] = [];
  const counted = ports.looks.filter((look) => look.kind === "counted");
  for (const look of ports.looks) {
    if (look.kind !== "exact") continue;
    const oldest = await oldestQueued(ports, pipeline, scope, look);
    if (oldest !== null) holders.push(oldest);
  }
  if (counted.length > 0) holders.push(...(await estimatedHolders(ports, pipeline, counted)));
  return holders;
}

/** The oldest record of the queue's messages that is not committed (U5). */
async function oldestQueued(
  ports: CompletenessPorts,
  pipeline: Pipeline,
  scope: LedgerScope,
  look: Extract<QueueLook, { kind: "exact" }>,
): Promise<Holder | null> {
  const read = createQueueReader(ports, pipeline, look.name);
  const records: { key: RecordKey; identity: string; eventTime: EpochMs }[] = [];
  for await (const message of look.messages()) records.push(...(await read(message)));
  records.sort((a, b) => a.eventTime - b.eventTime);
  for (const { key, identity, eventTime } of records) {
    const view = await ports.ledger.show(scope, key);
    if (view?.record.kind === "committed") continue;
    return { kind: "queued", eventTime: view?.input?.eventTime ?? eventTime, what: identity };
  }
  return null;
}

/** What the counts and the reports of processes allow to say (U3, U6). */
async function estimatedHolders(
  { clock, ledger }: CompletenessPorts,
  pipeline: Pipeline,
  looks: readonly Extract<QueueLook, { kind: "counted" }>[],
): Promise<Holder[]> {
  const scope = { pipeline: pipeline.name, generation: pipeline.generation };
  const now = clock.now();
  const reports = await readReports(ledger, scope);
  const running = reports.filter(({ savedAt }) => msBetween(savedAt, now) < POLL_FRESH_MS);
  const deliveries = sumOf(running.map((report) => report.deliveries));
  const estimated = estimate(running, pipeline, now);
  const holders: Holder[] = [];
  let hidden = 0;
  let messages = 0;
  for (const { name, counts, isDeadLetters = false } of looks) {
    const count = await counts();
    const waiting = count.visible + count.delayed;
    if (isDeadLetters && (await hasDossiers(ledger, scope, waiting + count.hidden))) continue; // U3
    hidden += count.hidden;
    messages += waiting + count.hidden;
    // Messages that a process received and has not begun have no event time yet, either.
    if (waiting + Math.min(count.hidden, deliveries) === 0) continue;
    holders.push({ kind: "queued", eventTime: estimated, what: name });
  }
  const believed = messages === 0 ? running : reports; // U6
  for (const { owner: what, oldestInFlight, returned } of believed) {
    if (oldestInFlight !== null) {
      holders.push({ kind: "in flight", eventTime: oldestInFlight, what });
    }
    if (returned.oldest !== null) {
      holders.push({ kind: "in retry", eventTime: returned.oldest, what });
    }
  }
  const delayed = reports.filter(({ returned }) => returned.until !== null && returned.until > now);
  const accountedFor = deliveries + sumOf(delayed.map(({ returned }) => returned.messages));
  if (hidden > accountedFor) {
    holders.push({ kind: "in flight", eventTime: null, what: looks[0]?.name ?? "" }); // U3
  }
  return holders;
}

/** Whether failure reports name at least as many dead letters; false beyond DOSSIERS_MAX. */
async function hasDossiers(ledger: Ledger, scope: LedgerScope, messages: number): Promise<boolean> {
  if (messages === 0) return true;
  if (messages > DOSSIERS_MAX) return false;
  const letters = new Set<string>();
  for await (const { dead_letter } of dossiersOf(ledger, scope)) {
    const messageId = dead_letter?.message_id;
    if (messageId !== undefined) letters.add(messageId);
    if (letters.size >= messages) return true;
  }
  return false;
}

function sumOf(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0);
}

/** A message that waits was sent no earlier than those that were received lately. */
function estimate(
  running: readonly ProcessReport[],
  { eventTime }: Pipeline,
  now: EpochMs,
): EpochMs | null {
  if (running.length === 0) return null;
  const lagMs = Math.max(...running.map(({ queueLagMs }) => queueLagMs));
  return epochMs(now - lagMs - eventTime.outOfOrderMs);
}

/** The oldest unsettled record in the ledger. */
async function storedHolder(ledger: Ledger, scope: LedgerScope): Promise<Holder | null> {
  try {
    return await listedHolder(ledger, scope);
  } catch (error) {
    if (!(error instanceof TidegateError) || error.code !== "TG_LISTING_OFF") throw error;
    return notedHolder(ledger, scope); // A DynamoDB table without the index.
  }
}

async function listedHolder(ledger: Ledger, scope: LedgerScope): Promise<Holder | null> {
  const query = { by: "event-time", outcomes: UNSETTLED } as const;
  for await (const listed of everyRecord(ledger, scope, query, RECORDS_PER_PAGE)) {
    const holder = await holderOf(ledger, scope, listed);
    if (holder !== null) return holder;
  }
  return null;
}

async function holderOf(
  ledger: Ledger,
  scope: LedgerScope,
  { key, record, input }: ListedRecord,
): Promise<Holder | null> {
  const { eventTime, object, dedupeKey } = input;
  const what = object ? `s3://${object.bucket}/${object.key}` : (dedupeKey ?? key);
  if (record.kind !== "parked") {
    if (await isOvertaken(ledger, scope, object)) return null; // U7
    return { kind: record.kind === "claimed" ? "in flight" : "in retry", eventTime, what };
  }
  if (isHeldFailure(record.failure)) {
    const held = (await findHeld(ledger, scope, key))?.held ?? null;
    const isElsewhere = held !== null && held.to !== null && held.sent_at !== null; // U4
    return isElsewhere ? null : { kind: "held", eventTime, what };
  }
  const dossier = await ledger.findNote(scope, "dossier", key);
  return dossier === undefined ? null : { kind: "dead-lettered", eventTime, what }; // U4
}

/**
 * Without an index: the notes of dead-lettered and held records. Others are still in a queue, which
 * shows them, or in the reports of processes (U6).
 */
async function notedHolder(ledger: Ledger, scope: LedgerScope): Promise<Holder | null> {
  let oldest: Holder | null = null;
  const consider = async (key: RecordKey, fallback: EpochMs | null) => {
    const view = await ledger.show(scope, key);
    if (view === undefined || view.record.kind === "committed") return;
    const eventTime = view.input?.eventTime ?? fallback ?? epochMs(0);
    const { record } = view;
    const input = { ...view.input, eventTime } as ListedRecord["input"];
    const holder = await holderOf(ledger, scope, { key, record, input });
    if (holder !== null) oldest = oldest === null ? holder : earlier(oldest, holder);
  };
  for await (const { record_key } of dossiersOf(ledger, scope)) {
    await consider(record_key as RecordKey, null);
  }
  for await (const { held } of heldOf(ledger, scope)) {
    await consider(held.record_key, held.event_time);
  }
  return oldest;
}
