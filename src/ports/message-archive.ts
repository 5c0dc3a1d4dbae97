// MessageArchive: keeps messages outside of the ledger, so that they can be replayed.
//   A1. `keep` resolves after the message is durable. Repeating it is safe.
//   A2. If it fails, the record is not committed, and the message is not acknowledged.

import type { ArchivedMessage } from "../core/events/archived-message.ts";
import type { RecordKey } from "./record.ts";

export interface MessageArchive {
  /** Returns `s3://bucket/key`, for the ledger to refer to. */
  keep(key: RecordKey, message: ArchivedMessage, signal: AbortSignal): Promise<string>;
}
