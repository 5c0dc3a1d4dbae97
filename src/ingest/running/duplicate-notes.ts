// Duplicate notes: counts redeliveries of a record after it was done, for `tidegate why`.
//   W1. Best effort: a note that cannot be written is not retried, and processing never waits for
//       it.

import { durationMs } from "../../core/units.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Ledger, NoteInput } from "../../ports/ledger.ts";
import type { LedgerScope } from "../../ports/record.ts";
import type { WorkRecord } from "../stages/decode.ts";
import type { InFlightDelivery } from "./in-flight-delivery.ts";

const NOTES_PER_CALL_MAX = 100;
/** Further notes are dropped while this many wait. */
const WAITING_MAX = 10_000;
const LINGER_MS = durationMs(500);

export interface DuplicateNotes {
  add(record: WorkRecord, how: string, inFlight: InFlightDelivery): void;
  flush(): Promise<void>;
}

export function createDuplicateNotes(
  ports: { readonly clock: Clock; readonly ledger: Ledger },
  scope: LedgerScope,
): DuplicateNotes {
  const { clock, ledger } = ports;
  let waiting: NoteInput[] = [];
  let lingering = false;

  async function flush(): Promise<void> {
    while (waiting.length > 0) {
      const notes = waiting.slice(0, NOTES_PER_CALL_MAX);
      waiting = waiting.slice(NOTES_PER_CALL_MAX);
      await ledger.addNotes(scope, notes).catch(() => undefined); // W1
    }
  }

  async function linger(): Promise<void> {
    lingering = true;
    await clock.sleep(LINGER_MS);
    lingering = false;
    await flush();
  }

  return {
    add({ key }, how, { delivery, receivedAt }) {
      if (waiting.length >= WAITING_MAX) return;
      const { messageId: message_id, receiveCount: receive_count } = delivery;
      const body = JSON.stringify({ how, message_id, receive_count });
      waiting.push({ kind: "duplicates", name: key, at: receivedAt, count: 1, body });
      if (!lingering) void linger();
    },
    flush,
  };
}
