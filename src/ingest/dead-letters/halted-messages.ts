// Halted messages: messages that wait in their own queue, for HALT_MS at a time, because their
// record is dead-lettered and must not leave the queue. In a FIFO queue the group waits, too.
//   H1. The message does not wait any longer once an operator redrives or drops its record. The
//       consumer stores the receipt in a note first and reads the record second; the operator
//       changes the record first and reads the note second. So one of them notices the other.
//   H2. A receipt that is no longer valid is harmless: the queue rejects it, and redelivers the
//       message after HALT_MS at the latest.
//   H3. A note counts only while its record is parked. A crash may leave a note behind.

import {
  addMs,
  type DurationMs,
  durationMs,
  type EpochMs,
  epochMs,
  minutes,
} from "../../core/units.ts";
import { everyNote } from "../../ledger/every-note.ts";
import { asRecordKey } from "../../ledger/record-state.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Ledger, Note } from "../../ports/ledger.ts";
import type { Delivery, QueueReceiver } from "../../ports/queue-receiver.ts";
import type { LedgerScope, RecordKey } from "../../ports/record.ts";
import { showRecords } from "./show-records.ts";

/** How long a dead-lettered record of a halted group waits before it is checked again. */
export const HALT_MS: DurationMs = minutes(15);

/** The source queue, as far as a halted message needs it. */
export type HaltedQueue = Pick<QueueReceiver, "changeVisibility">;

interface HaltedBody {
  readonly queue: string;
  readonly message_id: string;
  readonly receipt: string;
}

/** Notes that a message waits. False: its record was redriven or dropped meanwhile (H1). */
export async function storeHalted(
  { clock, ledger }: { readonly clock: Clock; readonly ledger: Ledger },
  scope: LedgerScope,
  halted: { readonly key: RecordKey; readonly queue: string; readonly delivery: Delivery },
): Promise<boolean> {
  const { key, queue, delivery } = halted;
  const { messageId: message_id, receipt } = delivery;
  const body: HaltedBody = { queue, message_id, receipt };
  const previous = await ledger.findNote(scope, "halted", key);
  const at = epochMs(Math.max(clock.now(), previous?.at ?? 0)); // The newest receipt wins.
  const note = { kind: "halted", name: key, at, count: 1, body: JSON.stringify(body) } as const;
  await ledger.addNotes(scope, [note]);
  const view = await ledger.show(scope, key);
  const dossier = await ledger.findNote(scope, "dossier", key);
  const waits = view?.record.kind === "parked" && dossier !== undefined;
  if (!waits) await ledger.removeNotes(scope, "halted", [key]);
  return waits;
}

/**
 * Makes the message of a record visible, if it waits in its own queue. Call it after the record was
 * reopened or its dossier removed (H1). Returns when the queue redelivers the message.
 */
export async function wakeHalted(
  ports: { readonly clock: Clock; readonly ledger: Ledger; readonly source: HaltedQueue },
  scope: LedgerScope,
  key: RecordKey,
): Promise<EpochMs> {
  const { clock, ledger, source } = ports;
  const latest = addMs(clock.now(), HALT_MS);
  const note = await ledger.findNote(scope, "halted", key);
  if (note === undefined) return latest;
  const { receipt } = bodyOf(note);
  const change = [{ receipt, visibilityMs: durationMs(0) }];
  const [result] = await source.changeVisibility(change).catch(() => []); // H2
  await ledger.removeNotes(scope, "halted", [key]);
  return result?.kind === "done" ? clock.now() : latest;
}

/** The records whose messages wait in their own queue. */
export async function haltedRecords(
  ledger: Ledger,
  scope: LedgerScope,
): Promise<Map<RecordKey, { readonly queue: string; readonly messageId: string }>> {
  const halted = new Map<RecordKey, { queue: string; messageId: string }>();
  for await (const note of everyNote(ledger, scope, "halted")) {
    const { queue, message_id: messageId } = bodyOf(note);
    halted.set(asRecordKey(note.name), { queue, messageId });
  }
  const views = await showRecords(ledger, scope, [...halted.keys()]);
  for (const key of halted.keys()) {
    if (views.get(key)?.record.kind !== "parked") halted.delete(key); // H3
  }
  return halted;
}

/** How many messages of a queue wait; in a FIFO queue, how many groups. */
export async function countHalted(
  ledger: Ledger,
  scope: LedgerScope,
  queue: string,
): Promise<number> {
  const all = [...(await haltedRecords(ledger, scope)).values()];
  const messages = all.filter((each) => each.queue === queue).map(({ messageId }) => messageId);
  return new Set(messages).size;
}

function bodyOf({ body }: Note): HaltedBody {
  return JSON.parse(body) as HaltedBody;
}
