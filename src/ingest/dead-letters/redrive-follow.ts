// Redrive follow: watches redriven records in the ledger until each of them ends.
//   W1. An item ends once, by the state in the ledger: committed, overtaken by a newer event of its
//       object, or dead-lettered again. The last has a higher fence than the record was sent with.
//   W2. No item is followed forever: after `followMs` it is reported as still waiting.
//   W3. A committed record needs no dossier: it is removed when the commit is found. A record that
//       was dead-lettered again keeps the dossier of its new failure.
//   W4. All records are read from the ledger together, in batches, for all dead letters.
//   W5. A message that had no key when it failed may have one now. Its record is then another one.

import { addMs, type DurationMs, type EpochMs } from "../../core/units.ts";
import { fenceOf } from "../../ledger/record-state.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Ledger, RecordView } from "../../ports/ledger.ts";
import type { Fence, LedgerScope, RecordKey } from "../../ports/record.ts";
import { findRekeyed } from "../running/rekeyed-notes.ts";
import type { DeadLetterRecord } from "./dead-letter-read.ts";
import { isOvertaken } from "./is-overtaken.ts";
import { mapConcurrently, type RecordViews, showRecords } from "./show-records.ts";

const NOTES_PER_CALL_MAX = 100;

export type RedriveEnd = "committed" | "overtaken" | "failed-again" | "waiting";

/** Records that were redriven together, each with its fence at that time. */
export interface Followed<T> {
  readonly item: T;
  readonly records: readonly (DeadLetterRecord & { readonly fence: Fence })[];
}

export interface Follower<T> {
  readonly size: number;
  add(followed: Followed<T>): void;
  /** Reads all records from the ledger and returns the items that have ended. */
  poll(): Promise<{ readonly item: T; readonly end: RedriveEnd }[]>;
  /** Stops following all items and returns those that are still waiting (W2). */
  stop(): T[];
}

export function createFollower<T>(
  ports: { readonly clock: Clock; readonly ledger: Ledger },
  options: { readonly scope: LedgerScope; readonly followMs: DurationMs },
): Follower<T> {
  const { clock, ledger } = ports;
  const { scope, followMs } = options;
  let watched: (Followed<T> & { readonly until: EpochMs })[] = [];

  return {
    get size() {
      return watched.length;
    },
    add(followed) {
      watched.push({ ...followed, until: addMs(clock.now(), followMs) });
    },
    async poll() {
      const ended: { item: T; end: RedriveEnd }[] = [];
      const remaining: typeof watched = [];
      const committed: RecordKey[] = [];
      const ends = await endsOf(
        ledger,
        scope,
        watched.flatMap(({ records }) => records),
      );
      for (const each of watched) {
        const { end, done } = endOfAll(each.records, ends);
        committed.push(...done);
        if (end === "waiting" && clock.now() < each.until) remaining.push(each);
        else ended.push({ item: each.item, end });
      }
      await removeDossiers(ledger, scope, committed); // W3
      watched = remaining;
      return ended;
    },
    stop() {
      const items = watched.map(({ item }) => item);
      watched = [];
      return items;
    },
  };
}

type FollowedRecord = Followed<unknown>["records"][number];

/** The end of each record so far (W4). */
async function endsOf(ledger: Ledger, scope: LedgerScope, records: readonly FollowedRecord[]) {
  const keys = records.map(({ key }) => key);
  const views = await showRecords(ledger, scope, keys);
  const ends = await mapConcurrently(records, (record) => endOf(ledger, scope, record, views));
  return new Map(records.map((record, at) => [record, ends[at] ?? "waiting"]));
}

/** The end of a dead letter, and its records that no longer need a dossier. */
function endOfAll(
  records: readonly FollowedRecord[],
  endByRecord: ReadonlyMap<FollowedRecord, RedriveEnd>,
): { readonly end: RedriveEnd; readonly done: readonly RecordKey[] } {
  const ends = records.map((record) => endByRecord.get(record) ?? "waiting");
  if (ends.includes("waiting")) return { end: "waiting", done: [] };
  const done = records.filter((_, at) => ends[at] !== "failed-again").map(({ key }) => key);
  if (ends.includes("failed-again")) return { end: "failed-again", done };
  return { end: ends.includes("committed") ? "committed" : "overtaken", done };
}

async function endOf(
  ledger: Ledger,
  scope: LedgerScope,
  record: FollowedRecord,
  views: RecordViews,
): Promise<RedriveEnd> {
  const view = views.get(record.key);
  const kind = view?.record.kind;
  if (kind === "committed") return view?.record.superseded ? "overtaken" : "committed";
  if (kind === "parked") {
    return (view?.record.fence ?? 0) > record.fence ? "failed-again" : "waiting"; // W1
  }
  const rekeyed = record.object === null ? await findRekeyed(ledger, scope, record.key) : null;
  if (rekeyed !== null) return endOfRekeyed(await ledger.show(scope, rekeyed)); // W5
  return (await isOvertaken(ledger, scope, record.object)) ? "overtaken" : "waiting";
}

function endOfRekeyed(view: RecordView | undefined): RedriveEnd {
  if (view?.record.kind === "committed") return "committed";
  return view?.record.kind === "parked" ? "failed-again" : "waiting";
}

async function removeDossiers(
  ledger: Ledger,
  scope: LedgerScope,
  keys: readonly RecordKey[],
): Promise<void> {
  for (let at = 0; at < keys.length; at += NOTES_PER_CALL_MAX) {
    await ledger.removeNotes(scope, "dossier", keys.slice(at, at + NOTES_PER_CALL_MAX));
  }
}

/** The current fence of a record; 0 if the ledger does not have it. */
export function fenceNow(view: RecordView | undefined): Fence {
  return view?.record.fence ?? fenceOf(0);
}
