// Returned records: those that a process gave back to the queue unsettled, for a retry or because
// it lost their lease. Their messages are hidden, or wait among others, and SQS shows neither which
// they are nor how old.
//   T1. A record is forgotten when this process receives it again, and when the ledger says that it
//       is settled. A receive that returned few messages proves nothing: SQS may keep others back.
//   T2. A receive that waited and returned nothing shows that no message was visible. A record that
//       was due by then is with another process, which begins and reports it within GRACE_MS, or
//       its message is gone, for example purged. It is forgotten after GRACE_MS. A message with a
//       group may wait for others of its group, so such a queue shows nothing.
//   T3. Beyond RECORDS_MAX, records share one entry, which has their oldest event time and their
//       latest delay. Its messages are not counted: too few are known, never too many.
//   T4. What a process left behind that is gone is one entry under its name, so that taking it over
//       twice changes nothing. Two processes that take it over at once both count its messages.
//   T5. An entry of several records has no keys to ask the ledger for. It is forgotten by T2, or
//       when it is due for NAMELESS_MS plus the longest that a message waited in the queue. That is
//       an estimate: the message may wait for longer in a process whose handlers hang.
//   T6. Only messages that are not due yet are counted: the others are visible, or another process
//       received and counts them.

import { addMs, type DurationMs, type EpochMs, hours, minutes } from "../../core/units.ts";
import type { ObjectRef, RecordKey } from "../../ports/record.ts";

/** Longer than messages wait in a process before it begins and reports them. */
const GRACE_MS: DurationMs = minutes(15);
const NAMELESS_MS: DurationMs = hours(1);
const RECORDS_MAX = 10_000;

/** What a report says of these records. */
export interface ReturnedReport {
  /** Those that are not due yet (T6). */
  readonly messages: number;
  /** The oldest event time; null without records. */
  readonly oldest: EpochMs | null;
  /** When the last of them is due; null without records. */
  readonly until: EpochMs | null;
}

export interface Returned {
  readonly messageId: string;
  readonly eventTime: EpochMs;
  /** When the queue delivers it again, at the earliest. */
  readonly until: EpochMs;
  /** Null if the ledger does not order the record by an object. */
  readonly object: ObjectRef | null;
}

/** Several records of which only the extremes are known (T3, T4). */
export interface ReturnedTogether {
  readonly messages: number;
  readonly oldest: EpochMs;
  readonly until: EpochMs;
}

/** The entry of T3; no process has this name. */
const OVERFLOW = "";

export class ReturnedRecords {
  readonly #records = new Map<RecordKey, Returned>();
  readonly #together = new Map<string, ReturnedTogether>();
  /** A receive that returned nothing, until GRACE_MS have passed (T2). */
  #emptyAt: EpochMs | null = null;
  #grouped = false;
  /** The longest that a message waited since the queue was empty (T5). */
  #lagMs = 0;

  add(key: RecordKey, returned: Returned): void {
    if (this.#records.size < RECORDS_MAX || this.#records.has(key)) {
      this.#records.set(key, returned);
      return;
    }
    const { eventTime, until } = returned;
    const shared = this.#together.get(OVERFLOW);
    this.#together.set(OVERFLOW, {
      messages: 0,
      oldest: shared === undefined || eventTime < shared.oldest ? eventTime : shared.oldest,
      until: shared === undefined || until > shared.until ? until : shared.until,
    }); // T3
  }

  /** This process received the record (T1). */
  begun(key: RecordKey, message: { readonly grouped: boolean; readonly waitedMs: number }): void {
    this.#records.delete(key);
    if (message.grouped) this.#grouped = true;
    this.#lagMs = Math.max(this.#lagMs, message.waitedMs);
  }

  /** Takes over what a process that is gone had returned (T4). */
  inherit(owner: string, returned: ReturnedTogether): void {
    this.#together.set(owner, returned);
  }

  /** A receive waited and returned nothing (T2). */
  emptied(now: EpochMs): void {
    if (!this.#grouped) this.#emptyAt ??= now;
  }

  /** The records with the oldest event times, which hold others back. */
  oldest(limit: number): [RecordKey, Returned][] {
    const records = [...this.#records];
    return records.sort(([, a], [, b]) => a.eventTime - b.eventTime).slice(0, limit);
  }

  /** The ledger says that it is settled (T1); one that was returned again since then stays. */
  settled(key: RecordKey, returned: Returned): void {
    if (this.#records.get(key) === returned) this.#records.delete(key);
  }

  /** Forgets records by T2 and T5, and returns whether it did. */
  forget(now: EpochMs): boolean {
    const emptyAt = this.#passedGrace(now);
    const isGone = (until: EpochMs) => emptyAt !== null && until <= emptyAt;
    const isOver = (until: EpochMs) => now >= until + NAMELESS_MS + this.#lagMs;
    const before = this.#records.size + this.#together.size;
    for (const [key, { until }] of this.#records) if (isGone(until)) this.#records.delete(key);
    for (const [name, { until }] of this.#together) {
      if (isGone(until) || isOver(until)) this.#together.delete(name);
    }
    if (emptyAt !== null) this.#lagMs = 0;
    return this.#records.size + this.#together.size < before;
  }

  report(now: EpochMs): ReturnedReport {
    const records = [...this.#records.values()];
    const together = [...this.#together.values()];
    const hidden = records.filter(({ until }) => until > now); // T6
    const messageIds = new Set(hidden.map(({ messageId }) => messageId));
    const shared = together.filter(({ until }) => until > now);
    const all = [
      ...together,
      ...records.map(({ eventTime: oldest, until }) => ({ oldest, until })),
    ];
    return {
      messages: shared.reduce((sum, { messages }) => sum + messages, messageIds.size),
      oldest: all.reduce<EpochMs | null>((least, { oldest }) => earliest(least, oldest), null),
      until: all.reduce<EpochMs | null>((last, { until }) => latest(last, until), null),
    };
  }

  /** The receive of T2 once others had the time to report; null before. */
  #passedGrace(now: EpochMs): EpochMs | null {
    const emptyAt = this.#emptyAt;
    if (emptyAt === null || now < addMs(emptyAt, GRACE_MS)) return null;
    this.#emptyAt = null;
    return this.#grouped ? null : emptyAt;
  }
}

/** The earlier instant; null is none. */
export function earliest(a: EpochMs | null, b: EpochMs | null): EpochMs | null {
  if (a === null || b === null) return a ?? b;
  return a < b ? a : b;
}

function latest(a: EpochMs | null, b: EpochMs): EpochMs {
  return a === null || a < b ? b : a;
}
