// Returned records: those that a process gave back to the queue unsettled, for a retry or because
// it lost their lease. Their messages are hidden, or wait among others, and SQS shows neither which
// they are nor how old.
//   T1. A record is forgotten when this process receives it again. One that another process may
//       have received is forgotten after a receive that found the queue drained, GRACE_MS after its
//       delay was over: by then the process that has it reports it.
//   T2. A process that never polls, such as a function, forgets a record UNPOLLED_MS after its
//       delay.
//   T3. Beyond RECORDS_MAX, records share one entry, which has their oldest event time and their
//       latest delay. Its messages are not counted: too few are known, never too many.
//   T4. What a process left behind that is gone is one entry under its name, so that taking it over
//       twice changes nothing.

import { addMs, type DurationMs, type EpochMs, minutes, seconds } from "../../core/units.ts";
import type { RecordKey } from "../../ports/record.ts";

/** Longer than a process needs to report what it received (W4 of watermark-tracker.ts). */
const GRACE_MS: DurationMs = seconds(30);
const UNPOLLED_MS: DurationMs = minutes(15);
const RECORDS_MAX = 10_000;

/** What a report says of these records. */
export interface ReturnedReport {
  readonly messages: number;
  /** The oldest event time; null without records. */
  readonly oldest: EpochMs | null;
  /** When the last of them is due; null without records. */
  readonly until: EpochMs | null;
}

interface Returned {
  readonly messageId: string;
  readonly eventTime: EpochMs;
  /** When the queue delivers it again, at the earliest. */
  readonly until: EpochMs;
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

  /** This process received the record again (T1). */
  begun(key: RecordKey): void {
    this.#records.delete(key);
  }

  /** Takes over what a process that is gone had returned (T4). */
  inherit(owner: string, returned: ReturnedTogether): void {
    this.#together.set(owner, returned);
  }

  /** Forgets records by T1 and T2, and returns whether it did; `drainedAt` is null without one. */
  forget(drainedAt: EpochMs | null, now: EpochMs, polls: boolean): boolean {
    const isOver = (until: EpochMs) =>
      polls
        ? drainedAt !== null && drainedAt >= addMs(until, GRACE_MS)
        : now >= addMs(until, UNPOLLED_MS);
    const before = this.#records.size + this.#together.size;
    for (const [key, { until }] of this.#records) if (isOver(until)) this.#records.delete(key);
    for (const [name, { until }] of this.#together) if (isOver(until)) this.#together.delete(name);
    return this.#records.size + this.#together.size < before;
  }

  report(): ReturnedReport {
    const messageIds = new Set([...this.#records.values()].map(({ messageId }) => messageId));
    const together = [...this.#together.values()];
    const all = [
      ...together,
      ...[...this.#records.values()].map(({ eventTime: oldest, until }) => ({ oldest, until })),
    ];
    return {
      messages: together.reduce((sum, { messages }) => sum + messages, messageIds.size),
      oldest: all.reduce<EpochMs | null>((least, { oldest }) => earliest(least, oldest), null),
      until: all.reduce<EpochMs | null>((last, { until }) => latest(last, until), null),
    };
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
