// Release: sends held records back to the queue they came from, under the same key.
//   R1. The note says "released" first, then the record is reopened, then the message is sent, and
//       only then the copy in the ledger is removed. A crash in between leaves a released note, and
//       the next run continues with it. A message that was sent twice is applied once.
//   R2. A released record is processed in the lane that was recorded, and is not held again (L4 of
//       stages/late.ts). Its note stays until the record is committed.
//   R3. A record that was committed meanwhile is not sent: its note is removed.
//   R4. A FIFO queue drops a message whose deduplication id was sent within five minutes. So each
//       run uses a new id.
//   R5. Records that were sent to a late queue are in that queue; a release leaves them alone.
//   R6. Two releases at once share the records: the one that reopens a record sends it, and the
//       other leaves it out of its events. A note that says "released" without "sent" may also be that of
//       a crash, so it is continued; the run whose "sent" is written first counts it.

import { sha256Hex } from "../../core/encoding/hash.ts";
import { reasonOf } from "../../core/errors.ts";
import type { EpochMs } from "../../core/units.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { QueueSender } from "../../ports/queue.ts";
import type { LedgerScope } from "../../ports/record.ts";
import { REDRIVEN_ATTRIBUTE, redriveMark } from "../dead-letters/dead-letter.ts";
import {
  findHeld,
  type HeldNote,
  heldNote,
  heldOf,
  readMessage,
  removeHeld,
  removeParts,
} from "./held-note.ts";

/** Which held records; all conditions have to hold. */
export interface HeldFilter {
  /** The start of `s3://bucket/key`, or of the business key. */
  readonly prefix?: string | undefined;
  /** The record key, the idempotency key, or the whole `s3://bucket/key` or business key. */
  readonly key?: string | undefined;
}

/** Where a held record is. */
export type HeldState = "held" | "releasing" | "released" | "sending" | "sent";

/** A held record, and where it is. */
export interface ListedHeld {
  readonly note: HeldNote;
  readonly state: HeldState;
}

/** What a release did with one record. */
export type ReleaseEvent =
  | { readonly kind: "planned" | "released"; readonly note: HeldNote }
  | { readonly kind: "refused"; readonly note: HeldNote; readonly reason: string };

export interface ReleasePorts {
  readonly clock: Clock;
  readonly ledger: Ledger;
  /** The queue that the records came from. */
  readonly source: QueueSender;
}

export function matchesHeld({ prefix, key }: HeldFilter, note: HeldNote): boolean {
  const { about, record_key, idempotency_key } = note;
  if (prefix !== undefined && about?.startsWith(prefix) !== true) return false;
  return key === undefined || [about, record_key, idempotency_key].includes(key);
}

/** The held records that match, without those that are committed by now (R3). */
export async function* listHeld(
  ledger: Ledger,
  scope: LedgerScope,
  filter: HeldFilter = {},
): AsyncGenerator<ListedHeld> {
  for await (const { held: note } of heldOf(ledger, scope)) {
    if (!matchesHeld(filter, note)) continue;
    const view = await ledger.show(scope, note.record_key);
    if (view?.record.kind !== "committed") yield { note, state: stateOf(note) };
  }
}

/** The queue that held records came from; null without records. */
export async function heldQueueOf(ledger: Ledger, scope: LedgerScope): Promise<string | null> {
  for await (const { held } of heldOf(ledger, scope)) if (held.to === null) return held.queue;
  return null;
}

function stateOf({ to, sent_at, released_at }: HeldNote): HeldState {
  if (to !== null) return sent_at === null ? "sending" : "sent";
  if (released_at === null) return "held";
  return sent_at === null ? "releasing" : "released";
}

/**
 * Releases the held records that match, except those of another run (R6). Each step does some work
 * and yields an event.
 */
export async function* releaseHeld(
  ports: ReleasePorts,
  options: {
    readonly scope: LedgerScope;
    readonly runId: string;
    readonly filter?: HeldFilter;
    readonly dryRun?: boolean;
    readonly signal?: AbortSignal;
  },
): AsyncGenerator<ReleaseEvent> {
  const { ledger, source } = ports;
  const { scope, filter = {}, dryRun = false, signal } = options;
  for await (const { held: note, at } of heldOf(ledger, scope)) {
    if (signal?.aborted) return;
    if (note.to !== null || !matchesHeld(filter, note)) continue; // R5
    const view = await ledger.show(scope, note.record_key);
    if (view?.record.kind === "committed") {
      if (!dryRun) await removeHeld(ledger, scope, note); // R3
      continue;
    }
    if (note.sent_at !== null || note.queue !== source.name) continue;
    if (dryRun) yield { kind: "planned", note };
    else {
      const event = await releaseOne(ports, options, {
        note,
        at,
        isParked: view?.record.kind === "parked",
      });
      if (event !== null) yield event;
    }
  }
}

async function releaseOne(
  { clock, ledger, source }: ReleasePorts,
  { scope, runId }: { readonly scope: LedgerScope; readonly runId: string },
  {
    note,
    at,
    isParked,
  }: { readonly note: HeldNote; readonly at: EpochMs; readonly isParked: boolean },
): Promise<ReleaseEvent | null> {
  const { record_key: key, transport_key: transportKey, parts } = note;
  try {
    const latest = await findHeld(ledger, scope, key);
    if (latest === null || latest.held.sent_at !== null) return null; // R6
    if (latest.held.released_at !== note.released_at) return null; // R6
    const message = await readMessage(ledger, scope, note);
    const now = laterOf(clock.now(), at);
    const released: HeldNote = { ...note, released_at: note.released_at ?? now };
    await ledger.addNotes(scope, [heldNote(released, now)]); // R1
    const [reopened] = await ledger.reopen(scope, [key]);
    if (note.released_at === null && isParked && reopened?.kind !== "reopened") return null; // R6
    const mark = { [REDRIVEN_ATTRIBUTE]: redriveMark(transportKey ?? undefined) };
    const isMarked = transportKey !== null || Object.keys(message.attributes).length === 0;
    const [outcome] = await source.sendBatch([
      {
        body: message.body,
        attributes: { ...message.attributes, ...(isMarked && mark) },
        groupId: source.fifo ? (message.groupId ?? key) : null,
        dedupId: source.fifo ? sha256Hex(`release ${runId} ${key}`) : null, // R4
      },
    ]);
    if (outcome?.kind !== "sent") {
      const reason = outcome === undefined ? "no answer" : `${outcome.code}: ${outcome.message}`;
      return { kind: "refused", note, reason };
    }
    const other = await findHeld(ledger, scope, key);
    if (other === null || other.held.sent_at !== null) return null; // R6
    const sent: HeldNote = { ...released, sent_at: now, message: null, parts: null };
    await ledger.addNotes(scope, [heldNote(sent, laterOf(clock.now(), now))]);
    await removeParts(ledger, scope, key, parts?.count ?? 0); // R1
    return { kind: "released", note };
  } catch (error) {
    return { kind: "refused", note, reason: reasonOf(error) };
  }
}

function laterOf(now: EpochMs, previous: EpochMs): EpochMs {
  return previous > now ? previous : now;
}
