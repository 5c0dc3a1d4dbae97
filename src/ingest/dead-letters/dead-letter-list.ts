// Dead-letter list: what was given up on, from the ledger, which is the truth; and, when asked for,
// what really lies in the dead-letter queue.
//   I1. A dossier whose record was committed since is no dead letter any more, and is left out.
//   I2. Copies of one dead letter in the queue count as one; how many there are is told.
//   I3. What lies in the queue without a dossier is listed as well: what the redrive policy moved
//       there, and letters whose dossier is gone.

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

/** What the ledger says of a record; "unknown" if it has forgotten it or never knew. */
export type LedgerState = RecordView["record"]["kind"] | "unknown";

export interface DeadLetter extends DeadLetterFacts {
  readonly scope: LedgerScope;
  readonly key: RecordKey;
  readonly message: string;
  readonly state: LedgerState;
  readonly dossier: Dossier | null;
  /** Copies found in the queue; null if it was not looked at. */
  readonly copies: number | null;
}

export interface DeadLetterPorts {
  readonly clock: Clock;
  readonly ledger: Ledger;
}

const NOTES_PER_PAGE = 100;
/** More dossiers than anybody reads. */
export const DOSSIERS_MAX = 100_000;

/** The dossiers of a scope, in the order of their keys. */
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

/** What a dossier is chosen by. */
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
  const found: Omit<DeadLetter, "scope" | "state">[] = [];
  const add = (key: RecordKey, rest: Omit<DeadLetter, "scope" | "key" | "state">) => {
    if (matchesFilter(rest, filter, now)) found.push({ key, ...rest });
  };
  for await (const dossier of dossiersOf(ledger, scope)) {
    const key = asRecordKey(dossier.record_key);
    const letters = copies?.get(key);
    copies?.delete(key);
    const count = copies === null ? null : (letters?.length ?? 0);
    add(key, { ...deadLetterFacts(dossier), message: dossier.message, dossier, copies: count });
  }
  for (const [key, letters] of copies ?? []) {
    const [letter] = letters;
    if (letter === undefined) continue;
    const { errorClass, fingerprint, keys, shownObject, failedAt, message } = letter;
    const objects = shownObject === null ? [] : [shownObject];
    const facts = { errorClass, fingerprint, keys, objects, failedAt, message };
    add(key, { ...facts, dossier: null, copies: letters.length }); // I3
  }
  const views = await showRecords(
    ledger,
    scope,
    found.map(({ key }) => key),
  );
  const stateOf = (key: RecordKey): LedgerState => views.get(key)?.record.kind ?? "unknown";
  const listed = found
    .map((each) => ({ ...each, scope, state: stateOf(each.key) }))
    .filter(({ state, dossier, copies }) => {
      return state !== "committed" || dossier === null || (copies ?? 0) > 0; // I1
    });
  return listed.toSorted((left, right) => right.failedAt - left.failedAt);
}

/** The letters in a queue by the key of their first record (I2). */
async function copiesIn(
  ledger: Ledger,
  queue: QueueReceiver,
  scope: LedgerScope,
  signal: AbortSignal | undefined,
): Promise<Map<RecordKey, ReadDeadLetter[]>> {
  const found = new Map<RecordKey, ReadDeadLetter[]>();
  const read = createDeadLetterReader({ ledger, deadLetters: queue }, scope);
  const scan = startScan(queue, signal === undefined ? {} : { signal });
  try {
    for (let some = await scan.next(); some.length > 0; some = await scan.next()) {
      for (const delivery of some) {
        const letter = await read(delivery);
        const key = letter?.records[0]?.key;
        if (letter === null || key === undefined) continue;
        found.set(key, [...(found.get(key) ?? []), letter]);
      }
    }
  } finally {
    await scan.close();
  }
  return found;
}
