// Drop: permanently deletes dead letters and their dossiers.
//   O1. A drop touches only dead letters that match the filter and came from the given queue,
//       because sources may share a dead-letter queue. It returns all others unchanged.
//   O2. The message is deleted first, the dossier second. A crash in between leaves the dossier, by
//       which the next run finds the rest of the work.
//   O3. The record stays parked: later copies of the message are acknowledged and not run. Where
//       the message waits in its own queue, removing the dossier makes the consumer delete it. The
//       queue redelivers it immediately (H1 of halted-messages.ts).
//   O4. A dossier whose dead letter the queue did not return is kept, unless the queue is empty:
//       another reader may have received the dead letter.

import { asRecordKey } from "../../ledger/record-state.ts";
import type { RecordView } from "../../ports/ledger.ts";
import type { QueueReceiver } from "../../ports/queue-receiver.ts";
import type { LedgerScope } from "../../ports/record.ts";
import { type DeadLetterFilter, matchesFilter } from "../policy/dead-letter-filter.ts";
import type { OwnDecoding } from "../spec/own-source.ts";
import { type DeadLetterPorts, deadLetterFacts } from "./dead-letter-list.ts";
import { createDeadLetterReader, isFrom, type ReadDeadLetter } from "./dead-letter-read.ts";
import { type DeadLetterScan, startScan } from "./dead-letter-scan.ts";
import { type Dossier, decodeDossier } from "./dossier.ts";
import { dossiersOf } from "./dossier-list.ts";
import { type HaltedQueue, wakeHalted } from "./halted-messages.ts";
import type { RedriveItem } from "./redrive-events.ts";
import { redriveItemOf } from "./redrive-item.ts";
import { deleteDeadLetter, removeCommittedDossier } from "./redrive-step.ts";
import { batchesOf, mapConcurrently, showRecords } from "./show-records.ts";

export interface DropPorts extends DeadLetterPorts {
  /** Null without a dead-letter queue. */
  readonly deadLetters: QueueReceiver | null;
  /** The queue that the dead letters came from. */
  readonly source: HaltedQueue;
}

export interface DropOptions {
  readonly scope: LedgerScope;
  /** Name of the queue that the dead letters came from (O1). */
  readonly source: string;
  readonly filter?: DeadLetterFilter | undefined;
  /** How the pipeline reads own messages; null if it is not known or has none. */
  readonly own?: OwnDecoding | null | undefined;
  readonly dryRun?: boolean | undefined;
  readonly limit?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** What a drop did to one dead letter. */
export type DropEvent =
  | { readonly kind: "planned"; readonly item: RedriveItem }
  | {
      readonly kind: "dropped";
      readonly item: RedriveItem;
      /** False if the message waits in its own queue, to be deleted on its next delivery (O3). */
      readonly messageDeleted: boolean;
    }
  /** Not dropped: its record is in progress, or its dead letter was not deleted or found (O4). */
  | { readonly kind: "skipped"; readonly item: RedriveItem; readonly reason: string };

const LIMIT_DEFAULT = 100_000;

/** Drops the dead letters that match the filter. */
export async function* dropDeadLetters(
  ports: DropPorts,
  options: DropOptions,
): AsyncGenerator<DropEvent> {
  const { deadLetters, clock } = ports;
  const { scope, source, filter = {}, limit = LIMIT_DEFAULT, signal } = options;
  const run: DropRun = {
    ports,
    scope,
    source,
    own: options.own ?? null,
    dryRun: options.dryRun === true,
    handled: new Set(),
    matches: (facts) => matchesFilter(facts, filter, clock.now()),
    mayContinue: () => signal?.aborted !== true && run.handled.size < limit,
  };
  let empty = true;
  if (deadLetters !== null) {
    const scan = startScan(deadLetters, signal && { signal });
    try {
      yield* dropFromQueue(run, scan, deadLetters);
      if (!scan.complete) return;
    } finally {
      await scan.close(); // O1
    }
    const { visible, hidden, delayed } = await deadLetters.facts();
    empty = visible + hidden + delayed === 0;
  }
  for await (const batch of batchesOf(dossiersOf(ports.ledger, scope))) {
    const remaining = batch.filter(
      (dossier) =>
        dossier.queue === source &&
        !run.handled.has(dossier.record_key) &&
        run.matches(deadLetterFacts(dossier)), // O1
    );
    const keys = remaining.map((dossier) => asRecordKey(dossier.record_key));
    const views = await showRecords(ports.ledger, scope, keys);
    for (const dossier of remaining) {
      if (!run.mayContinue()) return;
      const state = views.get(asRecordKey(dossier.record_key))?.record.kind;
      yield* dropDossier(run, dossier, { state, queueIsEmpty: empty });
    }
  }
}

interface DropRun {
  readonly ports: DropPorts;
  readonly scope: LedgerScope;
  readonly source: string;
  readonly own: OwnDecoding | null;
  readonly dryRun: boolean;
  readonly handled: Set<string>;
  readonly matches: (facts: Parameters<typeof matchesFilter>[0]) => boolean;
  readonly mayContinue: () => boolean;
}

async function* dropFromQueue(
  run: DropRun,
  scan: DeadLetterScan,
  deadLetters: QueueReceiver,
): AsyncGenerator<DropEvent> {
  const { clock, ledger } = run.ports;
  const read = createDeadLetterReader({ ledger, deadLetters }, run.scope, run.own);
  while (run.mayContinue()) {
    const deliveries = await scan.next();
    if (deliveries.length === 0) return;
    // Reads all before it drops any: the first drop removes the dossier that identifies copies.
    for (const deadLetter of await mapConcurrently(deliveries, read)) {
      if (deadLetter === null || !isFrom(deadLetter, run.source) || !run.matches(deadLetter))
        continue; // O1
      const item = redriveItemOf(deadLetter);
      const copy = run.handled.has(item.key);
      if (!copy && !run.mayContinue()) return;
      run.handled.add(item.key);
      if (run.dryRun) {
        if (!copy) yield { kind: "planned", item };
        continue;
      }
      if (!(await deleteDeadLetter({ clock, deadLetters }, deadLetter))) {
        yield { kind: "skipped", item, reason: "the queue rejected the delete" };
        continue;
      }
      scan.markDeleted(deadLetter.delivery);
      await removeDossiers(run, deadLetter); // O2
      if (!copy) yield { kind: "dropped", item, messageDeleted: true };
    }
  }
}

/** A later failure may have written a newer dossier, which the filter may not match (O1). */
async function removeDossiers({ ports, scope, matches }: DropRun, { records }: ReadDeadLetter) {
  for (const { key } of records) {
    const note = await ports.ledger.findNote(scope, "dossier", key);
    if (note === undefined || !matches(deadLetterFacts(decodeDossier(note.body)))) continue;
    await ports.ledger.removeNotes(scope, "dossier", [key]);
  }
}

async function* dropDossier(
  run: DropRun,
  dossier: Dossier,
  current: {
    readonly state: RecordView["record"]["kind"] | undefined;
    readonly queueIsEmpty: boolean;
  },
): AsyncGenerator<DropEvent> {
  const { state, queueIsEmpty } = current;
  const { ledger } = run.ports;
  const { errorClass, fingerprint, failedAt, objects } = deadLetterFacts(dossier);
  const { record_key: key, dead_letter } = dossier;
  const item = { key, object: objects[0] ?? null, errorClass, fingerprint, failedAt };
  if (state !== "parked") {
    if (state === "committed" || state === undefined) {
      if (!run.dryRun) await removeCommittedDossier(ledger, run.scope, asRecordKey(key));
      return;
    }
    yield { kind: "skipped", item, reason: "it was redriven and is in progress" };
    return;
  }
  if (dead_letter !== null && !queueIsEmpty) {
    const reason = `its dead letter was not found in ${dead_letter.queue}`;
    yield { kind: "skipped", item, reason }; // O4
    return;
  }
  run.handled.add(key);
  if (run.dryRun) {
    yield { kind: "planned", item };
    return;
  }
  await ledger.removeNotes(run.scope, "dossier", [key]);
  await wakeHalted(run.ports, run.scope, asRecordKey(key));
  yield { kind: "dropped", item, messageDeleted: dead_letter !== null }; // O3
}
