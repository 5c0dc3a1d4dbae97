// Dead-letter list: the dead letters in the ledger, which is authoritative, and optionally those in
// the dead-letter queue.
//   I1. A dossier whose record was committed since is left out: it is not a dead letter any more.
//   I2. Copies of one dead letter in the queue count as one; `copies` says how many there are.
//   I3. Messages in the queue without a dossier are listed too: those that the redrive policy moved
//       there, and dead letters whose dossier is gone.

import { epochMs } from "../../core/units.ts";
import { asRecordKey } from "../../ledger/record-state.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Ledger, RecordView } from "../../ports/ledger.ts";
import type { QueueReceiver } from "../../ports/queue-receiver.ts";
import type { LedgerScope, RecordKey } from "../../ports/record.ts";
import {
  type DeadLetterFacts,
  type DeadLetterFilter,
  matchesFilter,
} from "../policy/dead-letter-filter.ts";
import type { OwnDecoding } from "../spec/own-source.ts";
import { createDeadLetterReader, objectUrl, type ReadDeadLetter } from "./dead-letter-read.ts";
import { startScan } from "./dead-letter-scan.ts";
import type { Dossier } from "./dossier.ts";
import { dossiersOf } from "./dossier-list.ts";
import { haltedRecords } from "./halted-messages.ts";
import { showRecords } from "./show-records.ts";

/** The ledger's state of a record; "unknown" if the ledger does not have it. */
export type LedgerState = RecordView["record"]["kind"] | "unknown";

export interface DeadLetter extends DeadLetterFacts {
  readonly scope: LedgerScope;
  readonly key: RecordKey;
  readonly message: string;
  readonly state: LedgerState;
  readonly dossier: Dossier | null;
  /** Copies in the queue; null if the queue was not read. */
  readonly copies: number | null;
  /** The message group that waits behind it, as its dossier names it; null if none does. */
  readonly haltedGroup: string | null;
}

export interface DeadLetterPorts {
  readonly clock: Clock;
  readonly ledger: Ledger;
}

/** The facts of a dossier that filters match. */
export function deadLetterFacts(dossier: Dossier): DeadLetterFacts {
  const { error_class, fingerprint, record_key, idempotency_key, object } = dossier;
  return {
    pipeline: dossier.pipeline,
    errorClass: error_class,
    fingerprint,
    keys: [record_key, idempotency_key],
    objects: object === null ? [] : [objectUrl(object)],
    failedAt: epochMs(dossier.last_failed_at),
  };
}

/** Lists the dead letters of a scope, newest failure first. */
export async function listDeadLetters(
  ports: DeadLetterPorts & { readonly queue?: QueueReceiver | undefined },
  request: {
    readonly scope: LedgerScope;
    readonly filter?: DeadLetterFilter | undefined;
    /** How the pipeline reads own messages; null if it is not known or has none. */
    readonly own?: OwnDecoding | null | undefined;
    readonly signal?: AbortSignal | undefined;
  },
): Promise<DeadLetter[]> {
  const { clock, ledger, queue } = ports;
  const { scope, filter = {} } = request;
  const now = clock.now();
  const copies = queue === undefined ? null : await copiesIn(ledger, queue, request);
  const matches: Omit<DeadLetter, "scope" | "state" | "haltedGroup">[] = [];
  const add = (key: RecordKey, rest: Omit<(typeof matches)[0], "key">) => {
    if (matchesFilter(rest, filter, now)) matches.push({ key, ...rest });
  };
  for await (const dossier of dossiersOf(ledger, scope)) {
    const key = asRecordKey(dossier.record_key);
    const deadLetters = copies?.get(key);
    copies?.delete(key);
    const count = copies === null ? null : (deadLetters?.length ?? 0);
    add(key, { ...deadLetterFacts(dossier), message: dossier.message, dossier, copies: count });
  }
  for (const [key, deadLetters] of copies ?? []) {
    const [deadLetter] = deadLetters;
    if (deadLetter === undefined) continue;
    const { errorClass, fingerprint, keys, shownObject, failedAt, message } = deadLetter;
    const objects = shownObject === null ? [] : [shownObject];
    const { pipeline } = scope;
    const facts = { pipeline, errorClass, fingerprint, keys, objects, failedAt, message };
    add(key, { ...facts, dossier: null, copies: deadLetters.length }); // I3
  }
  const views = await showRecords(
    ledger,
    scope,
    matches.map(({ key }) => key),
  );
  const halted = await haltedRecords(ledger, scope);
  const stateOf = (key: RecordKey): LedgerState => views.get(key)?.record.kind ?? "unknown";
  const groupOf = ({ key, dossier }: (typeof matches)[0]) =>
    halted.has(key) ? (dossier?.group_id ?? null) : null;
  const listed = matches
    .map((each) => ({ ...each, scope, state: stateOf(each.key), haltedGroup: groupOf(each) }))
    .filter(({ state, dossier, copies }) => {
      return state !== "committed" || dossier === null || (copies ?? 0) > 0; // I1
    });
  return listed.toSorted((a, b) => b.failedAt - a.failedAt);
}

/** The dead letters in a queue by the key of their first record (I2). */
async function copiesIn(
  ledger: Ledger,
  queue: QueueReceiver,
  { scope, own, signal }: Pick<Parameters<typeof listDeadLetters>[1], "scope" | "own" | "signal">,
): Promise<Map<RecordKey, ReadDeadLetter[]>> {
  const copies = new Map<RecordKey, ReadDeadLetter[]>();
  const read = createDeadLetterReader({ ledger, deadLetters: queue }, scope, own);
  const scan = startScan(queue, signal === undefined ? {} : { signal });
  try {
    for (let batch = await scan.next(); batch.length > 0; batch = await scan.next()) {
      for (const delivery of batch) {
        const deadLetter = await read(delivery);
        const key = deadLetter?.records[0]?.key;
        if (deadLetter === null || key === undefined) continue;
        copies.set(key, [...(copies.get(key) ?? []), deadLetter]);
      }
    }
  } finally {
    await scan.close();
  }
  return copies;
}
