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
import { createDeadLetterReader, objectUrl, type ReadDeadLetter } from "./dead-letter-read.ts";
import { startScan } from "./dead-letter-scan.ts";
import { type Dossier, decodeDossier } from "./dossier.ts";
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
}

export interface DeadLetterPorts {
  readonly clock: Clock;
  readonly ledger: Ledger;
}

const NOTES_PER_PAGE = 100;
/** Bounds one listing. */
export const DOSSIERS_MAX = 100_000;

/** The dossiers of a scope, ordered by key. */
export async function* dossiersOf(ledger: Ledger, scope: LedgerScope): AsyncGenerator<Dossier> {
  let after: string | null = null;
  for (let read = 0; read < DOSSIERS_MAX; read += NOTES_PER_PAGE) {
    const page: { readonly body: string; readonly name: string }[] = await ledger.listNotes(
      scope,
      "dossier",
      { after, limit: NOTES_PER_PAGE },
    );
    for (const { body } of page) yield decodeDossier(body);
    after = page.at(-1)?.name ?? null;
    if (page.length < NOTES_PER_PAGE) return;
  }
}

/** The facts of a dossier that filters match. */
export function deadLetterFacts(dossier: Dossier): DeadLetterFacts {
  const { error_class, fingerprint, record_key, idempotency_key, object } = dossier;
  return {
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
    readonly signal?: AbortSignal | undefined;
  },
): Promise<DeadLetter[]> {
  const { clock, ledger, queue } = ports;
  const { scope, filter = {}, signal } = request;
  const now = clock.now();
  const copies = queue === undefined ? null : await copiesIn(ledger, queue, scope, signal);
  const matches: Omit<DeadLetter, "scope" | "state">[] = [];
  const add = (key: RecordKey, rest: Omit<DeadLetter, "scope" | "key" | "state">) => {
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
    const facts = { errorClass, fingerprint, keys, objects, failedAt, message };
    add(key, { ...facts, dossier: null, copies: deadLetters.length }); // I3
  }
  const views = await showRecords(
    ledger,
    scope,
    matches.map(({ key }) => key),
  );
  const stateOf = (key: RecordKey): LedgerState => views.get(key)?.record.kind ?? "unknown";
  const listed = matches
    .map((each) => ({ ...each, scope, state: stateOf(each.key) }))
    .filter(({ state, dossier, copies }) => {
      return state !== "committed" || dossier === null || (copies ?? 0) > 0; // I1
    });
  return listed.toSorted((a, b) => b.failedAt - a.failedAt);
}

/** The dead letters in a queue by the key of their first record (I2). */
async function copiesIn(
  ledger: Ledger,
  queue: QueueReceiver,
  scope: LedgerScope,
  signal: AbortSignal | undefined,
): Promise<Map<RecordKey, ReadDeadLetter[]>> {
  const copies = new Map<RecordKey, ReadDeadLetter[]>();
  const read = createDeadLetterReader({ ledger, deadLetters: queue }, scope);
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
