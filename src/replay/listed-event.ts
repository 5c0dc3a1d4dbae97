// Listed event: an object of a listing as the event that it exists.
//   V1. An object whose own event failed, is held, or is in flight has been noticed: it is left to
//       that event, as another attempt would be dead-lettered a second time.

import { formatInstant } from "../core/encoding/rfc3339.ts";
import { TidegateError } from "../core/errors.ts";
import { decodeObservation } from "../core/events/decode/observation.ts";
import type { ObjectEvent } from "../core/events/object-event.ts";
import { epochMs } from "../core/units.ts";
import type { Ledger } from "../ports/ledger.ts";
import type { ListedObject } from "../ports/object-lister.ts";
import type { LedgerScope } from "../ports/record.ts";

/** The event that an object of a listing exists. */
export function eventOf(bucket: string, object: ListedObject): ObjectEvent {
  const { key, etag, size, versionId, lastModified } = object;
  const decoded = decodeObservation({
    source: "listing",
    bucket,
    key,
    keyEncoding: "raw",
    etag,
    size,
    lastModified: formatInstant(epochMs(lastModified)),
    versionId,
    traceId: null,
  });
  if (decoded.kind === "valid") return decoded.value;
  const [problem] = decoded.problems;
  const message = `s3://${bucket}/${key}: ${problem?.path} ${problem?.reason}`;
  throw new TidegateError("TG_VALUE_INVALID", message);
}

const NOTICED: ReadonlySet<string> = new Set(["claimed", "released", "failed", "parked"]);
const RECORDS_MAX = 1_000;

/** Whether the ledger has a record of this very state that is not committed (V1). */
export async function isNoticed(
  ledger: Ledger,
  scope: LedgerScope,
  event: ObjectEvent,
): Promise<boolean> {
  const { bucket, key } = event;
  try {
    const query = { by: "object", bucket, prefix: key } as const;
    const { records } = await ledger.listRecords(scope, query, { after: null, limit: RECORDS_MAX });
    return records.some(({ record, input }) => {
      const { object } = input;
      if (object === null || object.key !== key || object.sequencer === null) return false;
      if (!NOTICED.has(record.kind)) return false;
      return event.version_id !== null
        ? object.versionId === event.version_id
        : object.etag === event.etag && object.size === event.size;
    });
  } catch (error) {
    // A DynamoDB table without lists: the claims decide alone.
    if (error instanceof TidegateError && error.code === "TG_LISTING_OFF") return false;
    throw error;
  }
}
