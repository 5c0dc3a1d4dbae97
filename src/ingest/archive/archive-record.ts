// Archive record: keeps the message of a record before its commit (R6 of stages/prepare.ts).

import type { MessageArchive } from "../../ports/message-archive.ts";
import type { InFlightDelivery } from "../running/in-flight-delivery.ts";
import type { TimeLimit } from "../stages/attempt.ts";
import type { WorkRecord } from "../stages/decode.ts";
import { archivedForm, type MaskedMessage } from "./archived-form.ts";

/** Returns where the message is, or null if it is not archived. */
export type ArchiveRecord = (
  record: WorkRecord,
  masked: MaskedMessage | null,
  inFlight: InFlightDelivery,
) => Promise<string | null>;

export function createRecordArchive(
  /** Null: messages are not archived. */
  archive: MessageArchive | null,
  inTime: TimeLimit,
): ArchiveRecord {
  return async (record, masked, inFlight) => {
    if (archive === null) return null;
    const message = archivedForm(record, inFlight.delivery, masked);
    if (message === null) return null;
    const stored = { uri: "" };
    await inTime(inFlight, async (signal) => {
      stored.uri = await archive.keep(record.key, message, signal);
    });
    return stored.uri;
  };
}
