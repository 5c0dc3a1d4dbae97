// Listed event: an object of a listing as the event that it exists.
//   V1. An object whose own event failed, is held, or is in flight has been noticed: it is left to
//       that event, as another attempt would be dead-lettered a second time.
//   V2. A past version that was applied is not applied again. The row of the object names the last
//       applied state only, so the records of the object are read.

import { formatInstant } from "../core/encoding/rfc3339.ts";
import { TidegateError } from "../core/errors.ts";
import { decodeObservation } from "../core/events/decode/observation.ts";
import type { ObjectEvent } from "../core/events/object-event.ts";
import { epochMs } from "../core/units.ts";
import type { Ledger } from "../ports/ledger.ts";
import type { ListedObject } from "../ports/objects/object-lister.ts";
import type { InputObject, LedgerScope } from "../ports/record.ts";

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

/**
 * What the ledger has about a listed state: it was applied (V2), or its event came (V1). Without
 * versions, a current state that was applied may be one that came back.
 */
export async function pastOf(
  ledger: Ledger,
  scope: LedgerScope,
  event: ObjectEvent,
): Promise<"applied" | "noticed" | null> {
  const { bucket, key } = event;
  try {
    const query = { by: "object", bucket, prefix: key } as const;
    let after: string | null = null;
    let past: "noticed" | null = null;
    do {
      const page = await ledger.listRecords(scope, query, { after, limit: RECORDS_MAX });
      for (const { record, input } of page.records) {
        const { object } = input;
        if (object?.key !== key || !isOfState(event, object)) continue;
        if (record.kind === "committed" && !record.superseded) return "applied"; // V2
        if (object.sequencer !== null && NOTICED.has(record.kind)) past = "noticed"; // V1
      }
      after = page.records.at(-1)?.input.object?.key === key ? page.next : null;
    } while (after !== null);
    return past;
  } catch (error) {
    // A DynamoDB table without lists: the claims decide alone.
    if (error instanceof TidegateError && error.code === "TG_LISTING_OFF") return null;
    throw error;
  }
}

function isOfState(event: ObjectEvent, object: InputObject): boolean {
  if (object.versionId !== event.version_id) return false;
  return event.version_id !== null || (object.etag === event.etag && object.size === event.size);
}
