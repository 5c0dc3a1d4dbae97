// Record key: the identity of a record in a ledger.
//   Q1. A key belongs to one pipeline: two pipelines over one table never suppress each other.
//   Q2. A key belongs to one generation: a replay is not deduplicated against the original run.
//   Q3. The identity in a key is that of the event (event_key, envelopeKey), not of the object's
//       state: PUT A, PUT B, PUT A are three records, though the first and the last leave the same
//       bytes.

import { keyDigest } from "../core/encoding/key-encoding.ts";
import { TidegateError } from "../core/errors.ts";
import type { LedgerScope, RecordKey } from "../ports/record.ts";
import { asRecordKey } from "./record-state.ts";

const KEY_VERSION = 1;

/** The key of one event within one pipeline and generation. */
export function recordKey(scope: LedgerScope, identity: string): RecordKey {
  if (scope.pipeline === "" || identity === "") {
    throw new TidegateError("TG_VALUE_INVALID", "a record key needs a pipeline and an identity");
  }
  return asRecordKey(
    keyDigest(KEY_VERSION, ["record", scope.pipeline, scope.generation, identity]),
  );
}
