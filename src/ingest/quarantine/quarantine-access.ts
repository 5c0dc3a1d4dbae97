// Quarantine access: lists, redrives and drops quarantined rows.
//   A1. Listing trusts the ledger's records, not the notes: a set is open if a commit refers to it
//       and no redrive of it is committed (Q2, Q6 of quarantine.ts). The rows of a version that was
//       replaced are not listed: they can change nothing (Q4).
//   A2. A redrive sends one message per set. Sending again is safe, because the key of the redrive
//       is derived from the set (Q3).
//   A3. A redrive is followed to its outcome: the commit, the dead letter, or the end of the wait.
//   A4. A list may lack very recent notes. The commit of a redrive ends its whole set, so a set
//       that has fewer rows than its commit says is read by the names of its notes.

import { TidegateError } from "../../core/errors.ts";
import { compareSequencers } from "../../core/events/sequencer.ts";
import { addMs, type DurationMs, durationMs, type EpochMs } from "../../core/units.ts";
import { everyNote } from "../../ledger/every-note.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Ledger, Note } from "../../ports/ledger.ts";
import type { QueueSender } from "../../ports/queue.ts";
import type { Random } from "../../ports/random.ts";
import type { LedgerScope, RecordKey } from "../../ports/record.ts";
import {
  type BadRow,
  chunkNames,
  decodeChunk,
  parseChunkName,
  type QuarantineFacts,
  type QuarantineRef,
  redriveBody,
  redriveKey,
} from "./quarantine.ts";
import { removeQuarantine } from "./store-quarantine.ts";

/** Quarantined rows of one object. */
export interface QuarantinedSet {
  readonly ref: QuarantineRef;
  readonly facts: QuarantineFacts;
  readonly rows: readonly BadRow[];
  readonly at: EpochMs;
  /** Whether a redrive of the set was sent, and where its record is. */
  readonly state: "quarantined" | "redriving" | "dead-lettered";
}

const FOLLOW_POLL_MS = durationMs(250);
/** The group of redrives on a FIFO queue, if the object's event had none. */
const GROUP_DEFAULT = "quarantine";

/** The open sets of a scope, ordered by record key (A1). */
export async function* quarantinedSets(
  ledger: Ledger,
  scope: LedgerScope,
  contains = "",
): AsyncGenerator<QuarantinedSet> {
  let chunks: Note[] = [];
  for await (const note of everyNote(ledger, scope, "quarantined")) {
    const [first] = chunks;
    if (first !== undefined && !sameSet(first, note)) {
      const set = await openSet(ledger, scope, chunks);
      if (set !== null && matches(set, contains)) yield set;
      chunks = [];
    }
    chunks.push(note);
  }
  const last = chunks.length === 0 ? null : await openSet(ledger, scope, chunks);
  if (last !== null && matches(last, contains)) yield last;
}

function sameSet(a: Note, b: Note): boolean {
  const [first, second] = [parseChunkName(a.name), parseChunkName(b.name)];
  return first.of === second.of && first.set === second.set;
}

function matches({ ref, facts }: QuarantinedSet, text: string): boolean {
  const { bucket, key } = facts.shown;
  return ref.of === text || ref.set === text || `s3://${bucket}/${key}`.includes(text);
}

async function openSet(
  ledger: Ledger,
  scope: LedgerScope,
  notes: readonly Note[],
): Promise<QuarantinedSet | null> {
  const [first] = notes;
  if (first === undefined) return null;
  const { of, set } = parseChunkName(first.name);
  const committed = await committedSet(ledger, scope, of);
  if (committed?.set !== set) return null;
  const redrive = await ledger.show(scope, redriveKey(scope, { of, set }));
  const kind = redrive?.record.kind;
  if (kind === "committed") return null; // A1
  const { rows: _, ...facts } = decodeChunk(first.body);
  if (await isOutdated(ledger, scope, facts)) return null; // A1
  const chunks = await chunksOf(ledger, scope, notes, committed.rows);
  const rows = chunks.flat();
  const ref = { of, set, chunks: chunks.length, tries: facts.tries };
  const state =
    kind === undefined ? "quarantined" : kind === "parked" ? "dead-lettered" : "redriving";
  return { ref, facts, rows, at: first.at, state };
}

/** The rows of each note of a set (A4). */
async function chunksOf(
  ledger: Ledger,
  scope: LedgerScope,
  listed: readonly Note[],
  rows: number,
): Promise<(readonly BadRow[])[]> {
  const chunks = listed.map(({ body }) => decodeChunk(body).rows);
  const [first] = listed;
  if (first === undefined || chunks.flat().length >= rows) return chunks;
  const named: (readonly BadRow[])[] = [];
  for (let count = 0; count < rows; count += named.at(-1)?.length ?? 0) {
    const ref = { ...parseChunkName(first.name), chunks: named.length + 1, tries: 0 };
    const note = await ledger.findNote(scope, "quarantined", chunkNames(ref).at(-1) ?? "");
    if (note === undefined) return chunks; // Dropped in part.
    named.push(decodeChunk(note.body).rows);
  }
  return named;
}

/** Whether a newer version of the object was applied. */
async function isOutdated(
  ledger: Ledger,
  scope: LedgerScope,
  { event: { bucket, key, sequencer } }: QuarantineFacts,
): Promise<boolean> {
  if (sequencer === null) return false;
  const applied = await ledger.showObject(scope, bucket, key);
  return applied !== undefined && compareSequencers(sequencer, applied.sequencer) < 0;
}

/** The set that the commit of a record refers to, and its rows; null if it refers to none. */
async function committedSet(
  ledger: Ledger,
  scope: LedgerScope,
  key: RecordKey,
): Promise<ReturnType<typeof quarantineIn>> {
  const view = await ledger.show(scope, key);
  if (view?.record.kind !== "committed" || view.record.superseded) return null;
  return quarantineIn(view.record.effects);
}

/** The set in the summary of a commit. */
export function quarantineIn(
  effects: string | null,
): { readonly set: string; readonly rows: number } | null {
  if (effects === null) return null;
  try {
    const { quarantined } = JSON.parse(effects) as { quarantined?: { set: string; rows: number } };
    return quarantined ?? null;
  } catch {
    return null; // Another version wrote it.
  }
}

/** What became of a set that is redriven. */
export type RedrivenSet =
  | {
      /** "outdated": the object was replaced since, so the rows change nothing. */
      readonly kind: "sent" | "dead-lettered" | "outdated" | "pending";
      readonly set: QuarantinedSet;
    }
  | {
      readonly kind: "committed";
      readonly set: QuarantinedSet;
      /** Rows that were rejected again. */
      readonly again: number;
    };

export interface RedriveSetsPorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly ledger: Ledger;
  readonly queue: QueueSender;
}

/** Sends sets back to the queue and follows each to its outcome (A2, A3). */
export async function* redriveSets(
  ports: RedriveSetsPorts,
  scope: LedgerScope,
  sets: readonly QuarantinedSet[],
  options: { readonly followMs: DurationMs; readonly signal?: AbortSignal | undefined },
): AsyncGenerator<RedrivenSet> {
  const { clock, ledger } = ports;
  const { followMs, signal } = options;
  for (const set of sets) {
    if (signal?.aborted === true) return;
    await sendSet(ports, set);
    yield { kind: "sent", set };
  }
  const until = addMs(clock.now(), followMs);
  let open = [...sets];
  while (open.length > 0 && clock.now() < until && signal?.aborted !== true) {
    const pending: QuarantinedSet[] = [];
    for (const set of open) {
      const view = await ledger.show(scope, redriveKey(scope, set.ref));
      const record = view?.record;
      if (record?.kind === "committed") {
        yield { kind: "committed", set, again: quarantineIn(record.effects)?.rows ?? 0 };
      } else if (record?.kind === "parked") yield { kind: "dead-lettered", set };
      else if (await isOutdated(ledger, scope, set.facts)) yield { kind: "outdated", set };
      else pending.push(set);
    }
    open = pending;
    if (open.length > 0) await clock.sleep(FOLLOW_POLL_MS, signal).catch(() => undefined);
  }
  for (const set of open) yield { kind: "pending", set };
}

async function sendSet({ random, queue }: RedriveSetsPorts, set: QuarantinedSet): Promise<void> {
  const { facts, ref } = set;
  const fifo = queue.fifo;
  const [outcome] = await queue.sendBatch([
    {
      body: redriveBody(facts.event, ref),
      attributes: {},
      groupId: fifo ? (facts.group ?? GROUP_DEFAULT) : null,
      dedupId: fifo ? random.uuid() : null,
    },
  ]);
  if (outcome?.kind === "sent") return;
  const reason = outcome === undefined ? "no answer" : `${outcome.code}: ${outcome.message}`;
  throw new TidegateError("TG_QUEUE_UNAVAILABLE", `${queue.name}: ${reason}`);
}

/** Deletes a set permanently. */
export async function dropSet(
  ledger: Ledger,
  scope: LedgerScope,
  { ref }: QuarantinedSet,
): Promise<void> {
  await removeQuarantine(ledger, scope, ref);
}
