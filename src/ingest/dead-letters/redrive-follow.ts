// Redrive follow: watches redriven records in the ledger until each has come to its end.
//   W1. An item ends once, and it ends by what the ledger says: committed, overtaken by a newer
//       event of its object, or given up on again, which is a fence above the one it was sent with.
//   W2. Nobody waits for ever: after `followMs` an item is told as still waiting, which is no end
//       but the truth.
//   W3. A committed record needs no dossier: it is removed as soon as the commit is seen. One that
//       was given up on again keeps the dossier that its new failure wrote.
//   W4. The ledger is asked about all at once, in batches, however many letters they came from.

import { compareSequencers } from "../../core/events/sequencer.ts";
import { addMs, type DurationMs, type EpochMs } from "../../core/units.ts";
import { fenceOf } from "../../ledger/record-state.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Ledger, RecordView } from "../../ports/ledger.ts";
import type { Fence, LedgerScope, RecordKey } from "../../ports/record.ts";
import type { DeadLetterRecord } from "./dead-letter-read.ts";
import { type RecordViews, showRecords, sideBySide } from "./show-records.ts";

const NOTES_PER_CALL_MAX = 100;

export type RedriveEnd = "committed" | "overtaken" | "failed-again" | "waiting";

/** Records that went back together, and the fence each of them had then. */
export interface Followed<T> {
  readonly item: T;
  readonly records: readonly (DeadLetterRecord & { readonly fence: Fence })[];
}

export interface Follower<T> {
  readonly size: number;
  add(followed: Followed<T>): void;
  /** Asks the ledger about all and tells which have ended since. */
  look(): Promise<{ readonly item: T; readonly end: RedriveEnd }[]>;
  /** Those that are watched, as still waiting; from then on they are not (W2). */
  letGo(): T[];
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
    async look() {
      const ended: { item: T; end: RedriveEnd }[] = [];
      const left: typeof watched = [];
      const committed: RecordKey[] = [];
      const ends = await endsOf(
        ledger,
        scope,
        watched.flatMap(({ records }) => records),
      );
      for (const each of watched) {
        const { end, done } = endOfAll(each.records, ends);
        committed.push(...done);
        if (end === "waiting" && clock.now() < each.until) left.push(each);
        else ended.push({ item: each.item, end });
      }
      await removeDossiers(ledger, scope, committed); // W3
      watched = left;
      return ended;
    },
    letGo() {
      const items = watched.map(({ item }) => item);
      watched = [];
      return items;
    },
  };
}

type FollowedRecord = Followed<unknown>["records"][number];

/** What became of each record so far (W4). */
async function endsOf(ledger: Ledger, scope: LedgerScope, records: readonly FollowedRecord[]) {
  const keys = records.map(({ key }) => key);
  const views = await showRecords(ledger, scope, keys);
  const ends = await sideBySide(records, (record) => endOf(ledger, scope, record, views));
  return new Map(records.map((record, at) => [record, ends[at] ?? "waiting"]));
}

/** The end of a letter, and the records of it that need no dossier any more. */
function endOfAll(
  records: readonly FollowedRecord[],
  known: ReadonlyMap<FollowedRecord, RedriveEnd>,
): { readonly end: RedriveEnd; readonly done: readonly RecordKey[] } {
  const ends = records.map((record) => known.get(record) ?? "waiting");
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
  if (kind === "committed") return "committed";
  if (kind === "parked") {
    return (view?.record.fence ?? 0) > record.fence ? "failed-again" : "waiting"; // W1
  }
  return (await isOvertaken(ledger, scope, record)) ? "overtaken" : "waiting";
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

/** Whether a newer event of the record's object was applied, so that this one never will be. */
async function isOvertaken(ledger: Ledger, scope: LedgerScope, { object }: DeadLetterRecord) {
  if (object === null || object.sequencer === null) return false;
  const state = await ledger.showObject(scope, object.bucket, object.key);
  return state !== undefined && compareSequencers(object.sequencer, state.sequencer) < 0;
}

/** The fence that a record has now; 0 if the ledger does not know it. */
export function fenceNow(view: RecordView | undefined): Fence {
  return view?.record.fence ?? fenceOf(0);
}
