// Edited note: an edited copy of a dead letter was sent as a new record. The note is on the
// original record, which stays a dead letter until it is dropped or redriven.
//   E1. The copy is another record, with its own key and history; its message id links both.
//   E2. The note is written after the message was sent. A crash in between leaves a copy that no
//       note names; it is processed once like any other message.

import type { EpochMs } from "../../core/units.ts";
import type { Note, NoteInput } from "../../ports/ledger.ts";
import type { RecordKey } from "../../ports/record.ts";

export interface EditedCopies {
  readonly count: number;
  /** The message of the latest copy (E1). */
  readonly messageId: string;
  readonly at: EpochMs;
}

export function editedNote(key: RecordKey, messageId: string, at: EpochMs): NoteInput {
  const body = JSON.stringify({ message_id: messageId });
  return { kind: "edited", name: key, at, count: 1, body };
}

export function editedIn({ count, at, body }: Note): EditedCopies {
  const { message_id: messageId } = JSON.parse(body) as { message_id: string };
  return { count, messageId, at };
}
