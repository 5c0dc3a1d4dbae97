// Drop: takes dead letters away for good, with all that was written down about them.
//   O1. Only what the filter names, and what came from the queue that is meant, is touched: others
//       may share the dead-letter queue. Everything else is put back as it was found.
//   O2. The message first, the dossier second: whoever dies in between leaves a dossier, by which
//       the next run finds what is left to be done.
//   O3. The record stays parked: copies of the message that still come are acknowledged and not
//       run. Where the message waits in its own queue, removing the dossier is what lets it go.
//   O4. A dossier whose letter the queue did not show is kept, unless the queue holds nothing at
//       all: another reader may have it in hand.

import { asRecordKey } from "../../ledger/record-state.ts";
import type { RecordView } from "../../ports/ledger.ts";
import type { QueueReceiver } from "../../ports/queue-receiver.ts";
import type { LedgerScope } from "../../ports/record.ts";
import { type DeadLetterFilter, matchesFilter } from "../policy/dead-letter-filter.ts";
import { type DeadLetterPorts, deadLetterFacts, dossiersOf } from "./dead-letter-list.ts";
import { createDeadLetterReader, isFrom, type ReadDeadLetter } from "./dead-letter-read.ts";
import { type DeadLetterScan, startScan } from "./dead-letter-scan.ts";
import { type Dossier, decodeDossier } from "./dossier.ts";
import { type RedriveItem, redriveItemOf } from "./redrive.ts";
import { forgetCommitted, takeAway } from "./redrive-step.ts";
import { batchesOf, showRecords, sideBySide } from "./show-records.ts";

export interface DropPorts extends DeadLetterPorts {
  /** Null where there is no dead-letter queue. */
  readonly deadLetters: QueueReceiver | null;
}

export interface DropOptions {
  readonly scope: LedgerScope;
  /** Name of the queue whose dead letters are meant (O1). */
  readonly source: string;
  readonly filter?: DeadLetterFilter | undefined;
  readonly dryRun?: boolean | undefined;
  readonly limit?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

export type DropEvent =
  | { readonly kind: "planned" | "dropped"; readonly item: RedriveItem }
  /** Its message waits in its own queue and is acknowledged when it is delivered next (O3). */
  | { readonly kind: "let-go"; readonly item: RedriveItem }
  /** It was left alone: the record was committed or is at work, or its letter is not there (O4). */
  | { readonly kind: "kept"; readonly item: RedriveItem; readonly reason: string };

const LIMIT_DEFAULT = 100_000;

/** Drops what the filter names. */
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
    dryRun: options.dryRun === true,
    handled: new Set(),
    wanted: (facts) => matchesFilter(facts, filter, clock.now()),
    mayGoOn: () => signal?.aborted !== true && run.handled.size < limit,
  };
  let empty = true;
  if (deadLetters !== null) {
    const scan = startScan(deadLetters, signal && { signal });
    try {
      yield* dropLetters(run, scan, deadLetters);
      if (!scan.complete) return;
    } finally {
      await scan.close(); // O1
    }
    const { visible, hidden, delayed } = await deadLetters.facts();
    empty = visible + hidden + delayed === 0;
  }
  for await (const batch of batchesOf(dossiersOf(ports.ledger, scope))) {
    const left = batch.filter(
      (dossier) =>
        dossier.queue === source &&
        !run.handled.has(dossier.record_key) &&
        run.wanted(deadLetterFacts(dossier)), // O1
    );
    const keys = left.map((dossier) => asRecordKey(dossier.record_key));
    const views = await showRecords(ports.ledger, scope, keys);
    for (const dossier of left) {
      if (!run.mayGoOn()) return;
      const state = views.get(asRecordKey(dossier.record_key))?.record.kind;
      yield* dropDossier(run, dossier, { state, queueIsEmpty: empty });
    }
  }
}

interface DropRun {
  readonly ports: DropPorts;
  readonly scope: LedgerScope;
  readonly source: string;
  readonly dryRun: boolean;
  readonly handled: Set<string>;
  readonly wanted: (facts: Parameters<typeof matchesFilter>[0]) => boolean;
  readonly mayGoOn: () => boolean;
}

async function* dropLetters(
  run: DropRun,
  scan: DeadLetterScan,
  deadLetters: QueueReceiver,
): AsyncGenerator<DropEvent> {
  const { clock, ledger } = run.ports;
  const read = createDeadLetterReader({ ledger, deadLetters }, run.scope);
  while (run.mayGoOn()) {
    const deliveries = await scan.next();
    if (deliveries.length === 0) return;
    // All before any is dropped: copies are known by a dossier that goes with the first of them.
    for (const letter of await sideBySide(deliveries, read)) {
      if (letter === null || !isFrom(letter, run.source) || !run.wanted(letter)) continue; // O1
      const item = redriveItemOf(letter);
      const copy = run.handled.has(item.key);
      if (!copy && !run.mayGoOn()) return;
      run.handled.add(item.key);
      if (run.dryRun) {
        if (!copy) yield { kind: "planned", item };
        continue;
      }
      if (!(await takeAway({ clock, deadLetters }, letter))) {
        yield { kind: "kept", item, reason: "the queue did not let it be deleted" };
        continue;
      }
      scan.settled(letter.delivery);
      await removeDossiers(run, letter); // O2
      if (!copy) yield { kind: "dropped", item };
    }
  }
}

/** A later failure may have written another dossier since, which the filter need not name (O1). */
async function removeDossiers({ ports, scope, wanted }: DropRun, { records }: ReadDeadLetter) {
  for (const { key } of records) {
    const note = await ports.ledger.findNote(scope, "dossier", key);
    if (note === undefined || !wanted(deadLetterFacts(decodeDossier(note.body)))) continue;
    await ports.ledger.removeNotes(scope, "dossier", [key]);
  }
}

async function* dropDossier(
  run: DropRun,
  dossier: Dossier,
  found: {
    readonly state: RecordView["record"]["kind"] | undefined;
    readonly queueIsEmpty: boolean;
  },
): AsyncGenerator<DropEvent> {
  const { state, queueIsEmpty } = found;
  const { ledger } = run.ports;
  const { errorClass, fingerprint, failedAt, objects } = deadLetterFacts(dossier);
  const { record_key: key, dead_letter } = dossier;
  const item = { key, object: objects[0] ?? null, errorClass, fingerprint, failedAt };
  if (state !== "parked") {
    if (state === "committed" || state === undefined) {
      if (!run.dryRun) await forgetCommitted(ledger, run.scope, asRecordKey(key));
      return;
    }
    yield { kind: "kept", item, reason: "it was redriven and is on its way" };
    return;
  }
  if (dead_letter !== null && !queueIsEmpty) {
    yield { kind: "kept", item, reason: `its letter was not seen in ${dead_letter.queue}` }; // O4
    return;
  }
  run.handled.add(key);
  if (run.dryRun) {
    yield { kind: "planned", item };
    return;
  }
  await ledger.removeNotes(run.scope, "dossier", [key]);
  yield { kind: dead_letter === null ? "let-go" : "dropped", item }; // O3
}
